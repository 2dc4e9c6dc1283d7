"""Security contexts: what pod and container settings come to, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agent.runtime.errors import ConfigError
from agent.runtime.facts import NodeFacts
from agent.runtime.namespaces import namespace_options
from agent.runtime.security import (
    MASKED_PATHS,
    READ_ONLY_PATHS,
    ImageUser,
    check_non_root,
    container_security,
    sandbox_security,
)
from proto import cri_pb2 as cri
from tests.unit.agent.pod_builders import UID, pod

FACTS = NodeFacts(name="node", extra_masked_paths=("/sys/throttle",))


def context(
    container: dict[str, Any] | None = None, image_user: ImageUser | None = None, target: str = "", **spec: Any
) -> cri.LinuxContainerSecurityContext:
    one = pod({"name": "app", "securityContext": container or {}}, **spec)
    return container_security(
        one,
        one.spec.containers[0],
        FACTS,
        seccomp_root=Path("/agent/seccomp"),
        image_user=image_user or ImageUser(),
        target_container_id=target,
    )


def test_the_plainest_container() -> None:
    made = context()
    assert made.run_as_user.value == 0 and made.HasField("run_as_user")
    assert not made.HasField("run_as_group")
    assert not made.privileged and not made.readonly_rootfs and not made.no_new_privs
    assert list(made.masked_paths) == [*MASKED_PATHS, "/sys/throttle"]
    assert list(made.readonly_paths) == list(READ_ONLY_PATHS)
    assert made.seccomp.profile_type == cri.SecurityProfile.Unconfined
    assert not made.HasField("apparmor") and not made.HasField("selinux_options")
    options = made.namespace_options
    assert (options.network, options.pid, options.ipc) == (cri.POD, cri.CONTAINER, cri.POD)


@pytest.mark.parametrize(
    ("container", "shared", "image", "user", "name"),
    [
        ({}, {}, ImageUser(uid=5), 5, ""),
        ({}, {}, ImageUser(username="nginx"), None, "nginx"),
        ({}, {"runAsUser": 6}, ImageUser(uid=5), 6, ""),
        ({"runAsUser": 7}, {"runAsUser": 6}, ImageUser(username="nginx"), 7, ""),
        ({"runAsUser": 0}, {"runAsUser": 6}, ImageUser(), 0, ""),
    ],
)
def test_the_user_is_the_containers_the_pods_or_the_images(
    container: dict[str, Any], shared: dict[str, Any], image: ImageUser, user: int | None, name: str
) -> None:
    made = context(container, image, securityContext=shared)
    assert (made.run_as_user.value if made.HasField("run_as_user") else None, made.run_as_username) == (user, name)


def test_groups() -> None:
    made = context(
        {"runAsGroup": 3},
        securityContext={
            "runAsGroup": 4,
            "fsGroup": 5,
            "supplementalGroups": [6, 7],
            "supplementalGroupsPolicy": "Strict",
        },
    )
    assert made.run_as_group.value == 3
    assert list(made.supplemental_groups) == [5, 6, 7]
    assert made.supplemental_groups_policy == cri.Strict


def test_flags_capabilities_and_labels() -> None:
    made = context(
        {
            "privileged": True,
            "readOnlyRootFilesystem": True,
            "allowPrivilegeEscalation": False,
            "capabilities": {"add": ["NET_ADMIN"], "drop": ["ALL"]},
            "seLinuxOptions": {"level": "s0:c1"},
            "procMount": "Unmasked",
        },
        securityContext={"seLinuxOptions": {"level": "s0:c9"}},
    )
    assert made.privileged and made.readonly_rootfs and made.no_new_privs
    assert list(made.capabilities.add_capabilities) == ["NET_ADMIN"]
    assert list(made.capabilities.drop_capabilities) == ["ALL"]
    assert made.selinux_options.level == "s0:c1"
    assert not made.masked_paths and not made.readonly_paths


@pytest.mark.parametrize(
    ("container", "shared", "kind", "reference"),
    [
        ({"type": "RuntimeDefault"}, None, cri.SecurityProfile.RuntimeDefault, ""),
        (None, {"type": "RuntimeDefault"}, cri.SecurityProfile.RuntimeDefault, ""),
        ({"type": "Unconfined"}, {"type": "RuntimeDefault"}, cri.SecurityProfile.Unconfined, ""),
        (
            {"type": "Localhost", "localhostProfile": "p/strict.json"},
            None,
            cri.SecurityProfile.Localhost,
            "/agent/seccomp/p/strict.json",
        ),
    ],
)
def test_seccomp(
    container: dict[str, Any] | None,
    shared: dict[str, Any] | None,
    kind: cri.SecurityProfile.ProfileType,
    reference: str,
) -> None:
    made = context(
        {"seccompProfile": container} if container else {},
        securityContext={"seccompProfile": shared} if shared else {},
    )
    assert (made.seccomp.profile_type, made.seccomp.localhost_ref) == (kind, reference)


def test_localhost_profiles_need_a_name() -> None:
    with pytest.raises(ConfigError, match="localhostProfile must be set if seccompProfile type is Localhost"):
        context({"seccompProfile": {"type": "Localhost"}})


@pytest.mark.parametrize(
    ("annotation", "profile", "expected"),
    [
        ("runtime/default", None, (cri.SecurityProfile.RuntimeDefault, "")),
        ("unconfined", None, (cri.SecurityProfile.Unconfined, "")),
        ("localhost/mine", None, (cri.SecurityProfile.Localhost, "mine")),
        ("unconfined", {"type": "Localhost", "localhostProfile": "own"}, (cri.SecurityProfile.Localhost, "own")),
    ],
)
def test_apparmor_by_field_or_annotation(
    annotation: str, profile: dict[str, Any] | None, expected: tuple[cri.SecurityProfile.ProfileType, str]
) -> None:
    one = pod({"name": "app", "securityContext": {"appArmorProfile": profile} if profile else {}})
    one.metadata.annotations["container.apparmor.security.beta.kubernetes.io/app"] = annotation
    made = container_security(
        one, one.spec.containers[0], FACTS, seccomp_root=Path("/"), image_user=ImageUser()
    ).apparmor
    assert (made.profile_type, made.localhost_ref) == expected


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({}, (cri.POD, cri.CONTAINER, cri.POD)),
        ({"hostNetwork": True, "hostPID": True, "hostIPC": True}, (cri.NODE, cri.NODE, cri.NODE)),
        ({"shareProcessNamespace": True}, (cri.POD, cri.POD, cri.POD)),
        ({"shareProcessNamespace": False}, (cri.POD, cri.CONTAINER, cri.POD)),
    ],
)
def test_namespaces(spec: dict[str, Any], expected: tuple[int, int, int]) -> None:
    options = namespace_options(pod(**spec), FACTS)
    assert (options.network, options.pid, options.ipc) == expected


def test_user_namespaces_are_refused_where_the_runtime_has_none() -> None:
    one = pod(hostUsers=False)
    with pytest.raises(ConfigError) as caught:
        namespace_options(one, FACTS)
    assert str(caught.value) == "can't set `spec.hostUsers: false`, runtime does not support user namespaces"
    with pytest.raises(ConfigError, match='RuntimeClass handler "kata" does not support user namespaces'):
        namespace_options(one, FACTS, "kata")


def test_an_ephemeral_container_enters_its_targets_process_namespace() -> None:
    made = context(target="c0ffee").namespace_options
    assert (made.pid, made.target_id) == (cri.TARGET, "c0ffee")
    shared = context(target="c0ffee", shareProcessNamespace=True).namespace_options
    assert (shared.pid, shared.target_id) == (cri.POD, "")


WHERE = f'(pod: "web_default({UID})", container: app)'


@pytest.mark.parametrize(
    ("container", "shared", "image", "message"),
    [
        ({}, {}, ImageUser(), None),
        ({"runAsNonRoot": False}, {"runAsNonRoot": True}, ImageUser(), None),
        ({"runAsNonRoot": True}, {}, ImageUser(uid=5), None),
        ({"runAsNonRoot": True, "runAsUser": 5}, {}, ImageUser(), None),
        ({"runAsNonRoot": True}, {"runAsUser": 5}, ImageUser(username="nginx"), None),
        ({"runAsNonRoot": True}, {}, ImageUser(), f"container has runAsNonRoot and image will run as root {WHERE}"),
        (
            {},
            {"runAsNonRoot": True},
            ImageUser(uid=0),
            f"container has runAsNonRoot and image will run as root {WHERE}",
        ),
        (
            {"runAsNonRoot": True},
            {},
            ImageUser(username="nginx"),
            "container has runAsNonRoot and image has non-numeric user (nginx), "
            f"cannot verify user is non-root {WHERE}",
        ),
        (
            {"runAsNonRoot": True, "runAsUser": 0},
            {},
            ImageUser(uid=5),
            f"container's runAsUser breaks non-root policy {WHERE}",
        ),
    ],
)
def test_root_where_it_must_not_be(
    container: dict[str, Any], shared: dict[str, Any], image: ImageUser, message: str | None
) -> None:
    one = pod({"name": "app", "securityContext": container}, securityContext=shared)
    if message is None:
        check_non_root(one, one.spec.containers[0], image)
        return
    with pytest.raises(ConfigError) as caught:
        check_non_root(one, one.spec.containers[0], image)
    assert str(caught.value) == message


def test_the_sandbox() -> None:
    one = pod(
        {"name": "app"},
        {"name": "root", "securityContext": {"privileged": True}},
        securityContext={"runAsUser": 5, "runAsGroup": 6, "fsGroup": 7, "seLinuxOptions": {"type": "t"}},
    )
    made = sandbox_security(one, FACTS)
    assert made.privileged
    assert (made.run_as_user.value, made.run_as_group.value) == (5, 6)
    assert list(made.supplemental_groups) == [7]
    assert made.selinux_options.type == "t"
    assert made.seccomp.profile_type == cri.SecurityProfile.RuntimeDefault
    assert not sandbox_security(pod(securityContext={"runAsGroup": 6}), FACTS).HasField("run_as_group")
