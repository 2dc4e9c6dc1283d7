"""What a runtime must do, demand by demand. `LIFE` can be asked of any; `PROCESSES` needs real processes and files."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from cri.conformance.judge import DEADLINE, Complaint, Trial, demand
from cri.errors import CriError, DeadlineExceeded, NotFound, Unimplemented
from cri.events import ContainerEvent, EventKind
from proto import cri_pb2 as cri

Demand = Callable[[Trial], Awaitable[None]]

_NOWHERE = "0" * 64


async def says_who_it_is(trial: Trial) -> None:
    version = await trial.client.version()
    demand(bool(version.runtime_name and version.runtime_version), f"no name or version: {version}")
    demand(version.runtime_api_version.startswith("v1"), f"CRI version {version.runtime_api_version!r}, not v1")


async def says_how_it_is(trial: Trial) -> None:
    conditions = {one.type: one.status for one in (await trial.client.status()).status.conditions}
    for name in ("RuntimeReady", "NetworkReady"):
        demand(conditions.get(name, False), f"{name} is not true")


async def gives_a_sandbox_back_as_it_was_asked_for(trial: Trial) -> None:
    config = trial.sandbox_config(attempt=3)
    sandbox = await trial.client.run_pod_sandbox(config)
    status = (await trial.client.pod_sandbox_status(sandbox)).status
    demand(status.state == cri.SANDBOX_READY, "not ready after it was run")
    demand(status.metadata == config.metadata, f"other metadata: {status.metadata}")
    demand(status.labels == config.labels, f"other labels: {status.labels}")
    demand(status.annotations == config.annotations, f"other annotations: {status.annotations}")
    demand(bool(status.network.ip), "no address")
    demand(status.created_at > 0, "no time of creation")


async def lists_sandboxes_by_label_state_and_id(trial: Trial) -> None:
    config = trial.sandbox_config()
    sandbox = await trial.client.run_pod_sandbox(config)
    labels = dict(config.labels)
    for filters in (
        {"labels": labels},
        {"sandbox_id": sandbox},
        {"labels": labels, "state": cri.SANDBOX_READY},
    ):
        found = [one.id for one in await trial.client.list_pod_sandbox(**filters)]
        demand(found == [sandbox], f"filter {filters} finds {found}")
    ended = await trial.client.list_pod_sandbox(labels=labels, state=cri.SANDBOX_NOTREADY)
    demand(not ended, "a ready sandbox is listed among those that are not")


async def reserves_the_names_of_sandboxes(trial: Trial) -> None:
    config = trial.sandbox_config()
    sandbox = await trial.client.run_pod_sandbox(config)
    await _refused("a second sandbox of one name and attempt", trial.client.run_pod_sandbox(config))
    await trial.client.stop_pod_sandbox(sandbox)
    await trial.client.remove_pod_sandbox(sandbox)
    await trial.client.run_pod_sandbox(config)


async def stops_and_removes_sandboxes_again_and_again(trial: Trial) -> None:
    sandbox = await trial.client.run_pod_sandbox(trial.sandbox_config())
    for _ in range(2):
        await trial.client.stop_pod_sandbox(sandbox)
    status = (await trial.client.pod_sandbox_status(sandbox)).status
    demand(status.state == cri.SANDBOX_NOTREADY, "ready after it was stopped")
    for _ in range(2):
        await trial.client.remove_pod_sandbox(sandbox)
    await trial.client.remove_pod_sandbox(_NOWHERE)
    try:
        await trial.client.pod_sandbox_status(sandbox)
    except NotFound:
        return
    raise Complaint("the status of a removed sandbox is not NotFound")


async def takes_containers_along_with_their_sandbox(trial: Trial) -> None:
    _, sandbox, container = await trial.running()
    await trial.client.stop_pod_sandbox(sandbox)
    demand((await trial.status(container)).state == cri.CONTAINER_EXITED, "a container outlived its sandbox")
    await trial.client.remove_pod_sandbox(sandbox)
    left = await trial.client.list_containers(sandbox_id=sandbox)
    demand(not left, f"containers of a removed sandbox are listed: {left}")


async def leads_a_container_through_its_states(trial: Trial) -> None:
    config = trial.sandbox_config()
    sandbox = await trial.client.run_pod_sandbox(config)
    wanted = trial.container_config("sleep", "1000", attempt=2)
    container = await trial.client.create_container(sandbox, wanted, config)
    status = await trial.status(container)
    demand(status.state == cri.CONTAINER_CREATED, "not CREATED after creation")
    demand(status.metadata == wanted.metadata, f"other metadata: {status.metadata}")
    demand(status.labels == wanted.labels, f"other labels: {status.labels}")
    demand(status.annotations == wanted.annotations, f"other annotations: {status.annotations}")
    await trial.client.start_container(container)
    status = await trial.status(container)
    demand(status.state == cri.CONTAINER_RUNNING, "not RUNNING after the start")
    demand(status.started_at >= status.created_at > 0, "started before it was created")
    await trial.client.stop_container(container, 0)
    status = await trial.status(container)
    demand(status.state == cri.CONTAINER_EXITED, "not EXITED after the stop")
    demand(status.exit_code == 137, f"exit code {status.exit_code} after SIGKILL, not 137")
    demand(status.finished_at >= status.started_at, "finished before it was started")
    await _refused("a second start", trial.client.start_container(container))


async def reserves_the_names_of_containers(trial: Trial) -> None:
    config, sandbox, _ = await trial.running()
    again = trial.client.create_container(sandbox, trial.container_config(), config)
    await _refused("a second container of one name and attempt", again)
    await trial.client.create_container(sandbox, trial.container_config(attempt=1), config)


async def stops_what_has_ended_and_removes_what_is_gone(trial: Trial) -> None:
    _, _, container = await trial.running()
    for _ in range(2):
        await trial.client.stop_container(container, 0)
    for _ in range(2):
        await trial.client.remove_container(container)
    await trial.client.remove_container(_NOWHERE)
    try:
        await trial.client.container_status(container)
    except NotFound:
        return
    raise Complaint("the status of a removed container is not NotFound")


async def removes_a_running_container(trial: Trial) -> None:
    _, sandbox, container = await trial.running()
    await trial.client.remove_container(container)
    demand(not await trial.client.list_containers(sandbox_id=sandbox), "it is listed after its removal")


async def lists_containers_by_sandbox_state_and_label(trial: Trial) -> None:
    config, sandbox, container = await trial.running()
    other = await trial.client.create_container(sandbox, trial.container_config(name="other"), config)
    expected = {
        container: {"state": cri.CONTAINER_RUNNING},
        other: {"labels": {"container": "other"}},
    }
    for identity, filters in expected.items():
        found = [one.id for one in await trial.client.list_containers(sandbox_id=sandbox, **filters)]  # type: ignore[arg-type]
        demand(found == [identity], f"filter {filters} finds {found}")


async def knows_an_absent_image(trial: Trial) -> None:
    image = await trial.client.image_status(cri.ImageSpec(image="localhost/judge/none:1"))
    demand(image is None, f"an image that is nowhere has a status: {image}")
    await trial.client.remove_image(cri.ImageSpec(image="localhost/judge/none:1"))
    present = await trial.client.image_status(cri.ImageSpec(image=trial.image))
    demand(present is not None and present.size > 0, "the image of the trial has no status or no size")
    config = trial.sandbox_config()
    sandbox = await trial.client.run_pod_sandbox(config)
    wanted = trial.container_config()
    wanted.image.image = "localhost/judge/none:1"
    await _refused("a container of an absent image", trial.client.create_container(sandbox, wanted, config))


async def tells_what_happens(trial: Trial) -> None:
    heard: list[ContainerEvent] = []
    ready = asyncio.Event()

    async def listen() -> None:
        async for one in trial.client.events():
            heard.append(one)
            if one.kind is EventKind.RESYNC:
                ready.set()

    listening = asyncio.create_task(listen())
    try:
        async with asyncio.timeout(DEADLINE):
            waiting = asyncio.create_task(ready.wait())
            await asyncio.wait({listening, waiting}, return_when=asyncio.FIRST_COMPLETED)
            waiting.cancel()
        await trial.client.clock.sleep(1.0)  # a first source may have turned out to be missing
        _, _, container = await trial.running("sh", "-c", "exit 7")
        await trial.ended(container)
        await trial.client.remove_container(container)
        await trial.client.clock.sleep(1.0)
        if listening.done():
            listening.result()
    except Unimplemented as error:
        raise Complaint("it has no events of its own, and none of containerd's") from error
    finally:
        listening.cancel()
        await asyncio.wait({listening})
    kinds = [one.kind for one in heard if one.container_id == container]
    for kind in (EventKind.CREATED, EventKind.STARTED, EventKind.STOPPED, EventKind.DELETED):
        demand(kind in kinds, f"no event says {kind.value}: {[one.value for one in kinds]}")
    stopped = next(one for one in heard if one.container_id == container and one.kind is EventKind.STOPPED)
    demand(stopped.exit_code == 7, f"the event of the end says exit code {stopped.exit_code}, not 7")


async def tells_the_exit_code(trial: Trial) -> None:
    _, _, container = await trial.running("sh", "-c", "exit 7")
    status = await trial.ended(container)
    demand(status.exit_code == 7, f"exit code {status.exit_code}, not 7")
    _, _, container = await trial.running("sh", "-c", "exit 0")
    status = await trial.ended(container)
    demand((status.exit_code, status.reason) == (0, "Completed"), f"success is told as {status.reason!r}")


async def grants_the_grace_and_kills_after_it(trial: Trial) -> None:
    _, _, polite = await trial.running("sh", "-c", "trap 'exit 5' TERM; while true; do sleep 0.1; done")
    await trial.client.stop_container(polite, 30)
    code = (await trial.status(polite)).exit_code
    demand(code == 5, f"exit code {code} of a process that obeys the signal with 5")
    _, _, deaf = await trial.running("sh", "-c", "trap '' TERM; while true; do sleep 0.1; done")
    await trial.client.stop_container(deaf, 1)
    code = (await trial.status(deaf)).exit_code
    demand(code == 137, f"exit code {code} of a process that ignores the signal, not 137")


async def says_why_a_program_cannot_be_started(trial: Trial) -> None:
    config = trial.sandbox_config()
    sandbox = await trial.client.run_pod_sandbox(config)
    container = await trial.client.create_container(sandbox, trial.container_config("/no/such/program"), config)
    try:
        await trial.client.start_container(container)
    except CriError as error:
        demand("/no/such/program" in error.cause, f"the error does not name the program: {error.cause}")
        return
    raise Complaint("a program that is not there was started")


async def runs_commands_and_ends_them_in_time(trial: Trial) -> None:
    _, _, container = await trial.running()
    answer = await trial.client.exec_sync(container, ["sh", "-c", "echo out; echo err >&2; exit 3"], 10)
    got = (answer.stdout, answer.stderr, answer.exit_code)
    demand(got == (b"out\n", b"err\n", 3), f"out, err and 3 came back as {got}")
    try:
        await trial.client.exec_sync(container, ["sleep", "60"], 1)
    except DeadlineExceeded:
        return
    raise Complaint("a command that takes longer than its timeout does not end with DeadlineExceeded")


async def hands_the_environment_on_byte_by_byte(trial: Trial) -> None:
    config = trial.sandbox_config()
    sandbox = await trial.client.run_pod_sandbox(config)
    wanted = trial.container_config()
    wanted.envs.add(key="two words", value="a=b \u00e9 $HOME".encode())
    container = await trial.client.create_container(sandbox, wanted, config)
    await trial.client.start_container(container)
    answer = await trial.client.exec_sync(container, ["env"], 10)
    demand("two words=a=b \u00e9 $HOME".encode() in answer.stdout.split(b"\n"), f"the environment is {answer.stdout!r}")


async def writes_logs_and_reopens_them(trial: Trial) -> None:
    config, _, container = await trial.running("sh", "-c", "echo one; while ! [ -e /go ]; do sleep 0.1; done; echo two")
    log = Path(config.log_directory) / "app-0.log"
    demand((await trial.status(container)).log_path == str(log), "the status names another log")
    await _until(trial, lambda: log.exists() and b"one" in log.read_bytes(), "no line in the log")
    stamp, stream, tag, text = log.read_bytes().split(b"\n")[0].split(b" ", 3)
    demand((stream, tag, text) == (b"stdout", b"F", b"one"), f"not a record of CRI's format: {log.read_bytes()!r}")
    demand(stamp.startswith(b"20") and b"T" in stamp, f"no stamp: {stamp!r}")
    log.rename(log.with_suffix(".old"))
    await trial.client.reopen_container_log(container)
    await trial.client.exec_sync(container, ["touch", "/go"], 10)
    await trial.ended(container)
    await _until(trial, lambda: log.exists() and b"two" in log.read_bytes(), "nothing is written to the new log")


async def streams_where_it_says(trial: Trial) -> None:
    _, sandbox, container = await trial.running()
    urls = [
        await trial.client.exec(cri.ExecRequest(container_id=container, cmd=["true"], stdout=True)),
        await trial.client.attach(cri.AttachRequest(container_id=container, stdout=True)),
        await trial.client.port_forward(cri.PortForwardRequest(pod_sandbox_id=sandbox, port=[80])),
    ]
    for url in urls:
        demand(url.startswith(("http://", "https://")), f"no address to stream from: {url!r}")


async def _refused(what: str, call: Awaitable[object]) -> None:
    try:
        await call
    except CriError:
        return
    raise Complaint(f"{what} is not refused")


async def _until(trial: Trial, done: Callable[[], bool], otherwise: str) -> None:
    try:
        async with asyncio.timeout(DEADLINE):
            while not done():
                await trial.client.clock.sleep(0.05)
    except TimeoutError:
        raise Complaint(otherwise) from None


LIFE: Sequence[Demand] = (
    says_who_it_is,
    says_how_it_is,
    gives_a_sandbox_back_as_it_was_asked_for,
    lists_sandboxes_by_label_state_and_id,
    reserves_the_names_of_sandboxes,
    stops_and_removes_sandboxes_again_and_again,
    takes_containers_along_with_their_sandbox,
    leads_a_container_through_its_states,
    reserves_the_names_of_containers,
    stops_what_has_ended_and_removes_what_is_gone,
    removes_a_running_container,
    lists_containers_by_sandbox_state_and_label,
    knows_an_absent_image,
    tells_what_happens,
    tells_the_exit_code,
)

PROCESSES: Sequence[Demand] = (
    grants_the_grace_and_kills_after_it,
    says_why_a_program_cannot_be_started,
    runs_commands_and_ends_them_in_time,
    hands_the_environment_on_byte_by_byte,
    writes_logs_and_reopens_them,
    streams_where_it_says,
)
