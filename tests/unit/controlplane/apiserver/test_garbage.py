"""Whatever is thrown at it, the server answers with something well formed and goes on.

Objects are generated along the declared types, with wrong types, nulls and nonsense mixed in, so that they get past
the decoder and into defaults, admission, strategies and validation.
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from api.scheme import SCHEME, Resource
from controlplane.apiserver.config import ServerConfig
from tests.unit.controlplane.apiserver.server_harness import JSON_PATCH, MERGE, STRATEGIC, Harness, start

RESOURCES = [resource for resource in SCHEME.resources() if "create" in resource.verbs]
VERBS = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "BREW"]

junk_text = st.one_of(
    st.sampled_from(
        ["", "a", "x" * 300, "1", "-1", "10.43.0.5", "None", "null", "2024-01-01T00:00:00Z", "100Mi", "é", "\x00"]
    ),
    st.text(max_size=8),
)
junk = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.floats(), junk_text),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(junk_text, inner, max_size=3)),
    max_leaves=6,
)
names = st.sampled_from(["a", "test", "default", "kube-system", "UPPER", "..", "a" * 300, "kubernetes", "system:node"])
values = st.sampled_from(
    [
        "",
        "0",
        "1",
        "-1",
        "true",
        "All",
        "a=b",
        "a in (b",
        "metadata.name=a",
        "Exact",
        "NotOlderThan",
        "9" * 30,
        "%zz",
        "é",
    ]
)
queries = st.dictionaries(
    st.sampled_from(
        [
            "limit", "continue", "watch", "resourceVersion", "resourceVersionMatch", "labelSelector", "fieldSelector",
            "dryRun", "fieldValidation", "fieldManager", "timeout", "gracePeriodSeconds", "propagationPolicy",
            "sendInitialEvents", "allowWatchBookmarks", "pretty", "includeObject", "orphanDependents", "container",
            "tailLines",
        ]
    ),
    values,
    max_size=3,
)  # fmt: skip
accepts = st.sampled_from(
    [
        "", "application/json", "application/yaml", "*/*", "text/html", ";;;,,=q", "application/json;q=x",
        "application/json;as=Table;v=v1;g=meta.k8s.io", "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
        "application/json;as=PartialObjectMetadataList;v=v1beta1;g=meta.k8s.io",
    ]
)  # fmt: skip


@st.composite
def documents(draw: st.DrawFn, resource: Resource) -> Any:
    """Something that looks like an object of the resource, more or less."""
    body: dict[str, Any] = {
        "apiVersion": draw(st.sampled_from([resource.api_version, "v1", "", "a/b/c"])),
        "kind": draw(st.sampled_from([resource.kind, "Pod", ""])),
        "metadata": {"name": draw(names), **draw(st.dictionaries(st.sampled_from(_META), junk, max_size=2))},
    }
    members = [m for m in resource.type.__struct_encode_fields__ if m not in ("apiVersion", "kind", "metadata")]
    for member in members:
        if draw(st.booleans()):
            body[member] = draw(_along(getattr(_blank(resource), _attribute(resource, member)), 3))
    return draw(st.one_of(st.just(body), st.just(body), st.just(body), junk))


_META = [
    "generateName", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp",
    "labels", "annotations", "finalizers", "ownerReferences", "managedFields", "deletionGracePeriodSeconds",
]  # fmt: skip


def _blank(resource: Resource) -> Any:
    return resource.type()


def _attribute(resource: Resource, member: str) -> str:
    struct = resource.type
    return struct.__struct_fields__[struct.__struct_encode_fields__.index(member)]


def _along(sample: Any, depth: int) -> st.SearchStrategy[Any]:
    """Values shaped like a sample: a struct's members by their wire names, anything for what the sample leaves open."""
    encoded = getattr(sample, "__struct_encode_fields__", None)
    if encoded is None or not depth:
        return junk
    inner = {
        name: _along(getattr(sample, attribute), depth - 1)
        for name, attribute in zip(encoded, sample.__struct_fields__, strict=True)
    }
    return st.fixed_dictionaries({}, optional=inner)


def _object(api_version: str, kind: str, **members: Any) -> dict[str, Any]:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "seed", "labels": {"a": "b"}}, **members}


