"""Exact amounts of resources: ``500m``, ``128Mi``, ``1e3``. Parsing, arithmetic and canonical text as apimachinery's
resource.Quantity.

A quantity is an integer number of nano-units and a notation. Anything finer is rounded up, away from zero: whoever
asks for a little gets a little. Quantities are immutable, compare by amount alone (``1000m == 1``), and are cached by
text, because a cluster's pods repeat the same few.
"""

import re
from functools import lru_cache, total_ordering
from typing import Any, ClassVar, Self

from api.declarations import Definition

DECIMAL_SI = "DecimalSI"
BINARY_SI = "BinarySI"
DECIMAL_EXPONENT = "DecimalExponent"

FORMAT_ERROR = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
SUFFIX_ERROR = "unable to parse quantity's suffix"

_NANO = 10**9
_MAX_BINARY = 2**63 - 1

# Far beyond any amount, and small enough that no text makes the arithmetic expensive.
_MAX_EXPONENT = 999
_MAX_TEXT = 1024

_TEXT = re.compile(r"([+-]?)0*([0-9]*)(?:\.([0-9]*))?([eEinumkKMGTP]*[-+]?[0-9]*)", re.ASCII)
_EXPONENT = re.compile(r"[eE]([+-]?[0-9]+)", re.ASCII)

