"""The runner calls chains as the specification says, remembers results, and survives what plugins do."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from cni.client.attachments import Attachment, AttachmentCache
from cni.client.execution import ProgramExecutor, interpret
from cni.client.networks import Network, load_network, parse_network
from cni.client.runner import Runner
from cni.errors import CniError, InvalidConfiguration, IOFailure, TryAgainLater
from cni.fake import FakeExecutor, FakePlugin

POD = Attachment(
    "c1", "/run/netns/one", "eth0", {"K8S_POD_NAME": "web"}, {"portMappings": [{"hostPort": 1}], "mac": "x"}
)


def chain(*types: str, **fields: Any) -> Network:
    plugins = [{"type": kind, "capabilities": {"portMappings": kind == "portmap"}} for kind in types]
    return parse_network(json.dumps({"name": "net", "cniVersion": "1.1.0", "plugins": plugins, **fields}))


def numbered(name: str) -> FakePlugin:
    def result(config: dict[str, Any]) -> dict[str, Any]:
        before = config.get("prevResult") or {"cniVersion": config["cniVersion"], "interfaces": []}
        return {**before, "interfaces": [*before["interfaces"], {"name": name}]}

    return FakePlugin(result)


class Lab:
    def __init__(self, folder: Path, *names: str) -> None:
        self.executor = FakeExecutor({name: numbered(name) for name in names})
        self.cache = AttachmentCache(str(folder))
        self.runner = Runner(self.executor, self.cache, deadline=5)

    def called(self, command: str) -> list[str]:
        return [plugin for plugin, verb, _, _ in self.executor.calls if verb == command]

    def configs(self, command: str) -> list[dict[str, Any]]:
        return [config for _, verb, _, config in self.executor.calls if verb == command]


async def until_called(lab: Lab, command: str) -> None:
    for _ in range(1000):
        if lab.called(command):
            return
        await asyncio.sleep(0)
    raise AssertionError(f"{command} was never called")


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return Lab(tmp_path, "bridge", "portmap", "tuning")


async def test_add_goes_forward_and_each_plugin_gets_the_result_before(lab: Lab) -> None:
    result = await lab.runner.add(chain("bridge", "portmap", "tuning"), POD)
    assert lab.called("ADD") == ["bridge", "portmap", "tuning"]
    assert [item["name"] for item in result["interfaces"]] == ["bridge", "portmap", "tuning"]
    first, second, third = lab.configs("ADD")
    assert "prevResult" not in first
    assert [len(config["prevResult"]["interfaces"]) for config in (second, third)] == [1, 2]


async def test_capabilities_go_to_the_plugins_that_declare_them(lab: Lab) -> None:
    await lab.runner.add(chain("bridge", "portmap"), POD)
    bridge, portmap = lab.configs("ADD")
    assert "runtimeConfig" not in bridge
    assert portmap["runtimeConfig"] == {"portMappings": [{"hostPort": 1}]}
    assert "capabilities" not in portmap
    assert lab.executor.calls[0][2]["CNI_ARGS"] == "K8S_POD_NAME=web"


async def test_del_goes_backward_with_the_final_result_even_after_a_restart(lab: Lab) -> None:
    network = chain("bridge", "portmap")
    result = await lab.runner.add(network, POD)
    await Runner(lab.executor, lab.cache).delete(network, POD)
    assert lab.called("DEL") == ["portmap", "bridge"]
    assert all(config["prevResult"] == result for config in lab.configs("DEL"))
    await lab.runner.delete(network, POD)
    assert "prevResult" not in lab.configs("DEL")[-1]


async def test_del_that_fails_keeps_the_result_for_the_next_try(lab: Lab) -> None:
    network = chain("bridge", "portmap")
    await lab.runner.add(network, POD)
    lab.executor.plugins["bridge"].failures["DEL"] = TryAgainLater("busy")
    with pytest.raises(TryAgainLater):
        await lab.runner.delete(network, POD)
    lab.executor.plugins["bridge"].failures.clear()
    await lab.runner.delete(network, POD)
    assert "prevResult" in lab.configs("DEL")[-1]


async def test_a_damaged_record_is_set_aside_and_del_goes_on_without_it(lab: Lab, tmp_path: Path) -> None:
    network = chain("bridge")
    await lab.runner.add(network, POD)
    (record,) = tmp_path.iterdir()
    record.write_text('{"half', encoding="utf-8")
    await lab.runner.delete(network, POD)
    assert "prevResult" not in lab.configs("DEL")[0]
    assert [path.suffix for path in tmp_path.iterdir()] == [".damaged"]


async def test_a_failing_plugin_stops_an_add_and_its_error_comes_through(lab: Lab) -> None:
    lab.executor.plugins["portmap"].failures["ADD"] = CniError("no room", "for this", code=110)
    with pytest.raises(CniError, match="no room: for this") as raised:
        await lab.runner.add(chain("bridge", "portmap", "tuning"), POD)
    assert raised.value.code == 110
    assert lab.called("ADD") == ["bridge", "portmap"]
    assert lab.cache.all("net") == []


async def test_a_plugin_that_hangs_meets_the_deadline(lab: Lab) -> None:
    runner = Runner(lab.executor, lab.cache, deadline=0.01)
    lab.executor.plugins["bridge"].hangs["ADD"] = asyncio.Event()
    with pytest.raises(IOFailure, match="no answer after"):
        await runner.add(chain("bridge"), POD)


async def test_check_uses_the_stored_result_unless_it_is_disabled(lab: Lab) -> None:
    network = chain("bridge")
    result = await lab.runner.add(network, POD)
    await lab.runner.check(network, POD)
    assert lab.configs("CHECK")[0]["prevResult"] == result
    await lab.runner.check(chain("bridge", disableCheck=True), POD)
    assert len(lab.called("CHECK")) == 1
    with pytest.raises(InvalidConfiguration, match="never attached"):
        await lab.runner.check(network, Attachment("other", "", "eth0"))


async def test_gc_detaches_what_is_not_valid_and_tells_the_plugins(lab: Lab) -> None:
    network = chain("bridge", "portmap")
    kept, lost = POD, Attachment("c2", "/run/netns/two", "eth0")
    await lab.runner.add(network, kept)
    await lab.runner.add(network, lost)
    await lab.runner.collect(network, [kept.key])
    assert [call[2]["CNI_CONTAINERID"] for call in lab.executor.calls if call[1] == "DEL"] == ["c2", "c2"]
    assert lab.called("GC") == ["bridge", "portmap"]
    assert lab.configs("GC")[0]["cni.dev/valid-attachments"] == [{"containerID": "c1", "ifname": "eth0"}]
    assert lab.cache.all("net") == [kept]


async def test_gc_gives_every_plugin_its_turn_and_reports_all_failures(lab: Lab) -> None:
    for name in ("bridge", "portmap"):
        lab.executor.plugins[name].failures["GC"] = CniError(f"{name} is unwell")
    with pytest.raises(CniError, match=r"bridge is unwell.*portmap is unwell"):
        await lab.runner.collect(chain("bridge", "portmap", "tuning"), [])
    assert lab.called("GC") == ["bridge", "portmap", "tuning"]


async def test_gc_waits_for_calls_under_way_and_keeps_new_ones_waiting(lab: Lab) -> None:
    network, release = chain("bridge"), asyncio.Event()
    lab.executor.plugins["bridge"].hangs["ADD"] = release
    async with asyncio.TaskGroup() as group:
        group.create_task(lab.runner.add(network, POD))
        await until_called(lab, "ADD")
        group.create_task(lab.runner.collect(network, [POD.key]))
        await asyncio.sleep(0)
        group.create_task(lab.runner.add(network, Attachment("c2", "", "eth0")))
        for _ in range(20):
            await asyncio.sleep(0)
        assert lab.called("GC") == []
        assert len(lab.called("ADD")) == 1
        release.set()
    assert [call[1] for call in lab.executor.calls] == ["ADD", "GC", "ADD"]


async def test_calls_for_one_container_take_turns(lab: Lab) -> None:
    network, release = chain("bridge"), asyncio.Event()
    lab.executor.plugins["bridge"].hangs["ADD"] = release
    async with asyncio.TaskGroup() as group:
        group.create_task(lab.runner.add(network, POD))
        await until_called(lab, "ADD")
        group.create_task(lab.runner.delete(network, POD))
        group.create_task(lab.runner.delete(network, POD))
        for _ in range(20):
            await asyncio.sleep(0)
        assert lab.called("DEL") == []
        release.set()
    assert lab.called("DEL") == ["bridge", "bridge"]


async def test_old_networks_are_spared_what_their_version_does_not_know(lab: Lab) -> None:
    old = chain("bridge", cniVersion="0.3.1")
    await lab.runner.add(old, POD)
    await lab.runner.status(old)
    await lab.runner.delete(old, POD)
    await lab.runner.collect(old, [])
    assert lab.called("STATUS") == lab.called("GC") == []
    assert "prevResult" not in lab.configs("DEL")[0]


async def test_versions_are_those_the_plugin_names(lab: Lab) -> None:
    assert await lab.runner.versions("bridge") == ["0.4.0", "1.0.0", "1.1.0"]
    with pytest.raises(InvalidConfiguration, match="failed to find plugin"):
        await lab.runner.versions("absent")


async def test_programs_are_found_in_order_and_a_missing_one_is_named(tmp_path: Path) -> None:
    for folder, text in (("a", "first"), ("b", "second")):
        (tmp_path / folder).mkdir()
        program = tmp_path / folder / "tool"
        program.write_text(f'#!/bin/sh\ncat > /dev/null\necho \'{{"said": "{text}"}}\'\n', encoding="utf-8")
        program.chmod(0o755)
    executor = ProgramExecutor([str(tmp_path / "none"), str(tmp_path / "a"), str(tmp_path / "b")])
    assert interpret("tool", *await executor.execute("tool", {}, b"{}", 10)) == {"said": "first"}
    with pytest.raises(InvalidConfiguration, match='failed to find plugin "other" in path'):
        await executor.execute("other", {}, b"", 10)


async def test_a_program_that_hangs_is_killed(tmp_path: Path) -> None:
    program = tmp_path / "tool"
    program.write_text("#!/bin/sh\necho $$ > $0.pid\nexec sleep 1000\n", encoding="utf-8")
    program.chmod(0o755)
    with pytest.raises(IOFailure, match="no answer"):
        await ProgramExecutor([str(tmp_path)]).execute("tool", {}, b"", 0.5)
    pid = (tmp_path / "tool.pid").read_text(encoding="ascii").strip()
    assert not Path(f"/proc/{pid}").exists()


@pytest.mark.parametrize(
    ("code", "output", "errors", "text"),
    [
        (1, b'{"code": 7, "msg": "bad", "details": "very"}', b"", "bad: very"),
        (1, b"", b"panic: oh no", "ended with exit code 1: panic: oh no"),
        (2, b"plain words", b"", "plain words"),
        (0, b"not json", b"", "answered with no JSON"),
        (0, b"[1]", b"", "answered with no object"),
    ],
)
def test_answers_that_are_errors(code: int, output: bytes, errors: bytes, text: str) -> None:
    with pytest.raises(CniError, match=text):
        interpret("tool", code, output, errors)


def write(folder: Path, name: str, value: object) -> None:
    (folder / name).write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")


def test_the_first_usable_file_of_a_folder_is_the_network(tmp_path: Path) -> None:
    with pytest.raises(InvalidConfiguration, match="no network config found in"):
        load_network(str(tmp_path))
    write(tmp_path, "05-broken.conflist", "{")
    write(tmp_path, "10-one.conf", {"cniVersion": "1.0.0", "name": "one", "type": "bridge"})
    write(tmp_path, "20-two.conflist", {"cniVersion": "1.0.0", "name": "two", "plugins": [{"type": "bridge"}]})
    write(tmp_path, "00-notes.txt", "not for us")
    assert load_network(str(tmp_path)).name == "one"


def test_a_folder_of_broken_files_is_an_error_that_names_them(tmp_path: Path) -> None:
    write(tmp_path, "05-broken.conflist", "{")
    write(tmp_path, "06-empty.conflist", {"cniVersion": "1.0.0", "name": "x", "plugins": []})
    with pytest.raises(InvalidConfiguration, match=r"05-broken.*06-empty.*no plugins in list"):
        load_network(str(tmp_path))


@pytest.mark.parametrize(
    ("fields", "version"),
    [
        ({}, "0.2.0"),
        ({"cniVersion": "0.4.0"}, "0.4.0"),
        ({"cniVersion": "0.4.0", "cniVersions": ["1.0.0", "1.1.0", "7.0.0"]}, "1.1.0"),
        ({"cniVersions": ["0.3.1"]}, "0.3.1"),
    ],
)
def test_the_highest_version_that_both_speak_is_used(fields: dict[str, Any], version: str) -> None:
    assert parse_network(json.dumps({"name": "n", "plugins": [{"type": "t"}], **fields})).version == version


@pytest.mark.parametrize(
    "fields",
    [
        {"name": ""}, {"name": "a b"}, {"plugins": "x"}, {"plugins": [{}]}, {"plugins": [{"type": "../sh"}]},
        {"cniVersion": "9.0.0"}, {"cniVersion": 1}, {"cniVersions": "1.0.0"}, {"disableCheck": "perhaps"},
    ],
)  # fmt: skip
def test_bad_networks_are_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(InvalidConfiguration):
        parse_network(json.dumps({"name": "n", "cniVersion": "1.0.0", "plugins": [{"type": "t"}], **fields}))
