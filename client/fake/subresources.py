"""The subresources that clients post to: binding and eviction of pods, tokens of service accounts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from api import authentication_v1 as authentication
from api import core_v1 as core
from api import errors
from api import meta_v1 as meta
from api.times import Time

if TYPE_CHECKING:
    from client.fake.server import FakeApiServer

Handler = Callable[["FakeApiServer", str, str, Any], Any]


def bind(server: FakeApiServer, name: str, namespace: str, body: core.Binding) -> meta.Status:
    """Give a pod its node, once; as upstream's BindingREST does."""
    pod = server.get(core.Pod, name, namespace)
    resource = errors.GroupName("", "pods/binding")
    if body.metadata.uid and body.metadata.uid != pod.metadata.uid:
        cause = f"Precondition failed: UID in precondition: {body.metadata.uid}, UID in object meta: {pod.metadata.uid}"
        raise errors.conflict(resource, name, cause)
    if pod.metadata.deletion_timestamp is not None:
        raise errors.conflict(resource, name, f"pod {name} is being deleted, cannot be assigned to a host")
    if pod.spec.node_name:
        raise errors.conflict(resource, name, f'pod {name} is already assigned to node "{pod.spec.node_name}"')
    pod.spec.node_name = body.target.name
    now = Time.from_timestamp(server.clock.now())
    others = [condition for condition in pod.status.conditions if condition.type != "PodScheduled"]
    scheduled = core.PodCondition(type="PodScheduled", status="True", last_transition_time=now)
    pod.status.conditions = [*others, scheduled]
    pod.metadata.resource_version = ""
    server.put(pod)
    return meta.Status(status="Success", code=201)


def evict(server: FakeApiServer, name: str, namespace: str, body: Any) -> meta.Status:
    """Delete a pod as its eviction asks. Disruption budgets are not looked at."""
    options = body.delete_options or meta.DeleteOptions()
    server.delete(core.Pod, name, namespace, grace_period=options.grace_period_seconds)
    return meta.Status(status="Success", code=201)


def issue_token(
    server: FakeApiServer, name: str, namespace: str, body: authentication.TokenRequest
) -> authentication.TokenRequest:
    """A token that says whose it is, and is good for as long as it was asked for."""
    account = server.get(core.ServiceAccount, name, namespace)
    lifetime = body.spec.expiration_seconds or 3600
    return authentication.TokenRequest(
        metadata=meta.ObjectMeta(name=name, namespace=namespace),
        spec=body.spec,
        status=authentication.TokenRequestStatus(
            token=f"fake-token.{namespace}.{name}.{account.metadata.uid}.{server.revision}",
            expiration_timestamp=Time.from_timestamp(server.clock.now() + lifetime),
        ),
    )


SUBRESOURCES: Final[Mapping[tuple[str, str], Handler]] = {
    ("pods", "binding"): bind,
    ("pods", "eviction"): evict,
    ("serviceaccounts", "token"): issue_token,
}
