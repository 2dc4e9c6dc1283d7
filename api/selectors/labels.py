"""Label selectors: choosing objects by their labels.

Grammar, order, canonical text and error texts are those of apimachinery's `labels` package: requirements are parsed,
checked, then sorted by key. `LabelSelector` is immutable and made to be matched against many objects, so `holds`
compares enum members by identity and allocates nothing. Field selectors are in the module beside it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, NoReturn

from api import fields, names
from api.rendering import quote

if TYPE_CHECKING:
    from api import meta_v1 as meta

_INT64_MAX = 2**63 - 1


class SelectorError(ValueError):
    """A selector that cannot be understood; the text is what the API answers with 400."""


class Operator(Enum):
    """How a requirement relates a key and its values; the value is the word of the grammar."""

    IN = "in"
    NOT_IN = "notin"
    EQUALS = "="
    DOUBLE_EQUALS = "=="
    NOT_EQUALS = "!="
    GREATER_THAN = "gt"
    LESS_THAN = "lt"
    EXISTS = "exists"
    DOES_NOT_EXIST = "!"


_BINARY = ("in", "notin", "=", "==", "!=", "gt", "lt")
_SYMBOLS = {Operator.GREATER_THAN: ">", Operator.LESS_THAN: "<"}


@dataclass(frozen=True, slots=True)
class Requirement:
    """One condition on one label. Build it with `requirement`, which checks it."""

    key: str
    operator: Operator
    values: tuple[str, ...] = ()

    def holds(self, labels: Mapping[str, str]) -> bool:
        operator = self.operator
        if operator is Operator.EQUALS or operator is Operator.DOUBLE_EQUALS or operator is Operator.IN:
            value = labels.get(self.key)
            return value is not None and value in self.values
        if operator is Operator.NOT_IN or operator is Operator.NOT_EQUALS:
            value = labels.get(self.key)
            return value is None or value not in self.values
        if operator is Operator.EXISTS:
            return self.key in labels
        if operator is Operator.DOES_NOT_EXIST:
            return self.key not in labels
        return self._compares(labels.get(self.key))

    def _compares(self, value: str | None) -> bool:
        if value is None:
            return False
        left, right = _int64(value), _int64(self.values[0])
        if left is None or right is None:
            return False
        return left > right if self.operator is Operator.GREATER_THAN else left < right

    def __str__(self) -> str:
        if self.operator is Operator.EXISTS:
            return self.key
        if self.operator is Operator.DOES_NOT_EXIST:
            return f"!{self.key}"
        values = ",".join(sorted(self.values))
        if self.operator is Operator.IN or self.operator is Operator.NOT_IN:
            return f"{self.key} {self.operator.value} ({values})"
        return f"{self.key}{_SYMBOLS.get(self.operator, self.operator.value)}{values}"


@dataclass(frozen=True, slots=True)
class LabelSelector:
    """All of its requirements must hold; with none it matches everything, unless it is `NOTHING`."""

    requirements: tuple[Requirement, ...] = ()
    selects_nothing: bool = False

    def matches(self, labels: Mapping[str, str]) -> bool:
        if self.selects_nothing:
            return False
        for requirement_ in self.requirements:  # noqa: SIM110 - a generator would cost more than the matching
            if not requirement_.holds(labels):
                return False
        return True

    @property
    def empty(self) -> bool:
        """True if it restricts nothing."""
        return not self.requirements and not self.selects_nothing

    def exact(self, key: str) -> str | None:
        """The only value the selector admits for a key, if it demands exactly one: lets an index answer."""
        for item in self.requirements:
            if item.key == key:
                pins = item.operator in (Operator.EQUALS, Operator.DOUBLE_EQUALS, Operator.IN)
                return item.values[0] if pins and len(item.values) == 1 else None
        return None

    def __str__(self) -> str:
        return ",".join(str(item) for item in self.requirements)


EVERYTHING = LabelSelector()
NOTHING = LabelSelector(selects_nothing=True)


def requirement(key: str, operator: Operator, values: Sequence[str] = ()) -> Requirement:
    """A checked requirement. Raises `SelectorError` with every violation, as field errors in one text."""
    errors: fields.FieldErrors = []
    if complaints := names.qualified_name(key):
        errors.append(fields.invalid("key", key, "; ".join(complaints)))
    where = "values"
    if operator in (Operator.IN, Operator.NOT_IN):
        if not values:
            errors.append(fields.invalid(where, None, "for 'in', 'notin' operators, values set can't be empty"))
    elif operator in (Operator.EQUALS, Operator.DOUBLE_EQUALS, Operator.NOT_EQUALS):
        if len(values) != 1:
            errors.append(fields.invalid(where, values, "exact-match compatibility requires one single value"))
    elif operator in (Operator.EXISTS, Operator.DOES_NOT_EXIST):
        if values:
            detail = "values set must be empty for exists and does not exist"
            errors.append(fields.invalid(where, values, detail))
    else:
        if len(values) != 1:
            errors.append(fields.invalid(where, values, "for 'Gt', 'Lt' operators, exactly one value is required"))
        for index, value in enumerate(values):
            if _int64(value) is None:
                detail = "for 'Gt', 'Lt' operators, the value must be an integer"
                errors.append(fields.invalid(f"{where}[{index}]", value, detail))
    for index, value in enumerate(values):
        if complaints := names.label_value(value):
            errors.append(fields.invalid(f"{where}[{index}][{key}]", value, "; ".join(complaints)))
    if errors:
        raise SelectorError(fields.aggregate(errors))
    return Requirement(key, operator, tuple(values))


_NO_PATH = "<nil>"
"""How upstream prints an absent path: the key of a selector in a query string has none."""


def from_labels(labels: Mapping[str, str]) -> LabelSelector:
    """A selector for objects that carry all of these labels (unchecked, as for stored objects)."""
    return _sorted(Requirement(key, Operator.EQUALS, (value,)) for key, value in labels.items())


_STRUCT_OPERATORS = {
    "In": Operator.IN,
    "NotIn": Operator.NOT_IN,
    "Exists": Operator.EXISTS,
    "DoesNotExist": Operator.DOES_NOT_EXIST,
}


def from_struct(selector: meta.LabelSelector | None) -> LabelSelector:
    """The selector a `meta.LabelSelector` states; None selects nothing, an empty one everything.

    Raises `SelectorError` on an unknown operator or a wrong key or value.
    """
    if selector is None:
        return NOTHING
    found = [requirement(key, Operator.EQUALS, (value,)) for key, value in selector.match_labels.items()]
    for expression in selector.match_expressions:
        operator = _STRUCT_OPERATORS.get(expression.operator)
        if operator is None:
            raise SelectorError(f"{quote(expression.operator)} is not a valid label selector operator")
        found.append(requirement(expression.key, operator, tuple(expression.values)))
    return _sorted(found)


def parse_label_selector(text: str) -> LabelSelector:
    """Parses `app=web,tier in (a, b),!old`. Raises `SelectorError` with the reference implementation's words."""
    return _sorted(_Parser(text).parse()) if text else EVERYTHING


