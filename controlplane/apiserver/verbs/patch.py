"""patch: change an object by describing the change.

The three patch formats work on the JSON form; the result is decoded, defaulted and goes the way of an update. The patch
is applied anew to the newest object each time somebody else was faster.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec

from api import codec, errors, fields, patches
from api import meta_v1 as meta
from api.defaults import set_defaults
from controlplane.apiserver import negotiation, options, replies
from controlplane.apiserver.exchange import Exchange, Reply
from controlplane.apiserver.options import WriteOptions
from controlplane.apiserver.registry.registry import Registry
from controlplane.apiserver.verbs import metadata
from controlplane.apiserver.verbs.environment import Environment
from controlplane.apiserver.verbs.update import WHOLE, Part, change_object

#: Operations one JSON patch may hold (upstream's limit).
_MAX_OPERATIONS = 10_000

#: What an operation of a JSON patch is made of.
_OPERATION = frozenset({"op", "path", "from", "value"})

_JSON_WORDS: dict[type, str] = {
    dict: "object", list: "array", str: "string", bool: "bool", int: "number", float: "number", type(None): "null",
}  # fmt: skip


async def patch(registry: Registry, environment: Environment, exchange: Exchange, part: Part = WHOLE) -> Reply:
    """Answer a PATCH of an object or of one of its parts."""
    kind = negotiation.patch_type(exchange.headers.get("Content-Type", ""))
    output = replies.output_of(exchange)
    wanted = options.write_options(exchange.query, "PatchOptions")
    wish = read_patch(kind, await exchange.read_body(), wanted)
    namespace = exchange.info.namespace if registry.resource.namespaced else ""

    def change(current: Any) -> Any:
        new = apply(wish, current, registry.type, exchange, wanted)
        metadata.check_namespace(new.metadata, namespace)
        metadata.check_name(new.metadata, exchange.info.name, namespace)
        metadata.deduplicate_owners(new.metadata, exchange.warn)
        return new

    served = await change_object(registry, environment, exchange, change, wanted, part)
    return replies.object_reply(exchange, output, served)


@dataclass(frozen=True, slots=True)
class Patch:
    """What a client wishes changed, in one of the three formats, and what strict validation objects to in it."""

    kind: str
    document: Any
    objections: list[str]


def read_patch(kind: str, body: bytes, wanted: WriteOptions) -> Patch:
    """The patch in a body; raises StatusError (BadRequest, RequestEntityTooLarge) when it is none of its kind."""
    operations = kind == negotiation.JSON_PATCH
    try:
        if wanted.field_validation == options.IGNORE:
            document, found = codec.decode_any(body), list[str]()
        else:
            document, found = codec.decode_any_reporting(body, _OPERATION if operations else frozenset())
    except codec.DecodeError as error:
        raise errors.bad_request(f"error decoding patch: {error}") from None
    if operations:
        if not isinstance(document, list):
            word = _JSON_WORDS[type(document)]
            raise errors.bad_request(
                f"error decoding patch: json: cannot unmarshal {word} into Go value of type []handlers.jsonPatchOp"
            )
        if len(document) > _MAX_OPERATIONS:
            raise errors.request_entity_too_large(
                f"The allowed maximum operations in a JSON patch is {_MAX_OPERATIONS}, got {len(document)}"
            )
    elif not isinstance(document, dict):
        word = _JSON_WORDS[type(document)]
        raise errors.bad_request(
            f"error decoding patch: json: cannot unmarshal {word} into Go value of type map[string]interface {{}}"
        )
    return Patch(kind, document, [f"json patch {text}" for text in found] if operations else found)


def apply(wish: Patch, current: Any, into: type[Any], exchange: Exchange, wanted: WriteOptions) -> Any:
    """The patched object, decoded and defaulted; raises StatusError (BadRequest, Invalid)."""
    before = codec.to_builtins(current)
    try:
        if wish.kind == negotiation.JSON_PATCH:
            after = patches.json_patch(before, wish.document)
        elif wish.kind == negotiation.MERGE_PATCH:
            after = patches.merge_patch(before, wish.document)
        else:
            after = patches.strategic_merge_patch(before, wish.document, into)
    except patches.PatchError as error:
        raise _refused(error) from None
    return _decoded(after, wish.objections, into, exchange, wanted)


def _decoded(after: Any, objections: list[str], into: type[Any], exchange: Exchange, wanted: WriteOptions) -> Any:
    try:
        raw = msgspec.json.encode(after)
        if wanted.field_validation == options.IGNORE:
            obj = codec.decode(raw, into)
        else:
            obj, reports = codec.decode_reporting(raw, into)
            reports = objections + reports
            if reports and wanted.field_validation == options.STRICT:
                raise _invalid(raw, f"strict decoding error: {', '.join(reports)}")
            for text in reports:
                exchange.warn(text)
    except codec.DecodeError as error:
        raise _invalid(raw, str(error)) from None
    blank = into()
    if (obj.api_version, obj.kind) != (blank.api_version, blank.kind):
        raise _invalid(raw, f"{obj.kind} in version {obj.api_version} cannot be handled as a {blank.kind}")
    set_defaults(obj)
    return obj


def _invalid(raw: bytes, detail: str) -> errors.StatusError:
    return errors.invalid("", "", [fields.invalid("patch", raw.decode("utf-8", "replace"), detail)])


def _refused(error: patches.PatchError) -> errors.StatusError:
    if error.code == 400:
        return errors.bad_request(str(error))
    if error.code == 413:
        return errors.request_entity_too_large(str(error))
    if error.code == 422:
        # Which operation it was is not said: clients know this refusal by its words.
        return errors.generic_server_response(422, "")
    return errors.StatusError(meta.Status(status="Failure", code=error.code, message=str(error)))
