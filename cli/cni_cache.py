"""What containerd's CNI library keeps of each attachment, at a place that cannot be configured.

A file is written after a plugin's ADD and removed after its DEL. When containerd is killed while it makes a sandbox, or
a plugin fails for good, nobody removes the file; the network namespace that it names stays then, too.
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

RESULTS = Path("/var/lib/cni/results")
_NAMESPACES = "/var/run/netns/"

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class CachedResult:
    """One attachment of a sandbox to a network. `namespace` is the path of its network namespace, "" if not told."""

    file: Path
    container: str
    pod_uid: str
    configuration: str
    namespace: str

    def is_of(self, pods: set[str], state: Path) -> bool:
        """Whether it belongs to one of the pods, or to the network that keeps its addresses in `state`."""
        return self.pod_uid in pods or f'"{state}"' in self.configuration


def cached_results(folder: Path = RESULTS) -> Iterator[CachedResult]:
    """All of them, whoever's; files that are none are passed over."""
    for file in sorted(folder.glob("*")):
        try:
            yield _parse(file, json.loads(file.read_bytes()))
        except (OSError, ValueError, TypeError, KeyError, AttributeError, binascii.Error) as error:
            log.debug("event=no_cached_result file=%s error=%r", file, error)


def _parse(file: Path, content: dict[str, Any]) -> CachedResult:
    arguments = dict(content.get("cniArgs") or ())
    places = [str(each.get("sandbox") or "") for each in content["result"].get("interfaces") or ()]
    return CachedResult(
        file,
        content["containerId"],
        str(arguments.get("K8S_POD_UID", "")),
        base64.b64decode(content["config"]).decode(errors="replace"),
        next((place for place in places if place.startswith(_NAMESPACES)), ""),
    )


def ours(pods: set[str], state: Path, folder: Path = RESULTS) -> list[CachedResult]:
    """Those of our pods and of our network, with all others of the same sandboxes (its loopback names no network)."""
    results = list(cached_results(folder))
    containers = {each.container for each in results if each.is_of(pods, state)}
    return [each for each in results if each.container in containers]