def _sorted(requirements: Iterable[Requirement]) -> LabelSelector:
    return LabelSelector(tuple(sorted(requirements, key=lambda item: item.key)))


def _int64(text: str) -> int | None:
    """A base-10 64-bit integer, or None."""
    digits = text[1:] if text[:1] in ("+", "-") else text
    if not digits.isdigit() or not digits.isascii() or len(digits) > 64:
        return None
    number = int(text)
    return number if -_INT64_MAX - 1 <= number <= _INT64_MAX else None


class _Token(Enum):
    """Kinds of words in a selector; identifiers are everything that is not an operator."""

    END = ""
    CLOSE = ")"
    COMMA = ","
    NOT = "!"
    DOUBLE_EQUALS = "=="
    EQUALS = "="
    GREATER = ">"
    IDENTIFIER = "identifier"
    IN = "in"
    LESS = "<"
    NOT_EQUALS = "!="
    NOT_IN = "notin"
    OPEN = "("


_LITERALS = {token.value: token for token in _Token if token not in (_Token.END, _Token.IDENTIFIER)}
_BLANK = " \t\r\n"
_SPECIAL = "=!(),><"
_OPERATORS = {
    _Token.IN: Operator.IN,
    _Token.EQUALS: Operator.EQUALS,
    _Token.DOUBLE_EQUALS: Operator.DOUBLE_EQUALS,
    _Token.GREATER: Operator.GREATER_THAN,
    _Token.LESS: Operator.LESS_THAN,
    _Token.NOT_IN: Operator.NOT_IN,
    _Token.NOT_EQUALS: Operator.NOT_EQUALS,
}


