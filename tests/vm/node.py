"""A node on a machine, as its operator sees it: the `orlop` command, stock kubectl, and what the kernel shows."""

from __future__ import annotations

import json
import shlex
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.vm.machine import Machine

UP_DEADLINE = 300.0
SETTLE_DEADLINE = 240.0
# Its cache is out of the way: what is left on the machine is compared with what was there.
KUBECTL = "kubectl --kubeconfig=/etc/orlop/admin.kubeconfig --cache-dir=/tmp/kubectl"
LEASES = "/run/orlop/cni/orlop"
CGROUPS = "/sys/fs/cgroup/kubepods"

# What a node could leave behind, each as a command that prints one thing a line.
TRACES = {
    "processes": "ps -eo args= | grep -E '[o]rlop|[c]ontainerd|[r]unc ' || true",
    "mounts": "awk '{print $2}' /proc/mounts",
    "links": "ls /sys/class/net",
    "network namespaces": "ls /run/netns 2>/dev/null || true",
    "nftables": "nft list tables",
    "cgroups": "find /sys/fs/cgroup -maxdepth 1 -type d; ls /sys/fs/cgroup/system.slice | grep orlop || true",
    # The journal, and what udev, systemd and its logins keep, come and go without us.
    "files": "find / /run -xdev \\( -path /var/log/journal -o -path /run/user -o -path /run/systemd -o -path /run/udev "
    "-o -path /run/log -o -path /tmp -o -path /var/tmp -o -path /opt/orlop \\) -prune -o -print",
}


@dataclass(frozen=True, slots=True)
class Node:
    """The node that `orlop up` makes of a machine."""

    machine: Machine

    def up(self) -> str:
        """Start it from a login that is over when it is up; returns what was said. Raises MachineError."""
        return self.machine.shell("orlop up --detach 2>&1", deadline=UP_DEADLINE, own_session=True)

    def down(self, *, purge: bool) -> str:
        """Stop it and clean up; returns what was said. Raises MachineError."""
        return self.machine.shell(f"orlop down {'--purge' if purge else ''} 2>&1", deadline=UP_DEADLINE)

    def kubectl(self, arguments: str) -> str:
        """Run kubectl on the machine. Raises MachineError when it fails."""
        return self.machine.shell(f"{KUBECTL} {arguments}")

    def apply(self, *objects: dict[str, Any]) -> None:
        """Create or change objects."""
        text = "\n".join(json.dumps(each) for each in objects)
        self.machine.shell(f"printf %s {shlex.quote(text)} | {KUBECTL} apply -f -")

    def items(self, what: str) -> dict[str, Any]:
        """Objects of the default namespace by name, as `kubectl get` has them."""
        return {each["metadata"]["name"]: each for each in json.loads(self.kubectl(f"get {what} -o json"))["items"]}

    def eventually(self, what: str, met: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """The objects, by name, once they are as wanted; after the deadline as they are, for the caller to judge."""
        until = time.monotonic() + SETTLE_DEADLINE
        while True:
            found = self.items(what)
            if met(found) or time.monotonic() > until:
                return found
            time.sleep(1)

    def wait(self, what: str, condition: str) -> None:
        """Wait until objects have come to a condition. Raises MachineError."""
        self.machine.eventually(
            f"{KUBECTL} wait {what} --for={shlex.quote(condition)} --timeout=60s",
            within=SETTLE_DEADLINE,
        )

    # ----------------------------------------------- what the machine has

    def answers(self, address: str, port: int = 8080) -> str:
        """What an HTTP server on a pod says to the machine."""
        return self.machine.shell(f"timeout 20 busybox wget -q -O - http://{address}:{port}/").strip()

    def leased(self) -> list[str]:
        """Addresses that the pod network has given away."""
        names = self.machine.shell(f"ls {LEASES}").split()
        return sorted(name.partition(",")[0] for name in names if "," in name)

    def pod_cgroups(self) -> set[str]:
        """UIDs of the pods that have a cgroup."""
        found = self.machine.shell(f"find {CGROUPS} -maxdepth 2 -type d -name 'pod*' -printf '%f\\n'").split()
        return {name.removeprefix("pod") for name in found}

    def pod_folders(self) -> set[str]:
        """UIDs of the pods that have a folder."""
        return set(self.machine.shell("ls /var/lib/orlop/agent/pods").split())

    def cgroup(self, path: str) -> dict[str, str]:
        """The settings of the cgroup at `path` below `kubepods`, by file."""
        files = ("cpu.weight", "cpu.max", "memory.max", "memory.oom.group", "pids.max")
        lines = self.machine.shell(f"cd {CGROUPS}/{path} && head -v -n 1 {' '.join(files)}").splitlines()
        names = [line.removeprefix("==> ").removesuffix(" <==") for line in lines if line.startswith("==> ")]
        values = [line for line in lines if line and not line.startswith("==> ")]
        return dict(zip(names, values, strict=True))

    def traces(self) -> dict[str, set[str]]:
        """What there is on the machine of the kinds of things that a node makes."""
        return {kind: set(self.machine.shell(script).splitlines()) for kind, script in TRACES.items()}


def container(pod: dict[str, Any]) -> Any:
    """The status of a pod's only container."""
    (status,) = pod["status"]["containerStatuses"]
    return status


def sleeper(name: str, resources: dict[str, Any], script: str = "exec sleep 1000000") -> dict[str, Any]:
    """A pod of one container that runs `script` and is not started again."""
    only = {
        "name": "app",
        "image": "localhost/orlop/toolbox:1",
        "command": ["/bin/sh", "-c", script],
        "resources": resources,
    }
    spec = {"terminationGracePeriodSeconds": 1, "containers": [only]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}