_DECIMAL_SUFFIXES = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY_SUFFIXES = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL_BY_EXPONENT = {exponent: suffix for suffix, exponent in _DECIMAL_SUFFIXES.items()}
_BINARY_BY_POWER = {exponent // 10: suffix for suffix, exponent in _BINARY_SUFFIXES.items()} | {0: ""}


class QuantityError(ValueError):
    """The text is no quantity; its message is upstream's."""


@total_ordering
class Quantity:
    """An exact amount; ``Quantity("100m")``, ``Quantity(3)``. Raises QuantityError for text that is none."""

    __slots__ = ("_text", "format", "nano")

    definition: ClassVar[Definition] = Definition("io.k8s.apimachinery.pkg.api.resource.Quantity", "string")

    nano: int
    format: str
    _text: str

    def __new__(cls, amount: "str | int | Quantity" = "0") -> Self:
        if isinstance(amount, cls):
            return amount
        quantity: Self = parse_quantity(str(amount))
        return quantity

    @classmethod
    def from_nano(cls, nano: int, notation: str = DECIMAL_SI) -> Self:
        """An amount given in 1/10⁹ units."""
        quantity = object.__new__(cls)
        object.__setattr__(quantity, "nano", nano)
        object.__setattr__(quantity, "format", notation)
        object.__setattr__(quantity, "_text", "")
        return quantity

    @classmethod
    def from_milli(cls, milli: int, notation: str = DECIMAL_SI) -> Self:
        """An amount given in 1/1000 units (millicores)."""
        return cls.from_nano(milli * 10**6, notation)

    @classmethod
    def from_value(cls, value: int, notation: str = DECIMAL_SI) -> Self:
        """An amount given in whole units (bytes, cores)."""
        return cls.from_nano(value * _NANO, notation)

    def value(self) -> int:
        """Whole units, rounded away from zero."""
        return _divide_away(self.nano, _NANO)

    def milli(self) -> int:
        """Thousandths, rounded away from zero."""
        return _divide_away(self.nano, 10**6)

    def __float__(self) -> float:
        return self.nano / _NANO

    def __add__(self, other: "Quantity") -> "Quantity":
        return Quantity.from_nano(self.nano + other.nano, self.format if self.nano else other.format)

    def __sub__(self, other: "Quantity") -> "Quantity":
        return Quantity.from_nano(self.nano - other.nano, self.format if self.nano else other.format)

    def __mul__(self, factor: int) -> "Quantity":
        return Quantity.from_nano(self.nano * factor, self.format)

    def __neg__(self) -> "Quantity":
        return Quantity.from_nano(-self.nano, self.format)

    def __bool__(self) -> bool:
        return self.nano != 0

    def __eq__(self, other: object) -> bool:
        return self.nano == other.nano if isinstance(other, Quantity) else NotImplemented

    def __lt__(self, other: "Quantity") -> bool:
        return self.nano < other.nano

    def __hash__(self) -> int:
        return hash(self.nano)

    def __str__(self) -> str:
        text = self._text
        if not text:
            text = _canonical(self.nano, self.format)
            object.__setattr__(self, "_text", text)
        return text

    def __repr__(self) -> str:
        return f"Quantity({str(self)!r})"

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("a quantity is immutable")

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return Quantity, (str(self),)


@lru_cache(maxsize=8192)
def parse_quantity(text: str) -> Any:
    """The Quantity of a text; what ``Quantity(text)`` calls. Raises QuantityError."""
    if not text or len(text) > _MAX_TEXT:
        raise QuantityError(FORMAT_ERROR)
    match = _TEXT.fullmatch(text)
    if match is None:
        raise QuantityError(FORMAT_ERROR)
    sign, whole, fraction, suffix = match[1], match[2] or "0", match[3] or "", match[4]
    digits = int(whole + fraction)
    if suffix in _BINARY_SUFFIXES:
        power = _BINARY_SUFFIXES[suffix]
        notation = BINARY_SI
        nano = _scaled(digits << power, 9 - len(fraction))
        if nano > _MAX_BINARY * _NANO:
            nano = _MAX_BINARY * _NANO
        if 0 < nano < _NANO:
            notation = DECIMAL_SI
        keep = not fraction and digits & 7 != 0 and 14 - len(whole) - power * 3 // 10 >= 0
    else:
        exponent, notation = _decimal_exponent(suffix)
        nano = _scaled(digits, exponent + 9 - len(fraction))
        scale = exponent - len(fraction)
        shifted = whole + fraction
        keep = (
            len(shifted) <= 18
            and scale >= -9
            and scale % 3 == 0
            and not shifted.endswith("000")
            and not shifted.startswith("0")
        )
    quantity = Quantity.from_nano(-nano if sign == "-" else nano, notation)
    if keep:
        # Upstream keeps such text as it is rather than computing its canonical form anew: "1.500" stays "1.500".
        object.__setattr__(quantity, "_text", text)
    return quantity


def _decimal_exponent(suffix: str) -> tuple[int, str]:
    if suffix in _DECIMAL_SUFFIXES:
        return _DECIMAL_SUFFIXES[suffix], DECIMAL_SI
    match = _EXPONENT.fullmatch(suffix)
    if match is None or len(match[1]) > 10 or int(match[1]) > _MAX_EXPONENT:
        raise QuantityError(SUFFIX_ERROR)
    return max(int(match[1]), -_MAX_TEXT - _MAX_EXPONENT), DECIMAL_EXPONENT


def _scaled(digits: int, exponent: int) -> int:
    """``digits`` × 10^``exponent``, rounded up."""
    factor: int = 10 ** abs(exponent)
    return digits * factor if exponent >= 0 else -(-digits // factor)


def _divide_away(number: int, divisor: int) -> int:
    return -(-number // divisor) if number >= 0 else number // divisor


def _canonical(nano: int, notation: str) -> str:
    """No fraction, the largest suffix that keeps the number whole; binary only for whole numbers of at least 1024."""
    if nano == 0:
        return "0"
    sign, nano = ("-", -nano) if nano < 0 else ("", nano)
    if notation == BINARY_SI and nano % _NANO == 0 and nano >= 1024 * _NANO:
        number, power = nano // _NANO, 0
        while number % 1024 == 0 and power < 6:
            number, power = number // 1024, power + 1
        return f"{sign}{number}{_BINARY_BY_POWER[power]}"
    exponent = -9
    while nano % 1000 == 0:
        nano, exponent = nano // 1000, exponent + 3
    if notation == DECIMAL_EXPONENT or exponent not in _DECIMAL_BY_EXPONENT:
        return f"{sign}{nano}e{exponent}" if exponent else f"{sign}{nano}"
    return f"{sign}{nano}{_DECIMAL_BY_EXPONENT[exponent]}"
