"""What was attached where, on disk: the results of ADD, which CHECK and DEL need again (CNI spec 1.1, section 3).

One file an attachment, written whole or not at all. A damaged one is set aside (`.damaged`) and counts as absent, which
the specification allows for: DEL works without a previous result.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

ENDING = ".json"


@dataclass(frozen=True, slots=True)
class Attachment:
    """A container's interface on a network, with all that ADD was told about it.

    `arguments` become CNI_ARGS; `capabilities` are the values a plugin gets of those capabilities that it declares.
    """

    container: str
    netns: str
    interface: str
    arguments: Mapping[str, str] = field(default_factory=dict)
    capabilities: Mapping[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> tuple[str, str]:
        return self.container, self.interface


class AttachmentCache:
    """The attachments under a folder."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def _path(self, network: str, attachment: Attachment) -> str:
        return os.path.join(self.folder, f"{network}-{attachment.container}-{attachment.interface}{ENDING}")

    def put(self, network: str, attachment: Attachment, result: Mapping[str, Any]) -> None:
        """Remember an attachment and its result; on disk when this returns. Raises OSError."""
        os.makedirs(self.folder, exist_ok=True)
        path = self._path(network, attachment)
        temporary = f"{path}.{os.getpid()}.tmp"
        with open(temporary, "w", encoding="utf-8") as file:
            json.dump({"network": network, "attachment": asdict(attachment), "result": result}, file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
        self._sync_folder()

    def _sync_folder(self) -> None:
        descriptor = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def result(self, network: str, attachment: Attachment) -> dict[str, Any] | None:
        """The result of the attachment's ADD, or None."""
        record = self._read(self._path(network, attachment))
        return None if record is None else record["result"]

    def drop(self, network: str, attachment: Attachment) -> None:
        """Forget an attachment; one that is forgotten already is fine."""
        try:
            os.unlink(self._path(network, attachment))
        except FileNotFoundError:
            pass

    def all(self, network: str) -> list[Attachment]:
        """The attachments of a network."""
        found = []
        try:
            names = sorted(os.listdir(self.folder))
        except FileNotFoundError:
            return []
        for name in names:
            if name.endswith(ENDING):
                record = self._read(os.path.join(self.folder, name))
                if record is not None and record["network"] == network:
                    found.append(Attachment(**record["attachment"]))
        return found

    @staticmethod
    def _read(path: str) -> dict[str, Any] | None:
        try:
            with open(path, encoding="utf-8") as file:
                record = json.load(file)
            if not isinstance(record["result"], dict) or not isinstance(record["network"], str):
                raise ValueError("not the record of an attachment")
            Attachment(**record["attachment"])
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError):
            os.replace(path, f"{path}.damaged")
            return None
        return dict(record)
