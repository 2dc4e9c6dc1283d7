"""scale: how many replicas a workload has, in one form for all kinds of workload (autoscaling/v1 Scale)."""

from __future__ import annotations

from typing import Any

from api import autoscaling_v1 as autoscaling
from api import codec, errors, fields
from api import meta_v1 as meta
from api.selectors import from_labels, from_struct
from controlplane.apiserver import bodies, negotiation, options, replies, tabular
from controlplane.apiserver.exchange import Exchange, Reply
from controlplane.apiserver.registry.registry import Registry
from controlplane.apiserver.verbs.environment import Environment
from controlplane.apiserver.verbs.patch import apply, read_patch
from controlplane.apiserver.verbs.update import change_object

_VERSION, _KIND = "autoscaling/v1", "Scale"


def get_scale(registry: Registry, exchange: Exchange) -> Reply:
    """Answer a GET."""
    output = replies.output_of(exchange)
    info = exchange.info
    return _reply(exchange, output, registry.decode(registry.find(info.namespace, info.name)))


async def update_scale(registry: Registry, environment: Environment, exchange: Exchange) -> Reply:
    """Answer a PUT."""
    output = replies.output_of(exchange)
    wanted = options.write_options(exchange.query, "UpdateOptions")
    scale = await bodies.read_struct(exchange, autoscaling.Scale, _VERSION, _KIND, wanted.field_validation)
    _check_identity(exchange, scale.metadata)
    served = await change_object(registry, environment, exchange, lambda old: _scaled(old, scale), wanted)
    return _reply(exchange, output, codec.decode(served, registry.type))


async def patch_scale(registry: Registry, environment: Environment, exchange: Exchange) -> Reply:
    """Answer a PATCH."""
    kind = negotiation.patch_type(exchange.headers.get("Content-Type", ""))
    output = replies.output_of(exchange)
    wanted = options.write_options(exchange.query, "PatchOptions")
    wish = read_patch(kind, await exchange.read_body(), wanted)

    def change(old: Any) -> Any:
        scale = apply(wish, scale_of(old), autoscaling.Scale, exchange, wanted)
        _check_identity(exchange, scale.metadata)
        return _scaled(old, scale)

    served = await change_object(registry, environment, exchange, change, wanted)
    return _reply(exchange, output, codec.decode(served, registry.type))


def scale_of(workload: Any) -> autoscaling.Scale:
    """The Scale of a workload."""
    metadata = workload.metadata
    selector = workload.spec.selector
    text = str(from_labels(selector)) if isinstance(selector, dict) else str(from_struct(selector))
    replicas = workload.spec.replicas
    return autoscaling.Scale(
        metadata=meta.ObjectMeta(
            name=metadata.name,
            namespace=metadata.namespace,
            uid=metadata.uid,
            resource_version=metadata.resource_version,
            creation_timestamp=metadata.creation_timestamp,
        ),
        spec=autoscaling.ScaleSpec(replicas=1 if replicas is None else replicas),
        status=autoscaling.ScaleStatus(replicas=workload.status.replicas, selector=text),
    )


def _scaled(old: Any, scale: autoscaling.Scale) -> Any:
    if scale.spec.replicas < 0:
        problem = fields.invalid("spec.replicas", scale.spec.replicas, "must be greater than or equal to 0")
        raise errors.invalid("Scale.autoscaling", scale.metadata.name, [problem])
    if scale.metadata.uid and scale.metadata.uid != old.metadata.uid:
        cause = (
            f"Precondition failed: UID in precondition: {scale.metadata.uid}, UID in object meta: {old.metadata.uid}"
        )
        raise errors.conflict(errors.GroupName("", f"{old.kind.lower()}s"), scale.metadata.name, cause)
    new = codec.deepcopy(old)
    new.spec.replicas = scale.spec.replicas
    new.metadata.resource_version = scale.metadata.resource_version
    return new


def _check_identity(exchange: Exchange, metadata: meta.ObjectMeta) -> None:
    info = exchange.info
    if metadata.name != info.name:
        raise errors.bad_request(
            f"the name of the object ({metadata.name}) does not match the name on the URL ({info.name})"
        )
    if metadata.namespace and metadata.namespace != info.namespace:
        raise errors.bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        )


def _reply(exchange: Exchange, output: negotiation.Output, workload: Any) -> Reply:
    scale = scale_of(workload)
    if output.transform is not None and output.transform.kind == "Table":
        version = {"resourceVersion": scale.metadata.resource_version}
        return tabular.render_reply(autoscaling.Scale, exchange, output, [scale], version)
    return replies.object_reply(exchange, output, codec.encode(scale))