_TEMPLATE = {
    "metadata": {"labels": {"a": "b"}},
    "spec": {
        "containers": [
            {
                "name": "c",
                "image": "x",
                "command": ["sh"],
                "env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
                "ports": [{"containerPort": 80, "hostPort": 8080}],
                "resources": {"requests": {"cpu": "1"}, "limits": {"cpu": "2", "memory": "1Gi"}},
                "livenessProbe": {"httpGet": {"path": "/", "port": 80}},
                "volumeMounts": [{"name": "v", "mountPath": "/v"}],
                "securityContext": {"runAsUser": 1, "capabilities": {"add": ["X"]}},
            }
        ],
        "initContainers": [{"name": "i", "image": "x", "restartPolicy": "Always"}],
        "volumes": [{"name": "v", "projected": {"sources": [{"secret": {"name": "s"}}]}}],
        "tolerations": [{"key": "k", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 3}],
        "affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
            {"topologyKey": "z", "matchLabelKeys": ["c"],
             "labelSelector": {"matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}]}}]}},
        "topologySpreadConstraints": [
            {"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {}}
        ],
        "dnsConfig": {"nameservers": ["1.2.3.4"], "options": [{"name": "ndots", "value": "5"}]},
    },
}  # fmt: skip
_SELECTED = {"selector": {"matchLabels": {"a": "b"}}, "template": _TEMPLATE}
_DONE = [
    {"type": "Ready", "status": "True", "lastTransitionTime": "2024-01-01T00:00:00Z", "reason": "R", "message": ""}
]
SEEDS = {
    "/api/v1/namespaces/test/pods": _object("v1", "Pod", **_TEMPLATE, status={"phase": "Running", "conditions": _DONE}),
    "/api/v1/namespaces/test/services": _object(
        "v1", "Service", spec={"type": "NodePort", "ports": [{"port": 80, "nodePort": 31000}], "clusterIP": "10.43.0.9"}
    ),
    "/api/v1/namespaces/test/configmaps": _object("v1", "ConfigMap", data={"x": "1"}, binaryData={"y": "AA=="}),
    "/api/v1/namespaces/test/secrets": _object("v1", "Secret", type="o/p", data={"x": "AA=="}, stringData={"y": "1"}),
    "/api/v1/namespaces": _object("v1", "Namespace", spec={"finalizers": ["kubernetes"]}),
    "/api/v1/nodes": _object(
        "v1", "Node", spec={"taints": [{"key": "k", "effect": "NoSchedule"}], "podCIDR": "10.42.0.0/24"},
        status={"capacity": {"cpu": "4"}, "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}]},
    ),
    "/api/v1/namespaces/test/events": _object(
        "v1", "Event", involvedObject={"kind": "Pod", "name": "p", "namespace": "test"}, reason="R", type="Normal",
        eventTime="2024-01-01T00:00:00.000000Z", series={"count": 2, "lastObservedTime": "2024-01-01T00:00:00.000000Z"},
    ),
    "/api/v1/namespaces/test/serviceaccounts": _object("v1", "ServiceAccount", imagePullSecrets=[{"name": "x"}]),
    "/apis/apps/v1/namespaces/test/deployments": _object(
        "apps/v1", "Deployment", spec={**_SELECTED, "replicas": 1, "strategy": {"rollingUpdate": {"maxSurge": "25%"}}}
    ),
    "/apis/apps/v1/namespaces/test/replicasets": _object("apps/v1", "ReplicaSet", spec=_SELECTED),
    "/apis/batch/v1/namespaces/test/jobs": _object(
        "batch/v1", "Job", spec={"template": {**_TEMPLATE, "spec": {**_TEMPLATE["spec"], "restartPolicy": "Never"}}}
    ),
    "/apis/coordination.k8s.io/v1/namespaces/test/leases": _object(
        "coordination.k8s.io/v1", "Lease", spec={"holderIdentity": "a", "leaseDurationSeconds": 1}
    ),
    "/apis/rbac.authorization.k8s.io/v1/namespaces/test/roles": _object(
        "rbac.authorization.k8s.io/v1", "Role", rules=[{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]
    ),
    "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings": _object(
        "rbac.authorization.k8s.io/v1", "ClusterRoleBinding",
        roleRef={"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"},
        subjects=[{"kind": "User", "name": "jane", "apiGroup": "rbac.authorization.k8s.io"}],
    ),
    "/apis/authorization.k8s.io/v1/subjectaccessreviews": {
        "spec": {"user": "jane", "resourceAttributes": {"verb": "get", "resource": "pods"}}
    },
}  # fmt: skip


def _paths(document: Any, here: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The way to every member of a document."""
    members = (
        document.items() if isinstance(document, dict) else enumerate(document) if isinstance(document, list) else ()
    )
    found: list[tuple[Any, ...]] = []
    for key, value in members:
        found += [(*here, key), *_paths(value, (*here, key))]
    return found


@st.composite
def spoilt(draw: st.DrawFn) -> tuple[str, str, bytes, str, str]:
    """A request that would be fine, but for one or two members."""
    root = draw(st.sampled_from(sorted(SEEDS)))
    document = json.loads(json.dumps(SEEDS[root]))
    name = draw(st.sampled_from(["seed", "other"]))
    document.setdefault("metadata", {})["name"] = name
    for _ in range(draw(st.integers(0, 2))):
        *way, last = draw(st.sampled_from(_paths(document)))
        holder = document
        for step in way:
            holder = holder[step]
        if draw(st.booleans()):
            holder[last] = draw(junk)
        else:
            del holder[last]
    method = draw(st.sampled_from(["POST", "POST", "PUT", "PATCH", "PATCH", "DELETE"]))
    kind = draw(st.sampled_from([MERGE, STRATEGIC])) if method == "PATCH" else "application/json"
    query = "dryRun=All" if draw(st.integers(0, 4)) == 0 else ""
    target = root if method == "POST" else f"{root}/{name}{draw(st.sampled_from(['', '', '', '/status', '/scale']))}"
    raw = b"" if method == "DELETE" else _encoded(document)
    return method, f"{target}?{query}" if query else target, raw, kind, ""


@st.composite
def requests(draw: st.DrawFn) -> tuple[str, str, bytes, str, str]:
    """Anything at all."""
    resource = draw(st.sampled_from(RESOURCES))
    root = f"/apis/{resource.api_version}" if resource.group else "/api/v1"
    path = root
    if draw(st.integers(0, 9)) == 0:
        path += "/watch"
    if resource.namespaced and draw(st.integers(0, 9)):
        path += f"/namespaces/{draw(names)}"
    path += f"/{resource.plural}"
    if draw(st.booleans()):
        path += f"/{draw(names)}"
        if draw(st.booleans()):
            kinds = ["status", "scale", "binding", "eviction", "token", "finalize", "log", "exec", "nonsense", ""]
            path += f"/{draw(st.sampled_from(kinds))}"
    query = "&".join(f"{name}={value}" for name, value in draw(queries).items())
    raw = draw(st.one_of(documents(resource).map(_encoded), st.binary(max_size=20)))
    kind = draw(
        st.sampled_from(["application/json", "application/json", "application/yaml", MERGE, STRATEGIC, JSON_PATCH, "x"])
    )
    return draw(st.sampled_from(VERBS)), f"{path}?{query}" if query else path, raw, kind, draw(accepts)


def _encoded(document: Any) -> bytes:
    return json.dumps(document, allow_nan=True).encode()


@pytest.fixture(scope="module")
def runner() -> Any:
    """One server for all examples: what one leaves behind, the next has to live with."""
    with asyncio.Runner() as runner:
        config = ServerConfig(data_dir=Path("unused"), config_dir=Path("unused"), node_ips=("192.0.2.1",))
        harness = runner.run(start(config))
        # Admission waits a while for the account of a pod, and time stands still here.
        for namespace in ("default", "kube-system", "kube-public", "kube-node-lease"):
            path = f"/api/v1/namespaces/{namespace}/serviceaccounts"
            assert runner.run(harness.create(path, {"metadata": {"name": "default"}})).status == 201
        yield runner, harness
        harness.server.close_watches()


async def _throw(api: Harness, request: tuple[str, str, bytes, str, str]) -> None:
    method, target, raw, kind, accept = request
    exchange, connection = api._exchange(method, target, raw, kind, {"Accept": accept} if accept else {})
    task = asyncio.ensure_future(api.server.handle(exchange))
    for _ in range(200):
        await asyncio.sleep(0)
        if task.done() or (connection.stream is not None):
            break
    if connection.stream is not None:  # a watch: it has begun well, and ends when we leave
        task.cancel()
        await asyncio.wait({task})
        assert connection.head is not None
        assert connection.head[0] == 200
        return
    reply = await asyncio.wait_for(task, 10)
    assert reply is not None
    # A few faults of the client are a 500 upstream, without a reason; what we did not foresee says so.
    assert b"unexpected error" not in reply.body, (request, reply.body)
    if reply.status >= 400 and reply.content_type == "application/json":
        status = json.loads(reply.body)
        assert (status["kind"], status["status"], status["code"]) == ("Status", "Failure", reply.status)
        assert status["message"]
        assert status.get("reason") or reply.status == 500


@settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck))
@given(request=st.one_of(spoilt(), spoilt(), requests()))
def test_every_request_gets_a_well_formed_answer(runner: Any, request: tuple[str, str, bytes, str, str]) -> None:
    loop, api = runner
    loop.run(_throw(api, request))
    assert loop.run(api.get("/livez")).body == b"ok"


@pytest.mark.slow
@pytest.mark.timeout(1200)
@settings(max_examples=10_000, deadline=None, suppress_health_check=list(HealthCheck))
@given(request=st.one_of(spoilt(), spoilt(), requests()))
def test_every_request_gets_a_well_formed_answer_at_length(
    runner: Any, request: tuple[str, str, bytes, str, str]
) -> None:
    loop, api = runner
    loop.run(_throw(api, request))
