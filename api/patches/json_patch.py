"""JSON patch, RFC 6902: a list of operations, applied in order, all or none.

Messages and the few liberties (negative indices count from the end, ``replace`` may set an absent member) are those of
the library upstream uses.
"""

import re
from collections.abc import Callable
from typing import Any

import msgspec

from api.patches.documents import copied, equal
from api.patches.errors import PatchError, bounded, kind

MAX_OPERATIONS = 10_000
MAX_COPIED_BYTES = 3 * 1024 * 1024

_INDEX = re.compile(r"[+-]?[0-9]{1,18}", re.ASCII)
_MISSING = "missing value"
_TEST_FAILED = "test failed"

Operation = dict[str, Any]


@bounded
def json_patch(document: Any, operations: Any) -> Any:
    """The document with the operations applied. Raises PatchError."""
    if not isinstance(operations, list):
        raise PatchError(f"json: cannot unmarshal {kind(operations)} into Go value of type jsonpatch.Patch", 400)
    if len(operations) > MAX_OPERATIONS:
        raise PatchError(
            f"The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {len(operations)}", 413
        )
    patched = _Document(copied(document))
    for operation in operations:
        if not isinstance(operation, dict):
            raise PatchError(f"json: cannot unmarshal {kind(operation)} into Go value of type jsonpatch.Operation", 400)
        apply = _OPERATIONS.get(_text(operation, "op") or "unknown")
        if apply is None:
            raise PatchError(f"Unexpected kind: {_text(operation, 'op') or 'unknown'}", 422)
        apply(patched, operation)
    return patched.root


class _Refusal(Exception):
    """A step inside an operation failed; the operation says around it what it was doing."""


class _Document:
    """The document under way, and how much ``copy`` has added to it."""

    def __init__(self, root: Any) -> None:
        self.root = root
        self.copied_bytes = 0

    def add(self, operation: Operation) -> None:
        path = _pointer(operation, "path", "add operation failed to decode path")
        holder, key = self._find(path, f'add operation does not apply: doc is missing path: "{path}"')
        _explained(lambda: _add(holder, key, copied(operation.get("value"))), f"error in add for path: '{path}'")

    def remove(self, operation: Operation) -> None:
        path = _pointer(operation, "path", "remove operation failed to decode path")
        holder, key = self._find(path, f'remove operation does not apply: doc is missing path: "{path}"')
        _explained(lambda: _remove(holder, key), f"error in remove for path: '{path}'")

    def replace(self, operation: Operation) -> None:
        path = _pointer(operation, "path", "replace operation failed to decode path: operation missing path field")
        value = copied(operation.get("value"))
        if path == "":
            if not isinstance(value, (dict, list)):
                raise PatchError("replace operation value must be object or array", 422)
            self.root = value
            return
        holder, key = self._find(path, f"replace operation does not apply: doc is missing path: {path}")
        try:
            _get(holder, key)
        except _Refusal:
            raise PatchError(f"replace operation does not apply: doc is missing key: {path}: {_MISSING}", 422) from None
        if isinstance(holder, dict):
            holder[key] = value
        else:
            holder[_index(key)] = value

    def move(self, operation: Operation) -> None:
        source = _pointer(operation, "from", "move operation failed to decode from: operation, missing from field")
        holder, key = self._find(source, f"move operation does not apply: doc is missing from path: {source}")
        value = _explained(lambda: _get(holder, key), f"error in move for path: '{key}'")
        _explained(lambda: _remove(holder, key), f"error in move for path: '{key}'")
        path = _pointer(operation, "path", "move operation failed to decode path: operation missing path field")
        target, name = self._find(path, f"move operation does not apply: doc is missing destination path: {path}")
        _explained(lambda: _add(target, name, value), f"error in move for path: '{path}'")

    def copy(self, operation: Operation) -> None:
        source = _pointer(operation, "from", "copy operation failed to decode from: operation, missing from field")
        holder, key = self._find(source, f"copy operation does not apply: doc is missing from path: {source}")
        value = _explained(lambda: _get(holder, key), f"error in copy for from: '{source}'")
        path = _pointer(operation, "path", "copy operation failed to decode path")
        target, name = self._find(path, f"copy operation does not apply: doc is missing destination path: {path}")
        self.copied_bytes += len(msgspec.json.encode(value))
        if self.copied_bytes > MAX_COPIED_BYTES:
            raise PatchError(
                "Unable to complete the copy, the accumulated size increase of copy is "
                f"{self.copied_bytes}, exceeding the limit {MAX_COPIED_BYTES}",
                422,
            )
        _explained(lambda: _add(target, name, copied(value)), "error while adding value during copy")

    def test(self, operation: Operation) -> None:
        path = _pointer(operation, "path", "test operation failed to decode path: operation missing path field")
        found = self.root
        if path != "":
            holder, key = self._find(path, f"test operation does not apply: is missing path: {path}")
            found = _explained(lambda: _get(holder, key), f"error in test for path: '{path}'")
        if not equal(found, operation.get("value")):
            raise PatchError(f"testing value {path} failed: {_TEST_FAILED}", 422)

    def _find(self, path: str, complaint: str) -> tuple[Any, str]:
        """What holds the value at the path, and under which key or index."""
        # What stands before the first slash is ignored.
        tokens = [token.replace("~1", "/").replace("~0", "~") for token in path.split("/")[1:]]
        holder = self.root if tokens else None
        for token in tokens[:-1]:
            try:
                holder = _get(holder, token)
            except _Refusal:
                holder = None
            if not isinstance(holder, (dict, list)):
                break
        if not isinstance(holder, (dict, list)):
            raise PatchError(f"{complaint}: {_MISSING}", 422)
        return holder, tokens[-1]


