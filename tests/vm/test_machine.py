"""The harness itself: a machine boots with systemd and cgroup v2, and keeps its disk over a power cut."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from machine import Machine

pytestmark = [pytest.mark.vm, pytest.mark.timeout(900)]


def test_a_machine_runs_systemd_and_cgroup_v2_and_keeps_what_was_synced(machines: Callable[..., Machine]) -> None:
    machine = machines("node-1")
    machine.boot()
    assert machine.shell("cat /proc/1/comm").strip() == "systemd"
    assert machine.shell("stat -f -c %T /sys/fs/cgroup").strip() == "cgroup2fs"
    assert machine.shell("hostname").strip() == "node-1"
    boot_id = machine.shell("cat /proc/sys/kernel/random/boot_id")
    machine.shell("echo kept > /root/note && sync")
    machine.pull_the_plug()
    machine.boot()
    assert machine.shell("cat /root/note").strip() == "kept"
    assert machine.shell("cat /proc/sys/kernel/random/boot_id") != boot_id
