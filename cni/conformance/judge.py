"""The demands of CNI spec 1.1 on a plugin, one function each, run against a real program in real namespaces.

Reports of the field stand behind many of them: a DEL that fails for what is gone already blocks a pod's removal for
ever, a GC that removes too much cuts off running pods, an error without JSON leaves the operator with "exit status 1".
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from cni.client.execution import Executor, interpret
from cni.errors import CniError

DEADLINE = 30.0


class Namespaces(Protocol):
    """Where the containers of the trial live."""

    def make(self) -> str:
        """The path of a new, empty network namespace."""

    def remove(self, path: str) -> None: ...

    def links(self, path: str) -> Sequence[str]:
        """The names of the interfaces in it."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """How one demand was met; `complaint` is "" when it was."""

    demand: str
    complaint: str

    @property
    def met(self) -> bool:
        return not self.complaint


class Complaint(Exception):
    """The plugin does not do what is demanded."""


@dataclass(slots=True)
class Trial:
    """A plugin on trial: its configuration (with `type`, `name`, `cniVersion`) and how to call it."""

    executor: Executor
    config: Mapping[str, Any]
    namespaces: Namespaces
    count: int = 0

    def container(self) -> str:
        self.count += 1
        return f"judged-{self.count}"

    async def call(
        self, command: str, container: str = "", netns: str = "", *, stdin: bytes | None = None, **changes: Any
    ) -> dict[str, Any] | None:
        """One call; `changes` are made to the configuration. Raises the CniError that the plugin reports."""
        environment = {"CNI_COMMAND": command, "CNI_IFNAME": "eth0" if container else ""}
        environment |= {"CNI_CONTAINERID": container, "CNI_NETNS": netns}
        config = {key.replace("__", "/"): value for key, value in {**self.config, **changes}.items()}
        body = json.dumps(config).encode() if stdin is None else stdin
        name = str(self.config["type"])
        code, output, errors = await self.executor.execute(
            name, {key: value for key, value in environment.items() if value}, body, DEADLINE
        )
        if code and not output.strip().startswith(b"{"):
            raise Complaint(f"{command} failed without an error object: {output!r} {errors!r}")
        return interpret(name, code, output, errors)

    async def refused(self, why: str, call: Awaitable[object], codes: Sequence[int] = ()) -> None:
        """The call must fail, with one of `codes` if any are given."""
        try:
            await call
        except CniError as error:
            if codes and error.code not in codes:
                raise Complaint(f"{why}: refused with code {error.code}, not {list(codes)}: {error}") from error
            return
        raise Complaint(f"{why}: not refused")


async def says_its_versions(trial: Trial) -> None:
    answer = await trial.call("VERSION") or {}
    if trial.config["cniVersion"] not in answer.get("supportedVersions", ()):
        raise Complaint(f"VERSION does not list {trial.config['cniVersion']}: {answer}")


async def add_makes_the_interface(trial: Trial) -> None:
    container, netns = trial.container(), trial.namespaces.make()
    try:
        result = await trial.call("ADD", container, netns) or {}
        if "eth0" not in trial.namespaces.links(netns):
            raise Complaint("ADD made no eth0 in the namespace")
        if result.get("cniVersion") != trial.config["cniVersion"]:
            raise Complaint(f"the result is of version {result.get('cniVersion')}")
        inside = [item for item in result.get("interfaces", ()) if item.get("sandbox")]
        if not any(item.get("name") == "eth0" for item in inside):
            raise Complaint(f"the result does not list eth0 with its sandbox: {result}")
        for address in result.get("ips", ()):
            if not 0 <= address.get("interface", 0) < len(result["interfaces"]):
                raise Complaint(f"the result's address points at no interface: {address}")
        await trial.call("CHECK", container, netns, prevResult=result)
    finally:
        await trial.call("DEL", container, netns)
        trial.namespaces.remove(netns)


async def add_refuses_an_interface_that_exists(trial: Trial) -> None:
    container, netns = trial.container(), trial.namespaces.make()
    try:
        await trial.call("ADD", container, netns)
        await trial.refused("ADD into a namespace that has an eth0", trial.call("ADD", trial.container(), netns))
    finally:
        await trial.call("DEL", f"judged-{trial.count}", netns)
        await trial.call("DEL", container, netns)
        trial.namespaces.remove(netns)


async def check_notices_a_missing_namespace(trial: Trial) -> None:
    container, netns = trial.container(), trial.namespaces.make()
    result = await trial.call("ADD", container, netns)
    trial.namespaces.remove(netns)
    try:
        await trial.refused(
            "CHECK of a container that is gone", trial.call("CHECK", container, netns, prevResult=result)
        )
    finally:
        await trial.call("DEL", container, netns, prevResult=result)


async def del_removes_the_interface(trial: Trial) -> None:
    container, netns = trial.container(), trial.namespaces.make()
    try:
        result = await trial.call("ADD", container, netns)
        await trial.call("DEL", container, netns, prevResult=result)
        if "eth0" in trial.namespaces.links(netns):
            raise Complaint("DEL left eth0 in the namespace")
    finally:
        trial.namespaces.remove(netns)


async def del_may_be_repeated(trial: Trial) -> None:
    container, netns = trial.container(), trial.namespaces.make()
    try:
        result = await trial.call("ADD", container, netns)
        for _ in range(3):
            await trial.call("DEL", container, netns, prevResult=result)
        await trial.call("DEL", container, netns)
    finally:
        trial.namespaces.remove(netns)


async def del_needs_no_namespace(trial: Trial) -> None:
    container, netns = trial.container(), trial.namespaces.make()
    result = await trial.call("ADD", container, netns)
    trial.namespaces.remove(netns)
    await trial.call("DEL", container, netns, prevResult=result)
    await trial.call("DEL", container, prevResult=result)


async def del_of_what_never_was_is_fine(trial: Trial) -> None:
    await trial.call("DEL", trial.container(), "/run/netns/there-is-none")


async def a_name_may_be_used_again(trial: Trial) -> None:
    container, netns = trial.container(), trial.namespaces.make()
    try:
        for _ in range(3):
            await trial.call("ADD", container, netns)
            await trial.call("DEL", container, netns)
    finally:
        trial.namespaces.remove(netns)


async def addresses_differ(trial: Trial) -> None:
    attached = [(trial.container(), trial.namespaces.make()) for _ in range(3)]
    try:
        results = [await trial.call("ADD", *each) or {} for each in attached]
        addresses = [item["address"] for result in results for item in result.get("ips", ())]
        if len(set(addresses)) != len(addresses):
            raise Complaint(f"two containers have the same address: {addresses}")
    finally:
        for container, netns in attached:
            await trial.call("DEL", container, netns)
            trial.namespaces.remove(netns)


async def gc_spares_what_is_valid(trial: Trial) -> None:
    kept, lost = (trial.container(), trial.namespaces.make()), (trial.container(), trial.namespaces.make())
    try:
        result = await trial.call("ADD", *kept)
        await trial.call("ADD", *lost)
        trial.namespaces.remove(lost[1])
        valid = [{"containerID": kept[0], "ifname": "eth0"}]
        listed: dict[str, Any] = {"cni.dev__valid-attachments": valid, "cni.dev__attachments": valid}
        await trial.call("GC", **listed)
        await trial.call("CHECK", *kept, prevResult=result)
    finally:
        for container, netns in (kept, lost):
            await trial.call("DEL", container, netns)
        trial.namespaces.remove(kept[1])


async def status_is_answered(trial: Trial) -> None:
    await trial.call("STATUS")


async def add_without_a_namespace_is_refused(trial: Trial) -> None:
    container = trial.container()
    try:
        await trial.refused("ADD without CNI_NETNS", trial.call("ADD", container), codes=[4])
        await trial.refused("ADD into a missing namespace", trial.call("ADD", container, "/run/netns/there-is-none"))
    finally:
        await trial.call("DEL", container)


async def an_unknown_version_is_refused(trial: Trial) -> None:
    await trial.refused("STATUS in version 99.0.0", trial.call("STATUS", cniVersion="99.0.0"), codes=[1])


async def garbage_is_refused(trial: Trial) -> None:
    call = trial.call("ADD", trial.container(), "/run/netns/there-is-none", stdin=b"{{{")
    await trial.refused("ADD with garbage for a configuration", call, codes=[6])


DEMANDS: tuple[Callable[[Trial], Awaitable[None]], ...] = (
    says_its_versions,
    add_makes_the_interface,
    add_refuses_an_interface_that_exists,
    add_without_a_namespace_is_refused,
    addresses_differ,
    check_notices_a_missing_namespace,
    del_removes_the_interface,
    del_may_be_repeated,
    del_needs_no_namespace,
    del_of_what_never_was_is_fine,
    a_name_may_be_used_again,
    gc_spares_what_is_valid,
    status_is_answered,
    an_unknown_version_is_refused,
    garbage_is_refused,
)


async def judge(trial: Trial, demands: Sequence[Callable[[Trial], Awaitable[None]]] = DEMANDS) -> list[Verdict]:
    """Put a plugin to each demand; a failed one does not keep the next from being tried."""
    verdicts = []
    for demand in demands:
        complaint = ""
        try:
            await demand(trial)
        except (Complaint, CniError) as error:
            complaint = str(error)
        verdicts.append(Verdict(demand.__name__.replace("_", " "), complaint))
    return verdicts
