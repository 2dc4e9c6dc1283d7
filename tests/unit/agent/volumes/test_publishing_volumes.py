"""Files that change all at once, whatever happens on the way."""

import os
import stat
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agent.volumes import publishing
from agent.volumes.content import FileContent, Files
from agent.volumes.publishing import publish

NOW = 1_767_225_600.0
OLD: Files = {"a": FileContent(b"old a", 0o644), "d/b": FileContent(b"old b", 0o600), "gone": FileContent(b"", 0o644)}
NEW: Files = {"a": FileContent(b"new a", 0o644), "d/b": FileContent(b"old b", 0o400), "d/e/f": FileContent(b"f", 0o644)}


def shown(folder: Path) -> dict[str, bytes]:
    """What a reader finds who knows nothing of the layout."""
    found = {}
    for root, _folders, names in os.walk(folder, followlinks=True):
        for name in names:
            path = Path(root, name)
            relative = path.relative_to(folder)
            if not relative.parts[0].startswith("..") and path.exists():
                found[str(relative)] = path.read_bytes()
    return found


def wanted(files: Files) -> dict[str, bytes]:
    return {path: file.data for path, file in files.items()}


def dated(folder: Path) -> list[str]:
    return [each.name for each in folder.iterdir() if each.name.startswith("..2")]


def test_files_are_shown_with_their_modes_and_missing_folders(tmp_path: Path) -> None:
    old_mask = os.umask(0o077)
    try:
        assert publish(tmp_path, NEW, NOW) is True
    finally:
        os.umask(old_mask)
    assert shown(tmp_path) == wanted(NEW)
    assert stat.S_IMODE((tmp_path / "d/b").stat().st_mode) == 0o400
    assert stat.S_IMODE((tmp_path / "d").stat().st_mode) == 0o755
    assert stat.S_IMODE((tmp_path / "d/e").stat().st_mode) == 0o755
    assert stat.S_IMODE((tmp_path / "..data/").stat().st_mode) == 0o755
    assert os.readlink(tmp_path / "a") == "..data/a"
    assert os.readlink(tmp_path / "..data").startswith("..2026_01_01_00_00_00.")


def test_nothing_is_touched_while_nothing_changes(tmp_path: Path) -> None:
    publish(tmp_path, OLD, NOW)
    before = {each.name: each.lstat().st_ctime_ns for each in tmp_path.iterdir()}
    assert publish(tmp_path, OLD, NOW + 5) is False
    assert {each.name: each.lstat().st_ctime_ns for each in tmp_path.iterdir()} == before


def test_a_change_takes_keys_away_and_leaves_one_set(tmp_path: Path) -> None:
    publish(tmp_path, OLD, NOW)
    assert publish(tmp_path, NEW, NOW + 1) is True
    assert shown(tmp_path) == wanted(NEW)
    assert not os.path.lexists(tmp_path / "gone")
    assert len(dated(tmp_path)) == 1


def test_no_files_at_all_are_a_set_too(tmp_path: Path) -> None:
    publish(tmp_path, OLD, NOW)
    publish(tmp_path, {}, NOW + 1)
    assert shown(tmp_path) == {}
    assert publish(tmp_path, {}, NOW + 2) is False
    assert (tmp_path / "..data").is_dir()


def test_same_bytes_with_another_mode_are_a_change(tmp_path: Path) -> None:
    publish(tmp_path, {"a": FileContent(b"x", 0o644)}, NOW)
    assert publish(tmp_path, {"a": FileContent(b"x", 0o400)}, NOW) is True
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o400


def test_a_reader_who_holds_the_old_set_keeps_it_whole(tmp_path: Path) -> None:
    publish(tmp_path, OLD, NOW)
    with (tmp_path / "a").open("rb") as held:
        publish(tmp_path, NEW, NOW + 1)
        assert held.read() == b"old a"


def test_a_group_may_read_all_of_it_from_the_start(tmp_path: Path) -> None:
    group = os.getgid()
    publish(tmp_path, OLD, NOW, group)
    assert stat.S_IMODE((tmp_path / "d/b").stat().st_mode) == 0o640
    assert stat.S_IMODE((tmp_path / "d").stat().st_mode) == 0o2755
    assert (tmp_path / "a").stat().st_gid == group
    assert publish(tmp_path, OLD, NOW, group) is False


def test_what_was_written_for_nobodys_group_is_written_anew_for_one(tmp_path: Path) -> None:
    publish(tmp_path, {"a": FileContent(b"x", 0o600)}, NOW)
    assert publish(tmp_path, {"a": FileContent(b"x", 0o600)}, NOW, os.getgid()) is True
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o640


def test_an_owner_is_given(tmp_path: Path) -> None:
    files = {"token": FileContent(b"t", 0o600, os.getuid())}
    assert publish(tmp_path, files, NOW) is True
    assert publish(tmp_path, files, NOW) is False


