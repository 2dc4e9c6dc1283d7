"""From the body of a request to the object in it, or to the error upstream answers with.

Bodies are JSON, YAML or protobuf. An object may leave out its kind and version, but what it says must fit the URL.
What the declared type does not know is reported as warnings, or refused, as the client wished (fieldValidation).
"""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

from api import codec, errors, protobuf
from api.scheme import SCHEME, Resource
from controlplane.apiserver import negotiation, options
from controlplane.apiserver.exchange import Exchange
from controlplane.apiserver.yaml_bodies import YamlError, to_json

T = TypeVar("T")

_SCHEME_NAME = "pkg/api/legacyscheme/scheme.go:30"


class _TypeMeta(msgspec.Struct, rename="camel"):
    api_version: str = ""
    kind: str = ""


_type_meta = msgspec.json.Decoder(_TypeMeta).decode


async def read_object(exchange: Exchange, resource: Resource, validation: str) -> Any:
    """Read the body as an object of a resource; raises StatusError (BadRequest, UnsupportedMediaType, …)."""
    media_type = negotiation.input_type(exchange.headers.get("Content-Type", ""))
    body = await exchange.read_body()
    return decode_as(exchange, body, media_type, resource.type, resource.api_version, resource.kind, validation)


async def read_struct(exchange: Exchange, kind: type[T], api_version: str, name: str, validation: str) -> T:
    """Read the body as an object that belongs to no stored resource (Binding, Scale, a review)."""
    media_type = negotiation.input_type(exchange.headers.get("Content-Type", ""))
    body = await exchange.read_body()
    return decode_as(exchange, body, media_type, kind, api_version, name, validation)


def decode_as(
    exchange: Exchange, body: bytes, media_type: str, into: type[T], api_version: str, kind: str, validation: str
) -> T:
    """Decode a body that must hold one `kind`."""
    try:
        body, repeats = _as_json(body, media_type, into)
    except YamlError as error:
        raise _unrecognized(kind, f"couldn't get version/kind; json parse error: {error}", body) from None
    except protobuf.ProtobufError as error:
        raise _unrecognized(kind, str(error), body) from None
    try:
        given = _type_meta(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        _refuse_unreadable(kind, body)
        raise _unrecognized(kind, "couldn't get version/kind; json parse error: not an object", body) from None
    except RecursionError:
        raise _unrecognized(kind, "couldn't get version/kind; json parse error: exceeded max depth", body) from None
    said_version, said_kind = given.api_version or api_version, given.kind or kind
    if (said_version, said_kind) != (api_version, kind):
        _refuse_kind(said_version, said_kind, api_version, kind)
    try:
        if validation == options.IGNORE:
            return codec.decode(body, into)
        obj, reports = codec.decode_reporting(body, into)
    except codec.DecodeError as error:
        raise _unhandled(said_version, said_kind, kind, str(error)) from None
    if repeats and validation == options.STRICT:
        reports.insert(0, "\n  ".join(["yaml: unmarshal errors:", *repeats]))
    if reports and validation == options.STRICT:
        raise _unhandled(said_version, said_kind, kind, f"strict decoding error: {', '.join(reports)}")
    for text in (*repeats, *reports):
        exchange.warn(text)
    return obj


def decode_any_version(exchange: Exchange, body: bytes, media_type: str, into: type[T], kind: str) -> T:
    """Decode options, whose apiVersion does not matter: older clients send that of the object they are about."""
    try:
        body, _ = _as_json(body, media_type, into)
    except YamlError as error:
        raise errors.bad_request(f"couldn't get version/kind; json parse error: {error}") from None
    except protobuf.ProtobufError as error:
        raise errors.bad_request(str(error)) from None
    try:
        given = _type_meta(body)
        if given.kind and given.kind != kind:
            raise errors.bad_request(
                f"converting ({given.api_version}.{given.kind}) to (internalversion.{kind}): unknown conversion"
            )
        return codec.decode(body, into)
    except (codec.DecodeError, msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise errors.bad_request(f"couldn't get version/kind; json parse error: {error}") from None


def _as_json(body: bytes, media_type: str, into: type[Any]) -> tuple[bytes, list[str]]:
    """The body in the one form that is decoded, with the repeats that this form cannot show.

    Raises YamlError or ProtobufError.
    """
    if media_type == negotiation.YAML:
        return to_json(body)
    if media_type == negotiation.PROTOBUF:
        return protobuf.to_json(body, into), []
    return body, []


def _refuse_unreadable(kind: str, body: bytes) -> None:
    """Raise for what is no JSON object at all, in the words of a JSON parser."""
    try:
        codec.decode(body, _TypeMeta)
    except codec.DecodeError as error:
        raise _unrecognized(kind, f"couldn't get version/kind; json parse error: {error}", body) from None


def _refuse_kind(said_version: str, said_kind: str, api_version: str, kind: str) -> None:
    known = SCHEME.by_kind(said_version, said_kind)
    said_group, wanted_group = said_version.rpartition("/")[0], api_version.rpartition("/")[0]
    if known is None:
        cause = f'no kind "{said_kind}" is registered for version "{said_version}" in scheme "{_SCHEME_NAME}"'
        raise _unhandled(said_version, said_kind, kind, cause)
    if said_kind == kind and said_group == wanted_group:
        raise errors.bad_request(
            f"the API version in the data ({said_version}) does not match the expected API version ({api_version})"
        )
    version = said_version.rpartition("/")[2]
    cause = f"converting ({version}.{said_kind}) to (core.{kind}): unknown conversion"
    raise _unhandled(said_version, said_kind, kind, cause)


def _unhandled(version: str, said: str, wanted: str, cause: str) -> errors.StatusError:
    number = version.rpartition("/")[2]
    return errors.bad_request(f'{said} in version "{number}" cannot be handled as a {wanted}: {cause}')


def _unrecognized(kind: str, cause: str, body: bytes) -> errors.StatusError:
    return errors.bad_request(
        f"the object provided is unrecognized (must be of type {kind}): {cause} ({_summary(body)})"
    )


def _summary(body: bytes) -> str:
    """The beginning of a body, as text if it looks like JSON and in hexadecimal otherwise."""
    if not body:
        return "<empty>"
    start = body[:30]
    shown = start.decode("utf-8", "replace") if body[:1] == b"{" else start.hex()
    return shown + (" ..." if len(body) > 30 else "")
