"""What a container finds: environment, names, users, rights, cgroups."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from images.system import TOOLBOX
from tests.node.cluster.installation import Installation
from tests.node.cluster.kubectl import Kubectl
from tests.node.cluster.manifests import config_map, container, once, pod, secret, shell
from tests.node.cluster.waiting import eventually

pytestmark = pytest.mark.node


def test_environment_in_all_its_forms(kubectl: Kubectl, node: Installation) -> None:
    kubectl.apply(config_map("settings", colour="red", size="L"), secret("hidden", password="sesame"))

    def of(variable: str, kind: str, **source: Any) -> dict[str, Any]:
        return {"name": variable, "valueFrom": {kind: source}}

    env = [
        {"name": "PLAIN", "value": "plain"},
        {"name": "MADE_OF", "value": "$(PLAIN) and $$(PLAIN) and $(UNKNOWN)"},
        of("POD", "fieldRef", fieldPath="metadata.name"),
        of("SPACE", "fieldRef", fieldPath="metadata.namespace"),
        of("ID", "fieldRef", fieldPath="metadata.uid"),
        of("LABEL", "fieldRef", fieldPath="metadata.labels['app']"),
        of("NODE", "fieldRef", fieldPath="spec.nodeName"),
        of("ACCOUNT", "fieldRef", fieldPath="spec.serviceAccountName"),
        of("POD_IP", "fieldRef", fieldPath="status.podIP"),
        of("HOST_IP", "fieldRef", fieldPath="status.hostIP"),
        of("CPUS", "resourceFieldRef", resource="limits.cpu"),
        of("MILLI", "resourceFieldRef", resource="requests.cpu", divisor="1m"),
        of("MEBI", "resourceFieldRef", resource="limits.memory", divisor="1Mi"),
        of("COLOUR", "configMapKeyRef", name="settings", key="colour"),
        of("PASSWORD", "secretKeyRef", name="hidden", key="password"),
        of("MISSING", "configMapKeyRef", name="none", key="none", optional=True),
    ]
    sources = [{"prefix": "S_", "configMapRef": {"name": "settings"}}, {"secretRef": {"name": "hidden"}}]
    resources = {"requests": {"cpu": "250m"}, "limits": {"cpu": "1500m", "memory": "64Mi"}}
    said = kubectl.run_pod(once("prints", "env", env=env, envFrom=sources, resources=resources))
    found = dict(line.split("=", 1) for line in said.splitlines())
    made = kubectl.get("pod", "prints")
    expected = {
        "PLAIN": "plain",
        "MADE_OF": "plain and $(PLAIN) and $(UNKNOWN)",
        "POD": "prints",
        "SPACE": kubectl.namespace,
        "ID": made["metadata"]["uid"],
        "LABEL": "prints",
        "NODE": node.name,
        "ACCOUNT": "default",
        "HOST_IP": made["status"]["hostIP"],
        "CPUS": "2",
        "MILLI": "250",
        "MEBI": "64",
        "COLOUR": "red",
        "PASSWORD": "sesame",
        "S_colour": "red",
        "S_size": "L",
        "password": "sesame",
        "KUBERNETES_SERVICE_HOST": "10.143.0.1",
        "KUBERNETES_SERVICE_PORT": "443",
        "KUBERNETES_PORT_443_TCP": "tcp://10.143.0.1:443",
        "HOSTNAME": "prints",
    }
    assert {name: found.get(name) for name in expected} == expected
    assert found["POD_IP"].startswith(node.pod_cidr.rpartition(".")[0])
    assert "MISSING" not in found


def test_commands_arguments_and_the_working_directory(kubectl: Kubectl) -> None:
    args = {"args": ["$(WHO)", "is in", "$$(WHO)"], "env": [{"name": "WHO", "value": "me"}]}
    echo = container(command=["sh", "-c", 'echo "$0" "$@"; pwd'], workingDir="/var/tmp", **args)
    assert kubectl.run_pod(pod("says", echo, restartPolicy="Never")) == "me is in $(WHO)\n/var/tmp\n"


def test_users_and_groups(kubectl: Kubectl) -> None:
    volume = {"volumes": [{"name": "data", "emptyDir": {}}]}
    mounted = {"volumeMounts": [{"name": "data", "mountPath": "/data"}]}
    said = kubectl.run_pod(
        once(
            "somebody",
            "id; touch /data/mine && stat -c '%u:%g %a' /data/mine /data; touch /root/x 2>&1",
            securityContext={"runAsUser": 1001, "runAsGroup": 2002, "fsGroup": 3003, "supplementalGroups": [4004]},
            **mounted,
            **volume,
        ),
        phase="Failed",
    )
    lines = said.splitlines()
    assert re.fullmatch(r"uid=1001 gid=2002 groups=2002,3003,4004", lines[0])
    assert lines[1] == "1001:3003 644"
    assert lines[2] == "0:3003 2777"
    assert "Permission denied" in lines[3]


def test_a_root_image_where_root_is_not_allowed(kubectl: Kubectl) -> None:
    kubectl.apply(pod("root", container(securityContext={"runAsNonRoot": True})))
    kubectl.wait("pod/root", "jsonpath={.status.containerStatuses[0].state.waiting.reason}=CreateContainerConfigError")
    kubectl.expect_event("root", "Failed", "Error: container has runAsNonRoot and image will run as root")


def test_capabilities_privileges_and_system_calls(kubectl: Kubectl) -> None:
    show = "grep -E 'CapEff|NoNewPrivs|^Seccomp:' /proc/self/status"

    def facts(name: str, **context: Any) -> dict[str, str]:
        said = kubectl.run_pod(once(name, show, securityContext=None) | _with_context(name, show, context))
        return dict(re.split(r":\s+", line) for line in said.splitlines())

    usual = facts("usual")
    assert int(usual["CapEff"], 16) & 1 << 10  # NET_BIND_SERVICE is of the default set
    assert usual["NoNewPrivs"] == "0"
    bare = facts(
        "bare",
        capabilities={"drop": ["ALL"], "add": ["NET_ADMIN"]},
        allowPrivilegeEscalation=False,
        seccompProfile={"type": "RuntimeDefault"},
    )
    assert int(bare["CapEff"], 16) == 1 << 12
    assert bare["NoNewPrivs"] == "1"
    assert bare["Seccomp"] == "2"
    mighty = facts("mighty", privileged=True)
    assert int(mighty["CapEff"], 16) & 1 << 21  # SYS_ADMIN
    assert mighty["Seccomp"] == "0"


def _with_context(name: str, script: str, context: dict[str, Any]) -> dict[str, Any]:
    return pod(name, container(command=shell(script), securityContext=context), restartPolicy="Never")


def test_a_root_file_system_for_reading_only(kubectl: Kubectl) -> None:
    script = "touch /x 2>&1; touch /tmp/x && echo written"
    mounted = {"volumeMounts": [{"name": "tmp", "mountPath": "/tmp"}]}
    only = container(command=shell(script), securityContext={"readOnlyRootFilesystem": True}, **mounted)
    said = kubectl.run_pod(pod("sealed", only, restartPolicy="Never", volumes=[{"name": "tmp", "emptyDir": {}}]))
    assert said == "touch: /x: Read-only file system\nwritten\n"


def test_namespaces_shared_with_others(kubectl: Kubectl, node: Installation) -> None:
    list_all = "ps -o args | grep -c '[s]leep 98765'"
    kubectl.apply(
        pod("together", container("main"), container("sleeps", ["sleep", "98765"]), shareProcessNamespace=True),
        pod("host", container(command=shell("hostname; ps | wc -l; ls /sys/class/net; sleep infinity")), hostPID=True,
            hostNetwork=True),
    )  # fmt: skip
    kubectl.wait("pod/together", "condition=Ready")
    kubectl.wait("pod/host", "condition=Ready")
    assert kubectl("exec", "together", "-c", "main", "--", "sh", "-c", list_all) == "1\n"
    said = kubectl("logs", "host").splitlines()
    assert said[0] == node.name
    assert int(said[1]) > 10
    assert node.bridge in said


def test_sysctls(kubectl: Kubectl) -> None:
    tuned = pod(
        "tuned",
        container(command=["cat", "/proc/sys/net/ipv4/tcp_syncookies", "/proc/sys/kernel/shm_rmid_forced"]),
        restartPolicy="Never",
        securityContext={"sysctls": [{"name": "kernel.shm_rmid_forced", "value": "1"}]},
    )
    assert kubectl.run_pod(tuned).splitlines()[1] == "1"
    kubectl.apply(pod("refused", securityContext={"sysctls": [{"name": "kernel.msgmax", "value": "65536"}]}))
    kubectl.wait("pod/refused", "jsonpath={.status.phase}=Failed")
    ended = kubectl.get("pod", "refused")["status"]
    assert ended["reason"] == "SysctlForbidden"


def test_requests_and_limits_stand_in_the_cgroups(kubectl: Kubectl, node: Installation) -> None:
    def resources(**amounts: dict[str, str]) -> dict[str, Any]:
        return {"resources": amounts}

    kubectl.apply(
        pod("guaranteed", container(**resources(limits={"cpu": "200m", "memory": "48Mi"}))),
        pod(
            "burstable",
            container("a", **resources(requests={"cpu": "100m", "memory": "16Mi"}, limits={"memory": "32Mi"})),
            container("b", **resources(requests={"cpu": "50m"}, limits={"cpu": "100m", "memory": "64Mi"})),
        ),
        pod("besteffort"),
    )
    expected = {
        "guaranteed": ("", "Guaranteed", {"": (204, 20000, 48 << 20), "main": (204, 20000, 48 << 20)}),
        "burstable": (
            "burstable",
            "Burstable",
            {"": (153, -1, 96 << 20), "a": (102, -1, 32 << 20), "b": (51, 10000, 64 << 20)},
        ),
        "besteffort": ("besteffort", "BestEffort", {"": (2, -1, None), "main": (2, -1, None)}),
    }
    for name, (tier, qos, groups) in expected.items():
        kubectl.wait(f"pod/{name}", "condition=Ready")
        made = kubectl.get("pod", name)
        assert made["status"]["qosClass"] == qos
        folder = Path(node.cgroup, tier, f"pod{made['metadata']['uid']}")
        ids = {one["name"]: one["containerID"].removeprefix("containerd://")
               for one in made["status"]["containerStatuses"]}  # fmt: skip
        for group, amounts in groups.items():
            assert read_amounts(folder / ids.get(group, "")) == amounts, f"{name} {group}"


def read_amounts(group: Path) -> tuple[int, int, int | None]:
    """CPU shares, CPU quota in µs of 100 ms (-1 for none), bytes of memory (None for no limit); v1 and v2."""
    root = Path("/sys/fs/cgroup")
    if (root / "cgroup.controllers").exists():
        weight = int((root / group / "cpu.weight").read_text())
        quota, _ = (root / group / "cpu.max").read_text().split()
        limit = (root / group / "memory.max").read_text().strip()
        shares = round((weight - 1) * 262142 / 9999) + 2
        return shares, -1 if quota == "max" else int(quota), None if limit == "max" else int(limit)
    memory = int((root / "memory" / group / "memory.limit_in_bytes").read_text())
    return (
        int((root / "cpu" / group / "cpu.shares").read_text()),
        int((root / "cpu" / group / "cpu.cfs_quota_us").read_text()),
        None if memory > 1 << 60 else memory,
    )


def test_the_kernel_is_told_whom_to_kill_first(kubectl: Kubectl, node: Installation) -> None:
    show = ["cat", "/proc/self/oom_score_adj"]
    kubectl.apply(
        pod("last", container(command=show), restartPolicy="Never"),
        pod("middle", container(command=show, resources={"requests": {"memory": "2Gi"}}), restartPolicy="Never"),
    )
    for name in ("last", "middle"):
        kubectl.wait(f"pod/{name}", "jsonpath={.status.phase}=Succeeded")
    assert kubectl("logs", "last") == "1000\n"
    capacity = int(kubectl.get("node", node.name)["status"]["capacity"]["memory"].removesuffix("Ki")) * 1024
    assert int(kubectl("logs", "middle")) == pytest.approx(1000 - 1000 * (2 << 30) / capacity, abs=1)


def test_the_tiers_of_pods_share_the_processor_by_what_they_asked_for(kubectl: Kubectl, node: Installation) -> None:
    kubectl.start_pod(pod("weighs", container(resources={"requests": {"cpu": "300m"}})))
    eventually(lambda: read_amounts(Path(node.cgroup, "burstable"))[0] >= 307, "the shares of the burstable pods", 10)
    assert read_amounts(Path(node.cgroup, "besteffort"))[0] == 2


def test_what_the_status_says_of_a_container(kubectl: Kubectl) -> None:
    kubectl.start_pod(pod("plain"))
    (one,) = kubectl.get("pod", "plain")["status"]["containerStatuses"]
    assert one["image"] == TOOLBOX
    assert re.fullmatch(r"containerd://[0-9a-f]{64}", one["containerID"])
    assert one["imageID"]
    assert one["started"] is True and one["ready"] is True and one["restartCount"] == 0
