"""patch: change an object by describing the change.

The three patch formats work on the JSON form; the result is decoded, defaulted and goes the way of an update. The patch
is applied anew to the newest object each time somebody else was faster.
"""

from __future__ import annotations

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


async def patch(registry: Registry, environment: Environment, exchange: Exchange, part: Part = WHOLE) -> Reply:
    """Answer a PATCH of an object or of one of its parts."""
    kind = negotiation.patch_type(exchange.headers.get("Content-Type", ""))
    output = replies.output_of(exchange)
    wanted = options.write_options(exchange.query, "PatchOptions")
    document = read_patch(kind, await exchange.read_body())
    namespace = exchange.info.namespace if registry.resource.namespaced else ""

    def change(current: Any) -> Any:
        new = apply(kind, document, current, registry.type, exchange, wanted)
        metadata.check_namespace(new.metadata, namespace)
        metadata.check_name(new.metadata, exchange.info.name, namespace)
        metadata.deduplicate_owners(new.metadata, exchange.warn)
        return new

    served = await change_object(registry, environment, exchange, change, wanted, part)
    return replies.object_reply(exchange, output, served)


def read_patch(kind: str, body: bytes) -> Any:
    """The patch document; raises StatusError (BadRequest, RequestEntityTooLarge) when it is none of its kind."""
    try:
        document = codec.decode_any(body)
    except codec.DecodeError as error:
        raise errors.bad_request(f"error decoding patch: {error}") from None
    if kind == negotiation.JSON_PATCH:
        if not isinstance(document, list):
            word = "object" if isinstance(document, dict) else type(document).__name__
            raise errors.bad_request(
                f"error decoding patch: json: cannot unmarshal {word} into Go value of type []handlers.jsonPatchOp"
            )
        if len(document) > _MAX_OPERATIONS:
            raise errors.request_entity_too_large(
                f"The allowed maximum operations in a JSON patch is {_MAX_OPERATIONS}, got {len(document)}"
            )
    elif not isinstance(document, dict):
        word = "array" if isinstance(document, list) else type(document).__name__
        raise errors.bad_request(
            f"error decoding patch: json: cannot unmarshal {word} into Go value of type map[string]interface {{}}"
        )
    return document


def apply(kind: str, document: Any, current: Any, into: type[Any], exchange: Exchange, wanted: WriteOptions) -> Any:
    """The patched object, decoded and defaulted; raises StatusError (BadRequest, Invalid)."""
    before = codec.to_builtins(current)
    try:
        if kind == negotiation.JSON_PATCH:
            after = patches.json_patch(before, document)
        elif kind == negotiation.MERGE_PATCH:
            after = patches.merge_patch(before, document)
        else:
            after = patches.strategic_merge_patch(before, document, into)
    except patches.PatchError as error:
        raise _refused(error) from None
    return _decoded(after, into, exchange, wanted)


def _decoded(after: Any, into: type[Any], exchange: Exchange, wanted: WriteOptions) -> Any:
    try:
        raw = msgspec.json.encode(after)
        if wanted.field_validation == options.IGNORE:
            obj = codec.decode(raw, into)
        else:
            obj, reports = codec.decode_reporting(raw, into)
            if reports:
                if wanted.field_validation == options.STRICT:
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
        refused = errors.generic_server_response(422, "", server_message=str(error))
        if refused.status.details is not None:
            refused.status.details.causes = [meta.StatusCause(message=str(error))]
        return refused
    return errors.StatusError(meta.Status(status="Failure", code=error.code, message=str(error)))
