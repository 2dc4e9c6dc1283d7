"""Replies made of objects: as stored, indented, as YAML, as metadata only, as a Table; and failures as a Status.

The common case, JSON to a client that wants JSON, hands the bytes on untouched.
"""

from __future__ import annotations

import msgspec

from api import codec, errors
from controlplane.apiserver import negotiation, options
from controlplane.apiserver.exchange import Exchange, Reply
from controlplane.apiserver.negotiation import Output

#: Replies of at most this many bytes are sent as they are even to clients that take gzip (upstream's threshold).
GZIP_THRESHOLD = 128 * 1024


class _Metadata(msgspec.Struct):
    metadata: msgspec.Raw = msgspec.Raw(b"{}")


_metadata_of = msgspec.json.Decoder(_Metadata).decode


def output_of(exchange: Exchange, *, transforms: tuple[str, ...] = negotiation.TRANSFORMS) -> Output:
    """What the client wants back; raises StatusError (NotAcceptable). Ask before doing anything."""
    return negotiation.output(exchange.headers.get("Accept", ""), transforms=transforms)


def reply(exchange: Exchange, output: Output, body: bytes, status: int = 200) -> Reply:
    """A reply of JSON bytes, in the form the client wants."""
    if output is not negotiation.PLAIN or exchange.query or "User-Agent" in exchange.headers:
        indented = output.pretty or options.pretty(exchange.query, exchange.headers.get("User-Agent", ""))
        if output.media_type == negotiation.YAML:
            return _compressed(exchange, Reply(status, to_yaml(body), negotiation.YAML))
        if indented:
            body = msgspec.json.format(body, indent=2) + b"\n"
    return _compressed(exchange, Reply(status, body))


def object_reply(exchange: Exchange, output: Output, body: bytes, status: int = 200) -> Reply:
    """As `reply` for one API object, which the client may want as its metadata only."""
    if output.transform is not None and output.transform.kind == "PartialObjectMetadata":
        body = partial_metadata(body, output.transform.api_version)
    return reply(exchange, output, body, status)


def status_reply(exchange: Exchange, error: errors.StatusError) -> Reply:
    """The Status of a failure. Clients that accept nothing we have get JSON all the same."""
    status = error.status
    try:
        output = negotiation.output(exchange.headers.get("Accept", ""), transforms=negotiation.TRANSFORMS)
    except errors.StatusError:
        output = negotiation.PLAIN
    sent = reply(exchange, output, codec.encode(status), status.code or 500)
    if error.retry_after_seconds:
        sent.headers = (*sent.headers, ("Retry-After", str(error.retry_after_seconds)))
    return sent


def partial_metadata(body: bytes, api_version: str) -> bytes:
    """The PartialObjectMetadata of a served object, without decoding the rest of it."""
    return b'{"kind":"PartialObjectMetadata","apiVersion":"%b","metadata":%b}' % (
        api_version.encode(),
        bytes(_metadata_of(body).metadata),
    )


def to_yaml(body: bytes) -> bytes:
    """JSON as YAML, members in their order."""
    import yaml  # imported late: hardly any client asks for YAML

    data = msgspec.json.decode(body)
    text: str = yaml.dump(data, Dumper=yaml.CSafeDumper, sort_keys=False, allow_unicode=True)
    return text.encode()


def _compressed(exchange: Exchange, plain: Reply) -> Reply:
    plain.gzip = len(plain.body) > GZIP_THRESHOLD and _takes_gzip(exchange.headers.get("Accept-Encoding", ""))
    return plain


def _takes_gzip(accept_encoding: str) -> bool:
    return any(token.strip() == "gzip" for token in accept_encoding.split(","))
