"""A volume as it is on the host, and the failure to have it there."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class HostVolume:
    """`path` is where it is; `selinux_relabel` says that it is the pod's alone and may take the pod's label."""

    path: str
    read_only: bool = False
    selinux_relabel: bool = False


class SetUpError(Exception):
    """A volume could not be set up; the text is the cause, without the volume's name."""


def failure(volume: str, cause: Exception | str) -> str:
    """The failure of one volume, in the words of the event that reports it."""
    return f'MountVolume.SetUp failed for volume "{volume}" : {cause}'