@pytest.mark.parametrize("damage", ["truncated", "missing", "extra", "no set", "dangling"])
def test_damage_is_repaired(tmp_path: Path, damage: str) -> None:
    publish(tmp_path, OLD, NOW)
    current = tmp_path / os.readlink(tmp_path / "..data")
    match damage:
        case "truncated":
            (current / "a").write_bytes(b"")
        case "missing":
            (current / "a").unlink()
        case "extra":
            (current / "more").write_bytes(b"")
        case "no set":
            (tmp_path / "..data").unlink()
        case "dangling":
            (tmp_path / "..data").unlink()
            (tmp_path / "..data").symlink_to("..nowhere")
    assert publish(tmp_path, OLD, NOW) is True
    assert shown(tmp_path) == wanted(OLD)


def test_strays_of_earlier_tries_are_cleared(tmp_path: Path) -> None:
    publish(tmp_path, OLD, NOW)
    (tmp_path / "..2020_01_01_00_00_00.dead").mkdir()
    (tmp_path / "..2020_01_01_00_00_00.dead" / "x").write_bytes(b"")
    (tmp_path / "..data_tmp").symlink_to("nowhere")
    (tmp_path / "..a.tmp").symlink_to("nowhere")
    publish(tmp_path, OLD, NOW)
    assert sorted(each.name for each in tmp_path.iterdir()) == sorted(
        ["..data", "a", "d", "gone", os.readlink(tmp_path / "..data")]
    )


class Died(BaseException):
    """The process is no more; nothing may catch it and tidy up."""


STEPS: tuple[tuple[Any, str], ...] = (
    (publishing.tempfile, "mkdtemp"),
    (publishing, "settle"),
    (publishing, "_write"),
    (Path, "symlink_to"),
    (Path, "rename"),
    (Path, "unlink"),
    (publishing.os, "unlink"),
    (publishing.os, "fchmod"),
    (publishing.shutil, "rmtree"),
)


def deaths(monkeypatch: pytest.MonkeyPatch, at: int) -> Callable[[], int]:
    """Die at the step number `at` (just before or just after it); returns how many steps there were."""
    count = 0

    def step(real: Callable[..., Any]) -> Callable[..., Any]:
        def stepped(*arguments: Any, **named: Any) -> Any:
            nonlocal count
            count += 1
            if count == at:
                raise Died
            result = real(*arguments, **named)
            count += 1
            if count == at:
                raise Died
            return result

        return stepped

    for owner, name in STEPS:
        monkeypatch.setattr(owner, name, step(getattr(owner, name)))
    return lambda: count


DEATHS = range(1, 70)


@pytest.mark.parametrize("at", DEATHS)
def test_dying_at_any_step_shows_one_set_and_the_next_try_heals(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    publish(tmp_path, OLD, NOW)
    with monkeypatch.context() as patched:
        steps = deaths(patched, at)
        try:
            publish(tmp_path, NEW, NOW + 1)
        except Died:
            pass
        else:
            assert steps() < at, "a step was missed"
    # Links to what is new may be missing and those to what is gone may dangle, but what can be read is of one set.
    content = shown(tmp_path)
    assert content.items() <= wanted(OLD).items() or content.items() <= wanted(NEW).items()
    assert {"a", "d/b"} <= content.keys()
    publish(tmp_path, NEW, NOW + 2)
    assert shown(tmp_path) == wanted(NEW)
    assert len(dated(tmp_path)) == 1


def test_the_deaths_reach_the_last_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    publish(tmp_path, OLD, NOW)
    with monkeypatch.context() as patched:
        steps = deaths(patched, 10_000)
        publish(tmp_path, NEW, NOW + 1)
    assert 20 < steps() < max(DEATHS)


def test_readers_never_see_a_mixture(tmp_path: Path) -> None:
    """A reader who goes through `..data` once, as programs that reload do, finds both files of one generation."""

    def generation(number: int) -> Files:
        return {name: FileContent(str(number).encode() * 50, 0o644) for name in ("x", "y")}

    publish(tmp_path, generation(0), NOW)
    stop = threading.Event()
    mixtures: list[tuple[bytes, bytes]] = []
    rounds = 0

    def read() -> None:
        nonlocal rounds
        while not stop.is_set():
            try:
                folder = os.open(tmp_path / "..data", os.O_RDONLY | os.O_DIRECTORY)
            except FileNotFoundError:
                if not os.path.lexists(tmp_path / "..data"):  # the link itself is always there
                    mixtures.append((b"", b""))
                continue  # where it led when it was read is gone; the reader goes to it again
            try:
                both = []
                for name in ("x", "y"):
                    descriptor = os.open(name, os.O_RDONLY, dir_fd=folder)
                    both.append(os.read(descriptor, 1000))
                    os.close(descriptor)
            except FileNotFoundError:
                continue  # this set was replaced and is gone; the reader goes to `..data` again
            finally:
                os.close(folder)
            rounds += 1
            if both[0] != both[1] or len(both[0]) < 50:
                mixtures.append((both[0], both[1]))

    reader = threading.Thread(target=read)
    reader.start()
    try:
        for number in range(1, 100):
            publish(tmp_path, generation(number), NOW + number)
    finally:
        stop.set()
        reader.join()
    assert mixtures == []
    assert rounds > 0
