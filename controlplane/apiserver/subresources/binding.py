"""binding: the scheduler's word on where a pod runs. Said once; nobody can say otherwise afterwards."""

from __future__ import annotations

from api import codec, errors, fields, pods
from api import core_v1 as core
from api import meta_v1 as meta
from api.rendering import quote
from api.validation.pods import validate_binding
from controlplane.apiserver import bodies, negotiation, options, replies
from controlplane.apiserver.exchange import Exchange, Reply
from controlplane.apiserver.registry.registry import Registry
from controlplane.apiserver.request import RequestInfo
from controlplane.apiserver.verbs import create, metadata
from controlplane.apiserver.verbs.environment import Environment
from controlplane.apiserver.verbs.update import ATTEMPTS
from controlplane.store.errors import Conflict

_SUCCESS = codec.encode(meta.Status(status="Success", code=201))


async def bind(registry: Registry, environment: Environment, exchange: Exchange) -> Reply:
    """Answer a POST to pods/<name>/binding, or of a Binding to the collection of bindings."""
    output = replies.output_of(exchange, transforms=negotiation.METADATA_ONLY)
    wanted = options.write_options(exchange.query, "CreateOptions")
    binding = await bodies.read_struct(exchange, core.Binding, "v1", "Binding", wanted.field_validation)
    info = exchange.info
    metadata.check_namespace(binding.metadata, info.namespace)
    if info.subresource and info.name != binding.metadata.name:
        raise errors.bad_request("name in URL does not match name in Binding object")
    _check(binding)
    if info.resource == "bindings":
        exchange.info = RequestInfo(
            info.verb,
            info.group,
            info.version,
            "pods",
            "binding",
            info.namespace,
            binding.metadata.name,
            info.path,
            True,
        )
    await environment.admit(create.OPERATION, exchange, registry, binding, None, dry_run=wanted.dry_run)
    await _assign(registry, environment, info.namespace, binding, dry_run=wanted.dry_run)
    return replies.reply(exchange, output, _SUCCESS, 201)


async def _assign(
    registry: Registry, environment: Environment, namespace: str, binding: core.Binding, *, dry_run: bool
) -> None:
    name = binding.metadata.name
    for _ in range(ATTEMPTS):
        entry = registry.find(namespace, name)
        pod = registry.decode(entry)
        _check_preconditions(pod, binding)
        _place(pod, binding, environment)
        if dry_run:
            return
        try:
            await registry.replace(entry, registry.encode(pod))
            return
        except Conflict:
            continue
    raise errors.conflict("pods", name)


def _place(pod: core.Pod, binding: core.Binding, environment: Environment) -> None:
    name = pod.metadata.name
    if pod.metadata.deletion_timestamp is not None:
        raise _refused(name, f"pod {name} is being deleted, cannot be assigned to a host")
    if pod.spec.node_name:
        raise _refused(name, f"pod {name} is already assigned to node {quote(pod.spec.node_name)}")
    if pod.spec.scheduling_gates:
        raise _refused(name, f"pod {name} has non-empty .spec.schedulingGates")
    pod.spec.node_name = binding.target.name if binding.target is not None else ""
    pod.metadata.annotations = {**pod.metadata.annotations, **binding.metadata.annotations}
    pod.metadata.labels = {**pod.metadata.labels, **binding.metadata.labels}
    now = environment.stamp()
    pods.set_condition(
        pod.status.conditions,
        core.PodCondition(
            type="PodScheduled",
            status="True",
            last_transition_time=now,
            observed_generation=pod.metadata.generation,
        ),
    )
    pod.status.nominated_node_name = ""


def _check(binding: core.Binding) -> None:
    problems: fields.FieldErrors = []
    validate_binding(binding, problems)
    if problems:
        raise errors.invalid("Binding", binding.metadata.name, problems)


def _check_preconditions(pod: core.Pod, binding: core.Binding) -> None:
    """A binding may say which pod it means, by UID and version."""
    wanted = binding.metadata
    if wanted.uid and wanted.uid != pod.metadata.uid:
        cause = f"Precondition failed: UID in precondition: {wanted.uid}, UID in object meta: {pod.metadata.uid}"
        raise errors.conflict("pods", pod.metadata.name, cause)
    if wanted.resource_version and wanted.resource_version != pod.metadata.resource_version:
        cause = (
            f"Precondition failed: ResourceVersion in precondition: {wanted.resource_version}, ResourceVersion in "
            f"object meta: {pod.metadata.resource_version}"
        )
        raise errors.conflict("pods", pod.metadata.name, cause)


def _refused(name: str, cause: str) -> errors.StatusError:
    return errors.conflict("pods/binding", name, cause)
