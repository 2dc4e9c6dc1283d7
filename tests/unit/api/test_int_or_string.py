"""IntOrString: percentages of a total, in both roundings."""

import pytest

from api.int_or_string import percent, scaled


@pytest.mark.parametrize(
    ("value", "total", "up", "down"),
    [(3, 10, 3, 3), ("25%", 10, 3, 2), ("0%", 10, 0, 0), ("100%", 7, 7, 7), ("150%", 3, 5, 4)],
)
def test_scaled(value: int | str, total: int, up: int, down: int) -> None:
    assert scaled(value, total, round_up=True) == up
    assert scaled(value, total, round_up=False) == down


@pytest.mark.parametrize("value", ["http", "10", "%", "-1%", "1.5%", ""])
def test_other_text_is_no_percentage(value: str) -> None:
    assert percent(value) is None
    with pytest.raises(ValueError, match="string is not a percentage"):
        scaled(value, 10, round_up=True)
