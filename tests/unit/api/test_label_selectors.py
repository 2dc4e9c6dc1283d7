"""Label selectors: grammar, matching, canonical text, errors."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api import meta_v1 as meta
from api.selectors import (
    NOTHING,
    SelectorError,
    from_labels,
    from_struct,
    parse_label_selector,
)


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("", ""),
        ("x=a", "x=a"),
        ("x==a", "x==a"),
        (" x = a , y = b ", "x=a,y=b"),
        ("y=b,x=a", "x=a,y=b"),
        ("x!=a", "x!=a"),
        ("x", "x"),
        ("!x", "!x"),
        ("x in (b,a)", "x in (a,b)"),
        ("x in ()", "x in ()"),
        ("x in (,a)", "x in (,a)"),
        ("x notin (a)", "x notin (a)"),
        ("x>7,y<2", "x>7,y<2"),
        ("in in (in)", "in in (in)"),
        ("x=", "x="),
        ("x=,y", "x=,y"),
        ("example.com/x in (a,b),!z", "example.com/x in (a,b),!z"),
    ],
)
def test_canonical_text(text, canonical):
    selector = parse_label_selector(text)
    assert str(selector) == canonical
    assert parse_label_selector(canonical) == selector


@pytest.mark.parametrize(
    ("text", "labels", "matches"),
    [
        ("", {}, True),
        ("x=a", {"x": "a"}, True),
        ("x=a", {"x": "b"}, False),
        ("x=a", {}, False),
        ("x=", {}, False),
        ("x=", {"x": ""}, True),
        ("x!=a", {}, True),
        ("x!=a", {"x": "a"}, False),
        ("x in (a,b)", {"x": "b"}, True),
        ("x notin (a,b)", {"x": "c"}, True),
        ("x notin (a,b)", {}, True),
        ("x", {"x": ""}, True),
        ("!x", {"x": ""}, False),
        ("x>5", {"x": "7"}, True),
        ("x>5", {"x": "seven"}, False),
        ("x<5", {"x": "7"}, False),
        ("x<5", {}, False),
        ("x=a,y=b", {"x": "a", "y": "c"}, False),
    ],
)
def test_matching(text, labels, matches):
    assert parse_label_selector(text).matches(labels) is matches


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x=a=b", "found '=', expected: ',' or 'end of string'"),
        ("=a", "found '=', expected: !, identifier, or 'end of string'"),
        ("x in", "unable to parse requirement: found '' expected: '('"),
        ("x in (a", "unable to parse requirement: found '', expected: ',' or ')'"),
        ("x,", "found '', expected: identifier after ','"),
        ("!", "unable to parse requirement: found '', expected: identifier"),
        ("x y", "unable to parse requirement: found 'y', expected: in, notin, =, ==, !=, gt, lt"),
        ("!x=a", "found '=', expected: ',' or 'end of string'"),
        (
            "x>abc",
            "unable to parse requirement: values[0]: Invalid value: \"abc\": for 'Gt', 'Lt' operators, the "
            "value must be "
            "an integer",
        ),
    ],
)
def test_errors(text, message):
    with pytest.raises(SelectorError) as error:
        parse_label_selector(text)
    assert str(error.value) == message


def test_a_bad_value_is_named_with_its_key():
    with pytest.raises(SelectorError) as error:
        parse_label_selector("x=-a-")
    assert str(error.value).startswith(
        'unable to parse requirement: values[0][x]: Invalid value: "-a-": a valid label must be an empty string or'
    )


def test_a_bad_key_has_no_path():
    with pytest.raises(SelectorError) as error:
        parse_label_selector("x/y/z=a")
    assert str(error.value).startswith('unable to parse requirement: <nil>: Invalid value: "x/y/z": a valid label key')


def test_struct():
    struct = meta.LabelSelector(
        match_labels={"b": "1"},
        match_expressions=[meta.LabelSelectorRequirement(key="a", operator="In", values=["x", "y"])],
    )
    assert str(from_struct(struct)) == "a in (x,y),b=1"
    assert from_struct(None) is NOTHING
    assert not from_struct(None).matches({"a": "x"})
    assert from_struct(meta.LabelSelector()).empty
    with pytest.raises(SelectorError, match='"Near" is not a valid label selector operator'):
        bad = meta.LabelSelectorRequirement(key="a", operator="Near")
        from_struct(meta.LabelSelector(match_expressions=[bad]))


def test_exact():
    selector = parse_label_selector("x=a,y in (b),z in (c,d),w!=e")
    assert [selector.exact(key) for key in "xyzwv"] == ["a", "b", None, None, None]


words = st.text(alphabet="abcxyz019-_.", min_size=1, max_size=8).filter(
    lambda word: word[0].isalnum() and word[-1].isalnum()
)


@given(st.dictionaries(words, words, max_size=4))
def test_labels_select_themselves(labels):
    selector = from_labels(labels)
    assert selector.matches(labels)
    if not any(word in ("in", "notin") for word in labels):
        assert parse_label_selector(str(selector)) == selector


@given(st.text(alphabet="ab=!<>(), in\t\0\\é", max_size=20))
def test_any_text_is_a_selector_or_an_error(text):
    try:
        selector = parse_label_selector(text)
    except SelectorError as error:
        assert str(error)
    else:
        assert isinstance(selector.matches({"a": "b"}), bool)
