"""Network namespaces with names: what `ip netns add` does beside a node that runs pods.

In a mount namespace of its own, where /run is new and empty as after a boot.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.node

SETUP = """
set -e
mount --make-rprivate /
if mountpoint -q /run/netns; then umount --recursive --lazy /run/netns; fi
mount -t tmpfs run /run
"""
# A runtime gives a pod's namespace a name, somebody adds one by hand, and then the pod is removed.
COURSE = """
mkdir -p /run/netns
touch /run/netns/cni-pod
mount --bind /proc/self/ns/net /run/netns/cni-pod
ip netns add by-hand
umount /run/netns/cni-pod
rm /run/netns/cni-pod
ip netns delete by-hand
"""


def python(call: str) -> str:
    return f"{sys.executable} -c 'from cli import namespaces; namespaces.{call}()'\n"


def run(script: str) -> subprocess.CompletedProcess[str]:
    argv = ["unshare", "--mount", "sh", "-c", SETUP + script]
    return subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)


def test_without_care_the_first_namespace_added_by_hand_binds_all_others() -> None:
    """If this fails iproute2 has changed its ways, and `cli.namespaces` may go."""
    done = run(COURSE)
    assert done.returncode
    assert "busy" in done.stderr


def test_a_node_sees_to_it_that_it_does_not() -> None:
    done = run(python("share") + COURSE + python("unshare") + "test ! -e /run/netns\n! grep netns /proc/self/mounts")
    assert done.returncode == 0, done.stderr


def test_what_is_there_is_left_as_it_is() -> None:
    """By a second start, by another's namespaces, and at the end."""
    script = (
        "mkdir /run/netns; touch /run/netns/theirs\n"
        + python("share")
        + "! grep netns /proc/self/mounts\n"
        + "rm /run/netns/theirs\n"
        + python("share") * 2
        + "test $(grep -c netns /proc/self/mounts) = 1\n"
        + "touch /run/netns/theirs\n"
        + python("unshare")
        + "test $(grep -c netns /proc/self/mounts) = 1\n"
    )
    done = run(script)
    assert done.returncode == 0, done.stderr
