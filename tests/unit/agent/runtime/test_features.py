"""What the machine and its runtime can do."""

from pathlib import Path

from agent.runtime.features import recursive_read_only, throttle_paths
from client.clock import FakeClock
from cri.fake import FakeRuntime
from proto import cri_pb2 as cri


async def test_an_old_runtime_has_no_recursive_read_only_mounts() -> None:
    assert not await recursive_read_only(FakeRuntime(FakeClock()))


async def test_the_default_handler_decides() -> None:
    runtime = FakeRuntime(FakeClock())
    runtime.service.handlers = [
        cri.RuntimeHandler(name="kata", features=cri.RuntimeHandlerFeatures(recursive_read_only_mounts=True)),
        cri.RuntimeHandler(name=""),
    ]
    assert not await recursive_read_only(runtime)
    runtime.service.handlers[1].features.recursive_read_only_mounts = True
    assert await recursive_read_only(runtime)


def test_throttle_counters_are_found(tmp_path: Path) -> None:
    for name in ("cpu0/thermal_throttle", "cpu1/thermal_throttle", "cpu2/cache", "cpufreq/thermal_throttle"):
        (tmp_path / name).mkdir(parents=True)
    assert throttle_paths(tmp_path) == tuple(f"{tmp_path}/cpu{n}/thermal_throttle" for n in (0, 1))
