"""What is valid and yet unwise or out of date, in upstream's words: the text of a reply's Warning headers.

Only objects that have passed validation are looked at. An update is warned of once more only where it changes what the
warnings are about, so that a controller that scales is not told every time what its user wrote.
"""

from __future__ import annotations

from typing import Any

from api.warnings import configuration, workloads

_CREATE = {**workloads.CREATE, **configuration.CREATE}
_UPDATE = {**workloads.UPDATE, **configuration.UPDATE}


def create_warnings(obj: Any) -> list[str]:
    """What to tell the one who makes an object."""
    warnings = _CREATE.get(type(obj))
    return [] if warnings is None else warnings(obj)


def update_warnings(new: Any, old: Any) -> list[str]:
    """What to tell the one who changes an object; generations must have been counted."""
    warnings = _UPDATE.get(type(new))
    return [] if warnings is None else warnings(new, old)