_OPERATIONS: dict[str, Callable[[_Document, Operation], None]] = {
    "add": _Document.add,
    "remove": _Document.remove,
    "replace": _Document.replace,
    "move": _Document.move,
    "copy": _Document.copy,
    "test": _Document.test,
}


def _text(operation: Operation, name: str) -> str | None:
    value = operation.get(name)
    return value if isinstance(value, str) else None


def _pointer(operation: Operation, name: str, complaint: str) -> str:
    value = _text(operation, name)
    if value is None:
        raise PatchError(f"{complaint}: {_MISSING}", 422)
    return value


def _explained(step: Callable[[], Any], context: str) -> Any:
    try:
        return step()
    except _Refusal as refusal:
        raise PatchError(f"{context}: {refusal}", 422) from None


def _index(key: str) -> int:
    if _INDEX.fullmatch(key) is None:
        quoted = key.replace("\\", "\\\\").replace('"', '\\"')
        raise _Refusal(f'strconv.Atoi: parsing "{quoted}": invalid syntax')
    return int(key)


def _within(holder: list[Any], key: str, length: int) -> int:
    """The index that ``key`` means in a list that counts as ``length`` long."""
    index = _index(key)
    if not -length <= index < length:
        raise _Refusal(f"Unable to access invalid index: {index}: invalid index referenced")
    return index + length if index < 0 else index


def _get(holder: Any, key: str) -> Any:
    if isinstance(holder, list):
        return holder[_within(holder, key, len(holder))]
    return holder.get(key) if isinstance(holder, dict) else None


def _add(holder: Any, key: str, value: Any) -> None:
    if isinstance(holder, dict):
        holder[key] = value
    elif key == "-":
        holder.append(value)
    else:
        try:
            _index(key)
        except _Refusal as refusal:
            raise _Refusal(f"value was not a proper array index: '{key}': {refusal}") from None
        holder.insert(_within(holder, key, len(holder) + 1), value)


def _remove(holder: Any, key: str) -> None:
    if isinstance(holder, list):
        del holder[_within(holder, key, len(holder))]
    elif key in holder:
        del holder[key]
    else:
        raise _Refusal(f"Unable to remove nonexistent key: {key}: {_MISSING}")
