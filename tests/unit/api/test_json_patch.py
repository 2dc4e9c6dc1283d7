"""JSON patch: the operations of RFC 6902, upstream's messages, and nothing changed when one fails."""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.patches import PatchError, json_patch

_DOCUMENT = {"metadata": {"labels": {"a/b": "1", "m~n": "2"}}, "spec": {"list": [1, 2, 3], "nothing": None}}


@pytest.mark.parametrize(
    ("operation", "pointer", "expected"),
    [
        ({"op": "add", "path": "/spec/new", "value": {"x": 1}}, ["spec", "new"], {"x": 1}),
        ({"op": "add", "path": "/spec/list/0", "value": 0}, ["spec", "list"], [0, 1, 2, 3]),
        ({"op": "add", "path": "/spec/list/3", "value": 4}, ["spec", "list"], [1, 2, 3, 4]),
        ({"op": "add", "path": "/spec/list/-", "value": 4}, ["spec", "list"], [1, 2, 3, 4]),
        ({"op": "add", "path": "/spec/list/-1", "value": 4}, ["spec", "list"], [1, 2, 3, 4]),
        ({"op": "add", "path": "/spec/list"}, ["spec", "list"], None),
        ({"op": "remove", "path": "/spec/list/1"}, ["spec", "list"], [1, 3]),
        ({"op": "remove", "path": "/spec/list/-1"}, ["spec", "list"], [1, 2]),
        ({"op": "remove", "path": "/metadata/labels/a~1b"}, ["metadata", "labels"], {"m~n": "2"}),
        (
            {"op": "replace", "path": "/metadata/labels/m~0n", "value": "3"},
            ["metadata", "labels"],
            {"a/b": "1", "m~n": "3"},
        ),
        ({"op": "replace", "path": "/spec/list/0", "value": 9}, ["spec", "list"], [9, 2, 3]),
        ({"op": "replace", "path": "", "value": {"all": "new"}}, [], {"all": "new"}),
        ({"op": "move", "from": "/spec/list/0", "path": "/spec/list/2"}, ["spec", "list"], [2, 3, 1]),
        ({"op": "move", "from": "/spec/list", "path": "/spec/moved"}, ["spec"], {"nothing": None, "moved": [1, 2, 3]}),
        ({"op": "copy", "from": "/spec/list/0", "path": "/spec/list/-"}, ["spec", "list"], [1, 2, 3, 1]),
        ({"op": "test", "path": "/spec/list", "value": [1, 2, 3]}, ["spec", "list"], [1, 2, 3]),
        ({"op": "test", "path": "/spec/nothing", "value": None}, ["spec", "nothing"], None),
        ({"op": "test", "path": "/spec/absent"}, ["spec", "nothing"], None),
        ({"op": "test", "path": "", "value": _DOCUMENT}, [], _DOCUMENT),
    ],
)
def test_operations(operation: dict[str, Any], pointer: list[str], expected: Any) -> None:
    before = copy.deepcopy(_DOCUMENT)
    found: Any = json_patch(_DOCUMENT, [operation])
    for key in pointer:
        found = found[key]
    assert found == expected
    assert before == _DOCUMENT


