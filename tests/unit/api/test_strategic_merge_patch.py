"""Strategic merge patch on real kinds: lists merged by key, directives, order, and the refusals of apimachinery."""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api import apps_v1 as apps
from api import core_v1 as core
from api.declarations import Struct
from api.patches import PatchError, strategic_merge_patch

_POD: dict[str, Any] = {
    "metadata": {"name": "web", "labels": {"app": "web"}, "finalizers": ["a.example/x", "b.example/y"]},
    "spec": {
        "containers": [
            {"name": "app", "image": "app:1", "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]},
            {"name": "log", "image": "log:1", "args": ["-v"]},
        ],
        "volumes": [{"name": "data", "emptyDir": {}}],
        "nodeSelector": {"disk": "ssd"},
        "tolerations": [{"key": "a"}],
    },
}


def _containers(patch: Any) -> list[dict[str, Any]]:
    containers: list[dict[str, Any]] = strategic_merge_patch(_POD, {"spec": patch}, core.Pod)["spec"]["containers"]
    return containers


def _images(patch: Any) -> list[tuple[str, str]]:
    return [(container["name"], container.get("image", "")) for container in _containers(patch)]


@pytest.mark.parametrize(
    ("patch", "images"),
    [
        # merged by name, the rest left alone
        ({"containers": [{"name": "log", "image": "log:2"}]}, [("app", "app:1"), ("log", "log:2")]),
        # new items follow
        ({"containers": [{"name": "new", "image": "new:1"}]}, [("new", "new:1"), ("app", "app:1"), ("log", "log:1")]),
        (
            {"containers": [{"name": "app", "image": "app:2"}, {"name": "new", "image": "new:1"}]},
            [("app", "app:2"), ("new", "new:1"), ("log", "log:1")],
        ),
        # removed by directive
        ({"containers": [{"name": "app", "$patch": "delete"}]}, [("log", "log:1")]),
        ({"containers": [{"name": "absent", "$patch": "delete"}]}, [("app", "app:1"), ("log", "log:1")]),
        # replaced as a whole
        ({"containers": [{"$patch": "replace"}, {"name": "only", "image": "o:1"}]}, [("only", "o:1")]),
        # reordered
        (
            {"$setElementOrder/containers": [{"name": "log"}, {"name": "app"}]},
            [("log", "log:1"), ("app", "app:1")],
        ),
        (
            {
                "$setElementOrder/containers": [{"name": "log"}, {"name": "new"}, {"name": "app"}],
                "containers": [{"name": "new", "image": "new:1"}, {"name": "app", "image": "app:2"}],
            },
            [("log", "log:1"), ("new", "new:1"), ("app", "app:2")],
        ),
        # an item the patch does not know keeps its place before what followed it
        ({"$setElementOrder/containers": [{"name": "log"}]}, [("app", "app:1"), ("log", "log:1")]),
        (
            {
                "$setElementOrder/containers": [{"name": "new"}, {"name": "log"}],
                "containers": [{"name": "new"}, {"name": "app", "$patch": "delete"}],
            },
            [("new", ""), ("log", "log:1")],
        ),
    ],
)
def test_containers(patch: Any, images: list[tuple[str, str]]) -> None:
    before = copy.deepcopy((_POD, patch))
    assert _images(patch) == images
    assert (_POD, patch) == before


def test_nested_lists_merge_by_their_own_key() -> None:
    patch = {"containers": [{"name": "app", "env": [{"name": "B", "value": "3"}, {"name": "C", "value": "4"}]}]}
    assert _containers(patch)[0]["env"] == [
        {"name": "A", "value": "1"},
        {"name": "B", "value": "3"},
        {"name": "C", "value": "4"},
    ]


def test_lists_without_a_merge_strategy_are_replaced() -> None:
    patched = strategic_merge_patch(
        _POD, {"spec": {"tolerations": [{"key": "b"}], "containers": [{"name": "log", "args": ["-q"]}]}}, core.Pod
    )
    assert patched["spec"]["tolerations"] == [{"key": "b"}]
    assert patched["spec"]["containers"][1]["args"] == ["-q"]


@pytest.mark.parametrize(
    ("metadata", "finalizers"),
    [
        ({"finalizers": ["c.example/z"]}, ["c.example/z", "a.example/x", "b.example/y"]),
        ({"finalizers": ["a.example/x"]}, ["a.example/x", "b.example/y"]),
        ({"$deleteFromPrimitiveList/finalizers": ["a.example/x"]}, ["b.example/y"]),
        (
            {"$setElementOrder/finalizers": ["b.example/y", "a.example/x"]},
            ["b.example/y", "a.example/x"],
        ),
        ({"finalizers": None}, None),
    ],
)
def test_lists_of_scalars(metadata: Any, finalizers: list[str] | None) -> None:
    assert strategic_merge_patch(_POD, {"metadata": metadata}, core.Pod)["metadata"].get("finalizers") == finalizers


@pytest.mark.parametrize(
    ("patch", "selector"),
    [
        ({"nodeSelector": {"zone": "a"}}, {"disk": "ssd", "zone": "a"}),
        ({"nodeSelector": {"disk": None}}, {}),
        ({"nodeSelector": None}, None),
        ({"nodeSelector": {"$patch": "replace", "zone": "a"}}, {"zone": "a"}),
        ({"nodeSelector": {"$patch": "delete"}}, {}),
    ],
)
def test_maps(patch: Any, selector: dict[str, str] | None) -> None:
    assert strategic_merge_patch(_POD, {"spec": patch}, core.Pod)["spec"].get("nodeSelector") == selector


def test_retain_keys_clears_what_it_does_not_name() -> None:
    patch = {"volumes": [{"name": "data", "$retainKeys": ["name", "hostPath"], "hostPath": {"path": "/data"}}]}
    patched = strategic_merge_patch(_POD, {"spec": patch}, core.Pod)
    assert patched["spec"]["volumes"] == [{"name": "data", "hostPath": {"path": "/data"}}]
    deployment = {"spec": {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}}}
    patched = strategic_merge_patch(
        deployment, {"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}}, apps.Deployment
    )
    assert patched == {"spec": {"strategy": {"type": "Recreate"}}}


def test_replace_strategy_of_the_declaration() -> None:
    document = {"source": {"configMap": {"name": "a", "namespace": "b"}}}
    node = {"spec": {"configSource": document["source"]}}
    patched = strategic_merge_patch(node, {"spec": {"configSource": {"configMap": {"name": "c"}}}}, core.Node)
    assert patched["spec"]["configSource"]["configMap"] == {"name": "c", "namespace": "b"}


def test_nulls_and_directives_are_not_stored() -> None:
    patch = {"affinity": {"nodeAffinity": None, "podAffinity": {"$patch": "delete"}}, "hostname": None}
    assert strategic_merge_patch(_POD, {"spec": patch}, core.Pod)["spec"]["affinity"] == {}


@pytest.mark.parametrize(
    ("patch", "code", "message"),
    [
        ("x", 400, "invalid JSON document"),
        (
            {"spec": {"containers": [{"image": "x"}]}},
            500,
            "map: map[image:x] does not contain declared merge key: name",
        ),
        (
            {"spec": {"containers": [{"name": "app", "$patch": "what"}]}},
            500,
            "unknown patch type: what in map: map[$patch:what name:app]",
        ),
        (
            {"spec": {"containers": [{"name": "app", "$patch": "merge"}]}},
            500,
            "merging lists cannot yet be specified in the patch",
        ),
        ({"spec": {"$patch": "merge"}}, 500, "unknown patch type: merge in map: map[$patch:merge]"),
        ({"spec": {"containers": ["x"]}}, 500, "list element types are not identical: [[map["),
        ({"spec": {"containers": [["x"]]}}, 500, "list element types are not identical: [[map["),
        ({"metadata": {"$deleteFromPrimitiveList": ["x"]}}, 400, "invalid patch format of primitive list"),
        ({"metadata": {"$setElementOrder": ["x"]}}, 400, "invalid patch format of setElementOrder list"),
        ({"metadata": {"$setElementOrder/finalizers": "x"}}, 500, "expected a []interface {}, but received a string"),
        ({"spec": {"$retainKeys": ["nodeName"], "hostname": "x"}}, 400, "invalid patch format of retainKeys"),
        ({"spec": {"$retainKeys": "nodeName"}}, 400, "invalid patch format of retainKeys"),
        (
            {"spec": {"$setElementOrder/containers": [{"name": "log"}], "containers": [{"name": "app"}]}},
            500,
            "The order in patch list:\n[map[name:app]]\n doesn't match $setElementOrder list:\n[map[name:log]]\n",
        ),
    ],
)
def test_refusals(patch: Any, code: int, message: str) -> None:
    with pytest.raises(PatchError) as refused:
        strategic_merge_patch(_POD, patch, core.Pod)
    assert str(refused.value).startswith(message)
    assert refused.value.code == code


def test_unknown_fields_cannot_be_merged() -> None:
    with pytest.raises(PatchError, match='unable to find api field in struct PodSpec for the json field "what"'):
        strategic_merge_patch({"spec": {"what": {"a": 1}}}, {"spec": {"what": {"b": 1}}}, core.Pod)


_NAMES = st.sampled_from("abcdef")
_CONTAINERS = st.lists(_NAMES, unique=True, max_size=5).flatmap(
    lambda names: st.tuples(
        *(st.builds(lambda name, image: {"name": name, "image": image}, st.just(n), _NAMES) for n in names)
    )
)


def _pod(containers: tuple[dict[str, str], ...]) -> dict[str, Any]:
    return {"spec": {"containers": list(containers)}}


@given(_CONTAINERS, _CONTAINERS)
def test_merging_by_key(live: tuple[dict[str, str], ...], patch: tuple[dict[str, str], ...]) -> None:
    merged = strategic_merge_patch(_pod(live), _pod(patch), core.Pod)["spec"]["containers"]
    images = {container["name"]: container["image"] for container in (*live, *patch)}
    assert {container["name"]: container["image"] for container in merged} == images
    assert len(merged) == len(images)
    names = [container["name"] for container in merged]
    in_patch = [container["name"] for container in patch]
    only_live = [container["name"] for container in live if container["name"] not in in_patch]
    assert [name for name in names if name in in_patch] == in_patch
    assert [name for name in names if name in only_live] == only_live
    assert strategic_merge_patch(_pod(tuple(merged)), _pod(patch), core.Pod)["spec"]["containers"] == merged


@given(_CONTAINERS, _CONTAINERS)
def test_a_full_patch_with_order_gives_the_wanted_list(
    live: tuple[dict[str, str], ...], wanted: tuple[dict[str, str], ...]
) -> None:
    names = {container["name"] for container in wanted}
    patch = {
        "spec": {
            "$setElementOrder/containers": [{"name": container["name"]} for container in wanted],
            "containers": [
                *wanted,
                *({"name": item["name"], "$patch": "delete"} for item in live if item["name"] not in names),
            ],
        }
    }
    if live or wanted:
        patched = strategic_merge_patch(_pod(live), patch, core.Pod)
        assert patched["spec"]["containers"] == list(wanted)


_JUNK = st.recursive(
    st.none() | st.booleans() | st.integers(0, 3) | st.sampled_from(["a", "delete", "replace"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "$patch",
                    "$retainKeys",
                    "$setElementOrder/containers",
                    "$deleteFromPrimitiveList/finalizers",
                    "name",
                    "spec",
                    "metadata",
                    "containers",
                    "finalizers",
                    "labels",
                    "volumes",
                    "env",
                    "what",
                ]
            ),
            inner,
            max_size=3,
        )
    ),
    max_leaves=12,
)


@given(_JUNK, st.sampled_from([core.Pod, core.Node, apps.Deployment]))
def test_any_patch_gives_a_document_or_a_patch_error(patch: Any, kind: type[Struct]) -> None:
    before = copy.deepcopy(_POD)
    try:
        strategic_merge_patch(_POD, {"spec": patch, "metadata": patch}, kind)
    except PatchError as error:
        assert error.code in (400, 422, 500)
    assert before == _POD
