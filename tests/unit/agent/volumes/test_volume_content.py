"""The files of volumes made of objects: names, bytes, modes, and upstream's words when something is missing."""

from typing import Any

import pytest

from agent.volumes.content import (
    FileContent,
    config_map_files,
    downward_files,
    secret_files,
    together,
    token_file,
)
from agent.volumes.host import SetUpError, failure
from api import core_v1 as core
from api.codec import from_builtins
from api.quantity import Quantity
from tests.unit.agent.pod_builders import pod

CONFIG = core.ConfigMap(data={"a.conf": "x = 1\n", "empty": ""}, binary_data={"blob": b"\x00\xff"})
SECRET = core.Secret(data={"user": b"me", "password": b"s3cret"})


def items(*pairs: tuple[str, str] | tuple[str, str, int]) -> list[core.KeyToPath]:
    return [core.KeyToPath(key=one[0], path=one[1], mode=one[2] if len(one) == 3 else None) for one in pairs]


def test_a_config_map_shows_every_key_text_and_binary() -> None:
    assert config_map_files(CONFIG, "c", [], 0o640, optional=False) == {
        "a.conf": FileContent(b"x = 1\n", 0o640),
        "empty": FileContent(b"", 0o640),
        "blob": FileContent(b"\x00\xff", 0o640),
    }


def test_items_choose_keys_and_say_where_they_go_and_with_which_mode() -> None:
    wanted = items(("user", "login/name"), ("password", "login/word", 0o400))
    assert secret_files(SECRET, "s", wanted, 0o644, optional=False) == {
        "login/name": FileContent(b"me", 0o644),
        "login/word": FileContent(b"s3cret", 0o400),
    }


def test_a_mode_of_zero_is_a_mode() -> None:
    assert secret_files(SECRET, "s", items(("user", "u", 0)), 0o644, optional=False)["u"].mode == 0


@pytest.mark.parametrize(
    ("files", "complaint"),
    [
        (lambda: config_map_files(None, "c", [], 0o644, optional=False), 'configmap "c" not found'),
        (lambda: secret_files(None, "s", [], 0o644, optional=False), 'secret "s" not found'),
        (
            lambda: config_map_files(CONFIG, "c", items(("nope", "n")), 0o644, optional=False),
            "configmap references non-existent config key: nope",
        ),
        (
            lambda: secret_files(SECRET, "s", items(("nope", "n")), 0o644, optional=False),
            "references non-existent secret key: nope",
        ),
    ],
)
def test_what_is_missing_is_told_in_upstreams_words(files: Any, complaint: str) -> None:
    with pytest.raises(SetUpError) as raised:
        files()
    assert str(raised.value) == complaint
    assert failure("vol", raised.value) == f'MountVolume.SetUp failed for volume "vol" : {complaint}'


def test_what_is_missing_but_optional_is_no_file() -> None:
    assert config_map_files(None, "c", [], 0o644, optional=True) == {}
    assert secret_files(None, "s", items(("user", "u")), 0o644, optional=True) == {}
    assert list(secret_files(SECRET, "s", items(("nope", "n"), ("user", "u")), 0o644, optional=True)) == ["u"]


def downward(*entries: dict[str, Any]) -> list[core.DownwardAPIVolumeFile]:
    return [from_builtins(entry, core.DownwardAPIVolumeFile) for entry in entries]


def test_a_pod_reads_about_itself() -> None:
    one = pod({"name": "app", "resources": {"limits": {"memory": "64Mi"}}})
    one.metadata.labels = {"b": 'say "hi"', "a": "1"}
    wanted = downward(
        {"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}},
        {"path": "who/name", "fieldRef": {"fieldPath": "metadata.name"}, "mode": 0o400},
        {"path": "mem", "resourceFieldRef": {"containerName": "app", "resource": "limits.memory", "divisor": "1Mi"}},
        {"path": "cpu", "resourceFieldRef": {"containerName": "app", "resource": "limits.cpu"}},
    )
    found = downward_files(one, wanted, 0o644, host_ips=["192.0.2.1"], allocatable={"cpu": Quantity(2)})
    assert found == {
        "labels": FileContent(b'a="1"\nb="say \\"hi\\""', 0o644),
        "who/name": FileContent(b"web", 0o400),
        "mem": FileContent(b"64", 0o644),
        "cpu": FileContent(b"2", 0o644),  # no limit of its own: what the node has to give
    }


def test_all_that_a_pod_cannot_be_told_is_told_at_once() -> None:
    wanted = downward(
        {"path": "a", "resourceFieldRef": {"containerName": "ghost", "resource": "limits.cpu"}},
        {"path": "b", "fieldRef": {"fieldPath": "spec.nonsense"}},
    )
    with pytest.raises(SetUpError) as raised:
        downward_files(pod(), wanted, 0o644, host_ips=[], allocatable={})
    assert str(raised.value) == "[container ghost not found, unsupported fieldPath: spec.nonsense]"


def test_one_problem_stands_alone_and_the_same_one_once() -> None:
    assert together(["a"]) == "a"
    assert together(["a", "a"]) == "a"
    assert together(["a", "b", "a"]) == "[a, b]"


@pytest.mark.parametrize(
    ("security", "containers", "mode", "owner"),
    [
        ({}, [{}], 0o644, None),
        ({"fsGroup": 2000}, [{}], 0o600, None),
        ({"runAsUser": 1000}, [{}, {}], 0o600, 1000),
        ({"runAsUser": 1000, "fsGroup": 2000}, [{}], 0o600, 1000),
        ({"runAsUser": 1000}, [{}, {"runAsUser": 1001}], 0o644, None),
        ({}, [{"runAsUser": 7}, {"runAsUser": 7}], 0o600, 7),
        ({}, [{"runAsUser": 7}, {}], 0o644, None),
    ],
)
def test_a_token_belongs_to_whom_the_pod_runs_as(
    security: dict[str, int], containers: list[dict[str, int]], mode: int, owner: int | None
) -> None:
    made = [{"name": f"c{number}", "securityContext": each} for number, each in enumerate(containers)]
    files = token_file("token", "t0k", 0o644, pod(*made, securityContext=security))
    assert files == {"token": FileContent(b"t0k", mode, owner)}