@pytest.mark.parametrize(
    ("operation", "message"),
    [
        ({"op": "add", "path": "/a/b"}, 'add operation does not apply: doc is missing path: "/a/b": missing value'),
        ({"op": "add", "path": "x"}, 'add operation does not apply: doc is missing path: "x": missing value'),
        ({"op": "add"}, "add operation failed to decode path: missing value"),
        (
            {"op": "add", "path": "/spec/list/9", "value": 1},
            "error in add for path: '/spec/list/9': Unable to access invalid index: 9: invalid index referenced",
        ),
        (
            {"op": "add", "path": "/spec/list/x", "value": 1},
            "error in add for path: '/spec/list/x': value was not a proper array index: 'x': "
            'strconv.Atoi: parsing "x": invalid syntax',
        ),
        (
            {"op": "remove", "path": "/a"},
            "error in remove for path: '/a': Unable to remove nonexistent key: a: missing value",
        ),
        (
            {"op": "remove", "path": "/a/b"},
            'remove operation does not apply: doc is missing path: "/a/b": missing value',
        ),
        (
            {"op": "replace", "path": "/a/b"},
            "replace operation does not apply: doc is missing path: /a/b: missing value",
        ),
        (
            {"op": "replace", "path": "/spec/list/3"},
            "replace operation does not apply: doc is missing key: /spec/list/3: missing value",
        ),
        (
            {"op": "move", "from": "/a", "path": "/b"},
            "error in move for path: 'a': Unable to remove nonexistent key: a: missing value",
        ),
        (
            {"op": "copy", "from": "/a/b", "path": "/c"},
            "copy operation does not apply: doc is missing from path: /a/b: missing value",
        ),
        ({"op": "test", "path": "/spec/list/0", "value": True}, "testing value /spec/list/0 failed: test failed"),
        ({"op": "test", "path": "/spec/list", "value": [1, 2]}, "testing value /spec/list failed: test failed"),
        ({"op": "frobnicate", "path": "/a"}, "Unexpected kind: frobnicate"),
        ({"path": "/a"}, "Unexpected kind: unknown"),
    ],
)
def test_what_does_not_apply(operation: dict[str, Any], message: str) -> None:
    with pytest.raises(PatchError) as refused:
        json_patch(_DOCUMENT, [{"op": "add", "path": "/spec/first", "value": 1}, operation])
    assert str(refused.value) == message
    assert refused.value.code == 422
    assert "first" not in _DOCUMENT["spec"]


@pytest.mark.parametrize(
    ("patch", "message"),
    [
        ({"op": "add"}, "json: cannot unmarshal object into Go value of type jsonpatch.Patch"),
        ("x", "json: cannot unmarshal string into Go value of type jsonpatch.Patch"),
        (["x"], "json: cannot unmarshal string into Go value of type jsonpatch.Operation"),
    ],
)
def test_what_is_no_patch(patch: Any, message: str) -> None:
    with pytest.raises(PatchError) as refused:
        json_patch(_DOCUMENT, patch)
    assert (str(refused.value), refused.value.code) == (message, 400)


def test_too_many_operations() -> None:
    with pytest.raises(PatchError) as refused:
        json_patch({}, [{"op": "test", "path": "", "value": {}}] * 10_001)
    assert str(refused.value) == "The allowed maximum operations in a JSON patch is 10000, got 10001"
    assert refused.value.code == 413


def test_copies_cannot_blow_up_the_document() -> None:
    doubling = [{"op": "copy", "from": "/a", "path": "/a/-"}] * 60
    with pytest.raises(PatchError, match="the accumulated size increase of copy is"):
        json_patch({"a": ["x" * 100]}, doubling)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text("ab~/", max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab~/", max_size=2), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text("ab~/", max_size=2), _JSON, max_size=3), st.text("ab~/", min_size=1, max_size=2), _JSON)
def test_add_then_test_then_remove(document: dict[str, Any], key: str, value: Any) -> None:
    path = "/" + key.replace("~", "~0").replace("/", "~1")
    added = json_patch(
        document, [{"op": "add", "path": path, "value": value}, {"op": "test", "path": path, "value": value}]
    )
    assert added == {**document, key: value}
    removed = json_patch(added, [{"op": "remove", "path": path}])
    assert removed == {name: item for name, item in document.items() if name != key}


@given(_JSON, st.lists(_JSON | st.fixed_dictionaries({"op": st.sampled_from(["add", "remove", "replace", "move", "copy", "test"])}, optional={"path": st.text("/ab~01-", max_size=5), "from": st.text("/ab~01-", max_size=5), "value": _JSON}), max_size=4))  # fmt: skip # noqa: E501
def test_any_patch_gives_a_document_or_a_patch_error(document: Any, patch: list[Any]) -> None:
    before = copy.deepcopy(document)
    try:
        json_patch(document, patch)
    except PatchError as error:
        assert error.code in (400, 422)
    assert document == before