def _tokens(text: str) -> list[tuple[_Token, str]]:
    """The words of a selector, ended by END. A NUL ends the text, as it does upstream."""
    text = text.partition("\0")[0]
    found: list[tuple[_Token, str]] = []
    at = 0
    while True:
        while at < len(text) and text[at] in _BLANK:
            at += 1
        if at >= len(text):
            found.append((_Token.END, ""))
            return found
        start = at
        if text[at] in _SPECIAL:
            literal = text[at : at + 2] if text[at : at + 2] in _LITERALS else text[at]
            at += len(literal)
            found.append((_LITERALS[literal], literal))
            continue
        while at < len(text) and text[at] not in _SPECIAL and text[at] not in _BLANK:
            at += 1
        literal = text[start:at]
        found.append((_LITERALS.get(literal, _Token.IDENTIFIER), literal))


class _Parser:
    """Recursive descent over the words of one selector."""

    def __init__(self, text: str) -> None:
        self._words = _tokens(text)
        self._at = 0

    def parse(self) -> list[Requirement]:
        found: list[Requirement] = []
        while True:
            token, literal = self._look()
            if token is _Token.END:
                return found
            if token not in (_Token.IDENTIFIER, _Token.NOT):
                _fail(literal, "!, identifier, or 'end of string'")
            try:
                found.append(self._requirement())
            except SelectorError as error:
                raise SelectorError(f"unable to parse requirement: {error}") from None
            token, literal = self._take()
            if token is _Token.END:
                return found
            if token is not _Token.COMMA:
                _fail(literal, "',' or 'end of string'")
            token, literal = self._look()
            if token not in (_Token.IDENTIFIER, _Token.NOT):
                _fail(literal, "identifier after ','")

    def _look(self) -> tuple[_Token, str]:
        token, literal = self._words[self._at]
        return (_Token.IDENTIFIER if token in (_Token.IN, _Token.NOT_IN) else token), literal

    def _take(self) -> tuple[_Token, str]:
        word = self._look()
        self._at += 1
        return word

    def _requirement(self) -> Requirement:
        token, literal = self._take()
        absent = token is _Token.NOT
        if absent:
            token, literal = self._take()
        if token is not _Token.IDENTIFIER:
            _fail(literal, "identifier")
        key = literal
        if complaints := names.qualified_name(key):
            raise SelectorError(str(fields.invalid(_NO_PATH, key, "; ".join(complaints))))
        if absent:
            return requirement(key, Operator.DOES_NOT_EXIST)
        if self._look()[0] in (_Token.END, _Token.COMMA):
            return requirement(key, Operator.EXISTS)
        token, literal = self._words[self._at]
        self._at += 1
        operator = _OPERATORS.get(token)
        if operator is None:
            _fail(literal, ", ".join(_BINARY))
        values = self._values() if operator in (Operator.IN, Operator.NOT_IN) else {self._value()}
        return requirement(key, operator, sorted(values))

    def _value(self) -> str:
        if self._look()[0] in (_Token.END, _Token.COMMA):
            return ""
        token, literal = self._take()
        if token is not _Token.IDENTIFIER:
            _fail(literal, "identifier")
        return literal

    def _values(self) -> set[str]:
        token, literal = self._take()
        if token is not _Token.OPEN:
            raise SelectorError(f"found '{literal}' expected: '('")
        token, literal = self._look()
        if token is _Token.CLOSE:
            self._take()
            return {""}
        if token not in (_Token.IDENTIFIER, _Token.COMMA):
            _fail(literal, "',', ')' or identifier")
        values = self._listed()
        if self._take()[0] is not _Token.CLOSE:
            _fail(literal, "')'")
        return values

    def _listed(self) -> set[str]:
        """Identifiers between commas; each may be empty."""
        values: set[str] = set()
        while True:
            token, literal = self._take()
            following, following_literal = self._words[self._at] if self._at < len(self._words) else (_Token.END, "")
            if following in (_Token.IN, _Token.NOT_IN):
                following = _Token.IDENTIFIER
            if token is _Token.IDENTIFIER:
                values.add(literal)
                if following is _Token.CLOSE:
                    return values
                if following is not _Token.COMMA:
                    _fail(following_literal, "',' or ')'")
            elif token is _Token.COMMA:
                if not values:
                    values.add("")
                if following is _Token.CLOSE:
                    values.add("")
                    return values
                if following is _Token.COMMA:
                    values.add("")
            else:
                _fail(literal, "',', or identifier")


def _fail(found: str, expected: str) -> NoReturn:
    raise SelectorError(f"found '{found}', expected: {expected}")
