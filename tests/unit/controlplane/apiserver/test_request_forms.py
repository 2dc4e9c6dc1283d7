"""What a path, a query and the headers of a request mean, as pure functions."""

from __future__ import annotations

import pytest

from api import errors
from controlplane.apiserver import negotiation, options, query, routing
from controlplane.apiserver.negotiation import JSON, YAML, Output, Transform
from controlplane.apiserver.request import RequestInfo


def info(method: str, target: str) -> RequestInfo:
    path, raw = routing.split_target(target)
    return routing.parse(method, path, query.parse(raw))


@pytest.mark.parametrize(
    ("method", "target", "verb", "where"),
    [
        # where: group, version, resource, subresource, namespace, name
        ("GET", "/api/v1/namespaces", "list", ("", "v1", "namespaces", "", "", "")),
        ("GET", "/api/v1/namespaces/a", "get", ("", "v1", "namespaces", "", "a", "a")),
        ("PUT", "/api/v1/namespaces/a/finalize", "update", ("", "v1", "namespaces", "finalize", "a", "a")),
        ("GET", "/api/v1/namespaces/a/status", "get", ("", "v1", "namespaces", "status", "a", "a")),
        ("GET", "/api/v1/namespaces/a/pods", "list", ("", "v1", "pods", "", "a", "")),
        ("GET", "/api/v1/namespaces/a/pods/", "list", ("", "v1", "pods", "", "a", "")),
        ("POST", "/api/v1/namespaces/a/pods", "create", ("", "v1", "pods", "", "a", "")),
        ("DELETE", "/api/v1/namespaces/a/pods", "deletecollection", ("", "v1", "pods", "", "a", "")),
        ("DELETE", "/api/v1/namespaces/a/pods/b", "delete", ("", "v1", "pods", "", "a", "b")),
        ("PATCH", "/api/v1/namespaces/a/pods/b/status", "patch", ("", "v1", "pods", "status", "a", "b")),
        ("GET", "/api/v1/namespaces/a/pods/b/proxy/x/y", "get", ("", "v1", "pods", "proxy", "a", "b")),
        ("GET", "/api/v1/pods?watch=1", "watch", ("", "v1", "pods", "", "", "")),
        ("GET", "/api/v1/pods?watch", "watch", ("", "v1", "pods", "", "", "")),
        ("GET", "/api/v1/pods?watch=False", "list", ("", "v1", "pods", "", "", "")),
        ("GET", "/api/v1/watch/pods", "watch", ("", "v1", "pods", "", "", "")),
        ("GET", "/api/v1/watch/namespaces/a/pods/b", "watch", ("", "v1", "pods", "", "a", "b")),
        ("GET", "/api/v1/nodes?fieldSelector=metadata.name%3Dn", "list", ("", "v1", "nodes", "", "", "n")),
        ("GET", "/api/v1/nodes?fieldSelector=metadata.name!%3Dn", "list", ("", "v1", "nodes", "", "", "")),
        ("GET", "/api/v1/nodes?fieldSelector=metadata.name%3Da%2Fb", "list", ("", "v1", "nodes", "", "", "")),
        ("HEAD", "/apis/apps/v1/deployments", "list", ("apps", "v1", "deployments", "", "", "")),
        ("OPTIONS", "/apis/apps/v1/deployments", "", ("apps", "v1", "deployments", "", "", "")),
    ],
)
def test_resource_paths(method: str, target: str, verb: str, where: tuple[str, ...]) -> None:
    found = info(method, target)
    assert found.is_resource
    assert found.verb == verb
    assert (found.group, found.version, found.resource, found.subresource, found.namespace, found.name) == where


@pytest.mark.parametrize(
    "target", ["/", "/api", "/api/v1", "/apis", "/apis/apps", "/apis/apps/v1", "/healthz", "/a/b/c/d"]
)
def test_other_paths(target: str) -> None:
    assert info("GET", target) == RequestInfo("get", path=target)


def test_a_path_that_ends_too_early() -> None:
    with pytest.raises(routing.MalformedPath):
        info("GET", "/api/v1/watch")


def test_queries_are_read_as_go_reads_them() -> None:
    found = query.parse("a=1&b&a=2&c=x%20y+z&;bad=1&d=")
    assert found == {"a": ["1", "2"], "b": [""], "c": ["x y z"], "d": [""]}
    assert found.flag("b")
    assert not query.parse("x=FALSE").flag("x")
    assert not query.parse("x=0").flag("x")
    assert query.parse("x=no").flag("x")
    for text in ("", "1.5", "0x10", "9" * 20):
        with pytest.raises(errors.StatusError, match=r"strconv\.ParseInt"):
            query.parse(f"x={text}").integer("x")
    assert query.parse("x=-5").integer("x") == -5


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("1s", 1), ("1m30s", 90), ("500ms", 0.5), ("1.5h", 5400), ("", 7200), ("0", 7200), ("-1s", 7200), ("9h", 7200)],
)
def test_timeouts(text: str, seconds: float) -> None:
    assert options.request_timeout(query.parse(f"timeout={text}"), 7200) == pytest.approx(seconds)


TABLE = Transform("Table", "v1")


@pytest.mark.parametrize(
    ("accept", "output"),
    [
        ("", Output()),
        ("application/json", Output()),
        ("application/yaml", Output(YAML)),
        ("application/yaml;q=0.5, application/json;q=0.9", Output(JSON)),
        ("text/html;q=0.9, */*;q=0.1", Output()),
        ("application/json;as=Table;v=v1;g=meta.k8s.io,application/json", Output(JSON, TABLE)),
        ("application/json;as=Table;v=v9;g=meta.k8s.io,application/json", Output()),
        ("application/vnd.kubernetes.protobuf;as=Table;v=v1;g=meta.k8s.io,application/json", Output()),
        ("application/vnd.kubernetes.protobuf,application/json", Output()),
        ("application/json;pretty=1", Output(pretty=True)),
        ("application/json;stream=watch", Output()),
    ],
)
def test_accept(accept: str, output: Output) -> None:
    assert negotiation.output(accept, transforms=negotiation.TRANSFORMS) == output


def test_a_watch_without_a_version_asks_for_initial_events() -> None:
    for text in ("watch=1", "watch=1&resourceVersion=0"):
        assert options.list_options(query.parse(text)).send_initial_events
    assert options.list_options(query.parse("watch=1&resourceVersion=7")).send_initial_events is None
    assert options.list_options(query.EMPTY, force_watch=True).send_initial_events
    assert options.list_options(query.parse("watch=1"), delete=True).watch is False
