"""JSON merge patch: the cases of RFC 7386, and upstream's treatment of nulls."""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.patches import PatchError, merge_patch


@pytest.mark.parametrize(
    ("document", "patch", "expected"),
    [
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ({"e": None}, {"e": {"x": None, "y": 1}}, {"e": {"y": 1}}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
        ({"a": [1]}, {"a": [None, 1]}, {"a": [1]}),
        ({"a": {"x": 1}}, {"a": [None, 1]}, {"a": [None, 1]}),
        ({}, {"a": [None, 1, {"b": None}]}, {"a": [1, {}]}),
    ],
)
def test_cases(document: Any, patch: Any, expected: Any) -> None:
    before = copy.deepcopy((document, patch))
    assert merge_patch(document, patch) == expected
    assert (document, patch) == before


@pytest.mark.parametrize(
    ("patch", "message"),
    [
        ([], "error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}"),
        ("x", "error decoding patch: json: cannot unmarshal string into Go value of type map[string]interface {}"),
        (None, "Invalid JSON Patch"),
    ],
)
def test_what_is_no_patch(patch: Any, message: str) -> None:
    with pytest.raises(PatchError) as refused:
        merge_patch({}, patch)
    assert (str(refused.value), refused.value.code) == (message, 400)


_LEAVES = st.none() | st.booleans() | st.integers(-9, 9) | st.text("ab", max_size=2)
_OBJECTS = st.dictionaries(
    st.text("abc", min_size=1, max_size=1),
    st.recursive(_LEAVES, lambda inner: st.dictionaries(st.text("abc", min_size=1, max_size=1), inner), max_leaves=6),
    max_size=3,
)


def _reference(document: Any, patch: Any) -> Any:
    """The algorithm of RFC 7386, section 2."""
    if not isinstance(patch, dict):
        return patch
    result = dict(document) if isinstance(document, dict) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = _reference(result.get(name), value)
    return result


@given(_OBJECTS, _OBJECTS)
def test_agrees_with_the_rfc(document: dict[str, Any], patch: dict[str, Any]) -> None:
    assert merge_patch(document, patch) == _reference(document, patch)


@given(_OBJECTS, _OBJECTS)
def test_is_idempotent(document: dict[str, Any], patch: dict[str, Any]) -> None:
    once = merge_patch(document, patch)
    assert merge_patch(once, patch) == once


def test_deep_patches_are_refused_not_fatal() -> None:
    deep: dict[str, Any] = {}
    for _ in range(3000):
        deep = {"a": deep}
    with pytest.raises(PatchError, match="exceeded max depth"):
        merge_patch({}, {"x": deep})
