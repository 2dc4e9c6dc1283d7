"""Network configurations on disk: `.conflist`, `.conf` and `.json` files of a folder (CNI spec 1.1, section 1).

A runtime takes the first file, in the order of their names, that holds a usable configuration.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cni.errors import InvalidConfiguration

ENDINGS = (".conflist", ".conf", ".json")
SUPPORTED = ("0.1.0", "0.2.0", "0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0")
DEFAULT_VERSION = "0.2.0"
_NAME = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9_.\-]*\Z")


@dataclass(frozen=True, slots=True)
class Network:
    """A network: a chain of plugins under one name, spoken to in protocol `version`."""

    name: str
    version: str
    plugins: Sequence[Mapping[str, Any]]
    disable_check: bool = False
    disable_gc: bool = False
    source: str = ""

    def at_least(self, version: str) -> bool:
        """Whether the protocol version of the network is `version` or later."""
        return version_key(self.version) >= version_key(version)


def version_key(version: str) -> tuple[int, ...]:
    """Sorts versions. Raises InvalidConfiguration for text that is none."""
    try:
        return tuple(int(part) for part in version.split("."))
    except ValueError as error:
        raise InvalidConfiguration("invalid version", f"{version!r}") from error


def parse_network(text: str | bytes, source: str = "") -> Network:
    """The network in a configuration file: a list of plugins, or one plugin alone. Raises InvalidConfiguration."""
    try:
        raw = json.loads(text)
    except ValueError as error:
        raise InvalidConfiguration(f"parse {source or 'network configuration'}", str(error)) from error
    if not isinstance(raw, dict):
        raise InvalidConfiguration(f"parse {source or 'network configuration'}", "expected an object")
    where = source or str(raw.get("name", "network configuration"))
    name = raw.get("name")
    if not isinstance(name, str) or not _NAME.match(name):
        raise InvalidConfiguration(f"{where}: invalid name", f"{name!r}")
    plugins = raw.get("plugins") if "plugins" in raw else [raw]
    if not isinstance(plugins, list) or not plugins:
        raise InvalidConfiguration(f"{where}: no plugins in list", name)
    for plugin in plugins:
        if not isinstance(plugin, dict) or not isinstance(plugin.get("type"), str) or not plugin["type"]:
            raise InvalidConfiguration(f"{where}: plugin without a type", json.dumps(plugin))
        if "/" in plugin["type"] or plugin["type"] in (".", ".."):
            raise InvalidConfiguration(f"{where}: plugin type is no name of a program", plugin["type"])
    return Network(
        name=name,
        version=_chosen_version(raw, where),
        plugins=plugins,
        disable_check=_flag(raw, "disableCheck", where),
        disable_gc=_flag(raw, "disableGC", where),
        source=source,
    )


def _chosen_version(raw: Mapping[str, Any], where: str) -> str:
    """The highest version of `cniVersions` and `cniVersion` that is spoken here."""
    offered = raw.get("cniVersions") or []
    if not isinstance(offered, list) or not all(isinstance(item, str) for item in offered):
        raise InvalidConfiguration(f"{where}: cniVersions must be a list of versions", f"{offered!r}")
    single = raw.get("cniVersion")
    if single is not None and not isinstance(single, str):
        raise InvalidConfiguration(f"{where}: cniVersion must be text", f"{single!r}")
    candidates = [*offered, single] if single else list(offered)
    if not candidates:
        return DEFAULT_VERSION
    spoken: list[str] = [version for version in candidates if version in SUPPORTED]
    if not spoken:
        raise InvalidConfiguration(f"{where}: unsupported version", f"{candidates} (supported: {list(SUPPORTED)})")
    return max(spoken, key=version_key)


def _flag(raw: Mapping[str, Any], key: str, where: str) -> bool:
    value = raw.get(key, False)
    if isinstance(value, str):  # the specification's own examples have been quoted this way
        value = {"true": True, "false": False}.get(value.lower(), value)
    if not isinstance(value, bool):
        raise InvalidConfiguration(f"{where}: {key} must be true or false", f"{value!r}")
    return value


def configuration_files(folder: str) -> list[str]:
    """The paths of the configuration files in `folder`, in the order in which a runtime tries them."""
    try:
        names = sorted(os.listdir(folder))
    except FileNotFoundError:
        return []
    return [os.path.join(folder, name) for name in names if name.endswith(ENDINGS)]


def load_network(folder: str) -> Network:
    """The network that a runtime would use. Raises InvalidConfiguration naming the folder and what was wrong in it."""
    files = configuration_files(folder)
    if not files:
        raise InvalidConfiguration("no network config found in", folder)
    failures = []
    for path in files:
        try:
            with open(path, "rb") as file:
                return parse_network(file.read(), path)
        except (OSError, InvalidConfiguration) as error:
            failures.append(str(error))
    raise InvalidConfiguration(f"no valid networks found in {folder}", "; ".join(failures))
