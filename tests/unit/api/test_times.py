"""Times and durations: canonical text, and Go's words for what is none."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.times import MICROSECOND_LAYOUT, SECOND_LAYOUT, MicroTime, Time, TimeError, format_duration, parse_duration


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("2024-01-31T12:00:00Z", "2024-01-31T12:00:00Z"),
        ("2024-01-31T12:00:00.987654321Z", "2024-01-31T12:00:00Z"),
        ("2024-01-01T00:30:00+02:00", "2023-12-31T22:30:00Z"),
        ("2024-02-29T23:59:59-00:01", "2024-03-01T00:00:59Z"),
        ("0999-01-01T00:00:00Z", "0999-01-01T00:00:00Z"),
    ],
)
def test_time_is_kept_in_utc_to_the_second(text: str, canonical: str) -> None:
    assert Time(text) == canonical


def test_micro_time_keeps_six_decimals() -> None:
    assert MicroTime("2024-01-31T12:00:00.100000+01:00") == "2024-01-31T11:00:00.100000Z"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("yesterday", f'parsing time "yesterday" as "{SECOND_LAYOUT}": cannot parse "yesterday" as "2006"'),
        ("2024-01-31", f'parsing time "2024-01-31" as "{SECOND_LAYOUT}": cannot parse "" as "T"'),
        (
            "2024-01-31 12:00:00Z",
            f'parsing time "2024-01-31 12:00:00Z" as "{SECOND_LAYOUT}": cannot parse " 12:00:00Z" as "T"',
        ),
        (
            "2024-01-31T12:00:00",
            f'parsing time "2024-01-31T12:00:00" as "{SECOND_LAYOUT}": cannot parse "" as "Z07:00"',
        ),
        ("2024-13-31T12:00:00Z", 'parsing time "2024-13-31T12:00:00Z": month out of range'),
        ("2023-02-29T12:00:00Z", 'parsing time "2023-02-29T12:00:00Z": day out of range'),
        ("2024-01-31T24:00:00Z", 'parsing time "2024-01-31T24:00:00Z": hour out of range'),
        ("2024-01-31T12:00:60Z", 'parsing time "2024-01-31T12:00:60Z": second out of range'),
        ("2024-01-31T12:00:00Zx", 'parsing time "2024-01-31T12:00:00Zx": extra text: "x"'),
    ],
)
def test_refused_times(text: str, message: str) -> None:
    with pytest.raises(TimeError) as refused:
        Time(text)
    assert str(refused.value) == message


def test_micro_time_without_decimals_is_refused() -> None:
    with pytest.raises(TimeError) as refused:
        MicroTime("2024-01-31T12:00:00Z")
    assert str(refused.value) == (
        f'parsing time "2024-01-31T12:00:00Z" as "{MICROSECOND_LAYOUT}": cannot parse "Z" as ".000000"'
    )


@given(st.floats(-62_000_000_000, 250_000_000_000))
def test_time_is_the_second_the_timestamp_falls_in(seconds: float) -> None:
    assert Time.from_timestamp(seconds).timestamp() == seconds // 1
    assert Time(Time.from_timestamp(seconds)) == Time.from_timestamp(seconds)


@given(st.integers(0, 4_000_000_000), st.integers(0, 4_000_000_000))
def test_stamps_sort_as_the_times_they_mean(first: int, second: int) -> None:
    assert (Time.from_timestamp(first) < Time.from_timestamp(second)) is (first < second)
    assert (MicroTime.from_timestamp(first) < MicroTime.from_timestamp(second)) is (first < second)


@pytest.mark.parametrize(
    ("text", "nanoseconds", "canonical"),
    [
        ("0", 0, "0s"),
        ("1h2m3s", 3723 * 10**9, "1h2m3s"),
        ("1.5h", 5400 * 10**9, "1h30m0s"),
        ("90s", 90 * 10**9, "1m30s"),
        ("1500ms", 1_500_000_000, "1.5s"),
        ("1.5ms", 1_500_000, "1.5ms"),
        ("10us", 10_000, "10µs"),
        ("1ns", 1, "1ns"),
        ("-2m", -120 * 10**9, "-2m0s"),
        ("+.5s", 500_000_000, "500ms"),
    ],
)
def test_durations(text: str, nanoseconds: int, canonical: str) -> None:
    assert parse_duration(text) == nanoseconds
    assert format_duration(nanoseconds) == canonical


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", 'time: invalid duration ""'),
        ("3", 'time: missing unit in duration "3"'),
        ("3x", 'time: unknown unit "x" in duration "3x"'),
        ("s", 'time: invalid duration "s"'),
        ("9999999h", 'time: invalid duration "9999999h"'),
    ],
)
def test_refused_durations(text: str, message: str) -> None:
    with pytest.raises(TimeError) as refused:
        parse_duration(text)
    assert str(refused.value) == message


@given(st.integers(-(2**62), 2**62))
def test_duration_text_reads_back(nanoseconds: int) -> None:
    assert parse_duration(format_duration(nanoseconds)) == nanoseconds
