"""Termination messages, from the file and from the log."""

from pathlib import Path

import pytest

from agent.runtime.logs import remove_container_logs, remove_pod_logs
from agent.runtime.observing import observed_container
from agent.runtime.termination import log_tail, termination_message
from proto import cri_pb2 as cri

STAMP = "2026-01-01T00:00:00.000000000Z"


def test_the_file_is_cut_at_its_limit(tmp_path: Path) -> None:
    file = tmp_path / "words"
    file.write_bytes(b"x" * 5000)
    assert termination_message(str(file), "", from_log=False) == "x" * 4096
    file.write_bytes(b"caf\xe9")
    assert termination_message(str(file), "", from_log=False) == "caf\ufffd"


def test_the_log_stands_in_for_an_empty_file(tmp_path: Path) -> None:
    file, log = tmp_path / "words", tmp_path / "0.log"
    file.touch()
    log.write_text(f"{STAMP} stdout F out\n{STAMP} stderr P par\n{STAMP} stderr F tial\n")
    assert termination_message(str(file), str(log), from_log=True) == "out\npartial\n"
    assert termination_message(str(file), str(log), from_log=False) == ""
    file.write_text("words")
    assert termination_message(str(file), str(log), from_log=True) == "words"


def test_the_log_is_cut_at_lines_and_bytes(tmp_path: Path) -> None:
    log = tmp_path / "0.log"
    log.write_text("".join(f"{STAMP} stdout F {n}\n" for n in range(100)))
    assert log_tail(str(log)) == "".join(f"{n}\n" for n in range(20, 100))
    log.write_text("".join(f"{STAMP} stdout F {'y' * 100}\n" for _ in range(50)))
    assert len(log_tail(str(log))) == 2048
    log.write_text("".join(f"{STAMP} stdout F {'z' * 5000}\n" for _ in range(50)))
    assert log_tail(str(log)) == "z" * 2047 + "\n"


def test_docker_records_are_read_too(tmp_path: Path) -> None:
    log = tmp_path / "0.log"
    log.write_text('{"log":"one\\n","stream":"stdout"}\n{"log":"two","stream":"stderr"}\n')
    assert log_tail(str(log)) == "one\ntwo"


def test_what_is_not_there_says_nothing_and_what_cannot_be_read_says_so(tmp_path: Path) -> None:
    assert termination_message(str(tmp_path / "none"), str(tmp_path / "none.log"), from_log=True) == ""
    assert "Error on reading termination log" in termination_message(str(tmp_path), "", from_log=False)


def test_removing_logs_takes_rotated_ones_along_and_no_others(tmp_path: Path) -> None:
    folder = tmp_path / "ns_web_uid" / "app"
    folder.mkdir(parents=True)
    for name in ("0.log", "0.log.20260101-000000", "0.log.20260101-000000.gz", "1.log", "10.log"):
        (folder / name).touch()
    remove_container_logs(str(folder / "0.log"))
    assert sorted(one.name for one in folder.iterdir()) == ["1.log", "10.log"]
    remove_container_logs("")
    remove_container_logs(str(tmp_path / "gone/0.log"))
    remove_pod_logs(tmp_path, folder.parent)
    remove_pod_logs(tmp_path, folder.parent)
    assert not folder.parent.exists()
    with pytest.raises(ValueError, match="not below"):
        remove_pod_logs(tmp_path, tmp_path.parent)


def test_they_follow_what_the_runtime_says_of_the_end() -> None:
    status = cri.ContainerStatus(state=cri.CONTAINER_EXITED, message="killed by the node")
    assert observed_container(cri.Container(), status, "that was it").message == "killed by the node: that was it"
    assert observed_container(cri.Container(), status, "").message == "killed by the node"
    status.message = ""
    assert observed_container(cri.Container(), status, "that was it").message == "that was it"
