"""Putting the resourceVersion into stored bytes.

An object is stored without its resourceVersion, since that is the revision of the write itself. It is spliced in once
per change, not by decoding: our encoder writes apiVersion, kind and metadata first, so the metadata object opens at the
first place where its name occurs. Nothing else of the document is looked at.
"""

from __future__ import annotations

_METADATA = b'"metadata":{'


def splice(value: bytes, revision: int) -> bytes:
    """The stored object with `revision` as the first member of its metadata.

    Raises ValueError for bytes that are no stored object.
    """
    found = value.find(_METADATA)
    if found < 0:
        raise ValueError("stored object has no metadata")
    cut = found + len(_METADATA)
    comma = b"" if value[cut : cut + 1] == b"}" else b","
    return b'%b"resourceVersion":"%d"%b%b' % (value[:cut], revision, comma, value[cut:])


def resplice(served: bytes, old: int, new: int) -> bytes:
    """A served object with the resourceVersion `old` that `splice` put there replaced by `new`."""
    return served.replace(b'"resourceVersion":"%d"' % old, b'"resourceVersion":"%d"' % new, 1)


def unsplice(served: bytes, revision: int) -> bytes:
    """The stored form of a served object: the inverse of `splice`."""
    member = b'"resourceVersion":"%d"' % revision
    found = served.find(member)
    end = found + len(member)
    return served[:found] + served[end + (served[end : end + 1] == b",") :]
