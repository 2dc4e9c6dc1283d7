"""What containerd's CNI library keeps of each attachment, at a place that cannot be configured.

A file `<network>-<container>-<interface>` is written after a plugin's ADD and removed after its DEL. When containerd is
killed while it makes a sandbox, or a plugin fails for good, nobody removes it. It is not written safely, either: when
containerd is killed between making the file and writing to it, or the power fails soon after, the file is empty. Then
only its name tells whose it is, and containerd can never take that sandbox down ("unexpected end of JSON input").
"""

from __future__ import annotations

import base64
import binascii
import json
import logging
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cli.layout import Layout
from cni.bridge.leases import leased_containers
from cni.client.networks import configuration_files, parse_network
from cni.errors import InvalidConfiguration

RESULTS = Path("/var/lib/cni/results")

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Owner:
    """What the attachments of one installation are known by."""

    pods: set[str]
    """UIDs."""
    networks: set[str]
    """Names: other installations may have networks of the same name."""
    containers: set[str]
    """IDs of sandboxes that hold an address of ours."""
    state: Path
    """Where our network keeps its addresses: part of its configuration, and nobody else's."""

    @classmethod
    def of(cls, layout: Layout, pods: set[str]) -> Owner:
        """As it is read from the host."""
        return cls(pods, set(_networks(layout.cni_config)), leased_containers(layout.cni_state), layout.cni_state)


@dataclass(frozen=True, slots=True)
class CachedResult:
    """One attachment of a sandbox to a network. Of a damaged file no more is known than the sandbox."""

    file: Path
    container: str
    damaged: bool
    pod_uid: str = ""
    configuration: str = ""

    def is_of(self, owner: Owner) -> bool:
        """Whether it says itself that it belongs to one of the owner's pods, sandboxes or networks."""
        if self.container in owner.containers:
            return True
        if self.damaged:
            return any(self.file.name.startswith(f"{network}-{self.container}-") for network in owner.networks)
        return self.pod_uid in owner.pods or f'"{owner.state}"' in self.configuration


def ours(owner: Owner, folder: Path = RESULTS) -> list[CachedResult]:
    """The owner's attachments, with all others of the same sandboxes (their loopback names no network)."""
    results = list(_cached_results(folder))
    containers = {each.container for each in results if each.is_of(owner)}
    return [each for each in results if each.container in containers]


def remove_damaged(layout: Layout, folder: Path = RESULTS) -> None:
    """Remove our damaged files; containerd then takes their sandboxes down by what it knows else. Raises OSError.

    To be called while our containerd does not run: it may be writing them.
    """
    for result in ours(Owner.of(layout, set()), folder):
        if result.damaged:
            log.warning("event=damaged_cached_result_removed file=%s", result.file)
            result.file.unlink(missing_ok=True)


def _cached_results(folder: Path) -> Iterator[CachedResult]:
    """All of them, whoever's."""
    for file in sorted(folder.glob("*-*-*")):
        try:
            yield _parse(file, json.loads(file.read_bytes()))
        except (OSError, ValueError, TypeError, KeyError, AttributeError, binascii.Error) as error:
            log.debug("event=damaged_cached_result file=%s error=%r", file, error)
            yield CachedResult(file, file.name.split("-")[-2], damaged=True)


def _parse(file: Path, content: dict[str, Any]) -> CachedResult:
    arguments = dict(content.get("cniArgs") or ())
    return CachedResult(
        file,
        content["containerId"],
        False,
        str(arguments.get("K8S_POD_UID", "")),
        base64.b64decode(content["config"]).decode(errors="replace"),
    )


def _networks(folder: Path) -> Iterator[str]:
    for path in configuration_files(str(folder)):
        try:
            yield parse_network(Path(path).read_bytes(), path).name
        except (OSError, InvalidConfiguration) as error:
            log.debug("event=no_network file=%s error=%s", path, error)
