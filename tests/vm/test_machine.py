"""The harness itself: machines boot with systemd and cgroup v2, keep their disks over a power cut, share a wire."""

from __future__ import annotations

import pytest

from tests.vm.conftest import Machines

pytestmark = [pytest.mark.vm, pytest.mark.timeout(900)]


def test_a_machine_runs_systemd_and_cgroup_v2_and_keeps_what_was_synced(machines: Machines) -> None:
    (machine,) = machines("node-1")
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


def test_two_machines_reach_each_other_over_their_wire(machines: Machines) -> None:
    first, second = machines("node-1", "node-2")
    first.boot()
    second.boot()
    for here, there in ((first, second), (second, first)):
        assert " 0% packet loss" in here.shell(f"ping -c 3 -W 5 {there.wire_address}")
