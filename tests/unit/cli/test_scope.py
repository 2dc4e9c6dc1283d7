"""Leaving a login session by way of systemd."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli import scope


def test_the_request_names_every_property_with_its_type() -> None:
    """busctl takes a signature and then its values; a wrong count is refused only on a machine with systemd."""
    argv = scope.request("orlop-7.scope", 7)
    _, signature, *values = argv[argv.index("StartTransientUnit") :]
    assert signature == "ssa(sv)a(sa(sv))"
    unit, mode, count, *rest = values
    assert (unit, mode, rest[-1]) == ("orlop-7.scope", "fail", "0")
    properties = {}
    rest = rest[:-1]
    while rest:
        name, kind = rest[:2]
        size = 2 if kind == "au" else 1  # an array begins with its length
        properties[name] = rest[2 : 2 + size]
        rest = rest[2 + size :]
    assert len(properties) == int(count)
    assert properties["PIDs"] == ["1", "7"]
    assert properties["TasksMax"] == [str(2**64 - 1)]


def test_without_systemd_there_is_nothing_to_leave(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scope, "SYSTEMD", tmp_path / "none")
    scope.leave_session("orlop-7")


def test_a_systemd_that_cannot_be_asked_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scope, "SYSTEMD", tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(scope.ScopeError, match=r"start orlop-7\.scope"):
        scope.leave_session("orlop-7")
