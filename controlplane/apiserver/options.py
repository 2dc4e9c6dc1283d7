"""The options a request may carry in its query, checked as upstream checks them.

Each verb has its options type (meta/v1 GetOptions, ListOptions, CreateOptions, …). What cannot be read is a
BadRequest; what can be read but makes no sense is Invalid with all its causes. DeleteOptions can come in a body too:
see :mod:`controlplane.apiserver.verbs.delete`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from api import errors, fields
from controlplane.apiserver.negotiation import is_human
from controlplane.apiserver.query import Query

_META = "meta.k8s.io"
_FIELD_MANAGER_MAX = 128

EXACT = "Exact"
NOT_OLDER_THAN = "NotOlderThan"

IGNORE, WARN, STRICT = "Ignore", "Warn", "Strict"


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """What create, update and patch have in common."""

    dry_run: bool = False
    field_manager: str = ""
    field_validation: str = WARN


_DEFAULT_WRITE = WriteOptions()


@dataclass(frozen=True, slots=True)
class ListOptions:
    """Options of list, watch and deletecollection; selectors are still text."""

    label_selector: str = ""
    field_selector: str = ""
    watch: bool = False
    allow_watch_bookmarks: bool = False
    resource_version: str = ""
    resource_version_match: str = ""
    timeout_seconds: int | None = None
    limit: int = 0
    continue_: str = ""
    send_initial_events: bool | None = None


_DEFAULT_LIST = ListOptions()


def write_options(query: Query, kind: str) -> WriteOptions:
    """CreateOptions, UpdateOptions or PatchOptions (`kind`); raises StatusError (Invalid)."""
    if not query:
        return _DEFAULT_WRITE
    problems = dry_run_errors(query.get("dryRun", []))
    if kind == "PatchOptions" and "force" in query:
        problems.insert(0, fields.forbidden("force", "may not be specified for non-apply patch"))
    manager = query.first("fieldManager")
    if len(manager.encode()) > _FIELD_MANAGER_MAX:
        problems.append(fields.too_long("fieldManager", _FIELD_MANAGER_MAX))
    for position, char in enumerate(manager):
        if not char.isprintable():
            detail = f"invalid character U+{ord(char):04X} (at position {position})"
            problems.append(fields.invalid("fieldManager", manager, detail))
    validation = query.first("fieldValidation")
    if validation not in ("", IGNORE, WARN, STRICT):
        problems.append(fields.not_supported("fieldValidation", validation, ("", IGNORE, STRICT, WARN)))
    if problems:
        raise errors.invalid(errors.GroupName(_META, kind), "", problems)
    return WriteOptions(bool(query.get("dryRun")), manager, validation or WARN)


def dry_run_errors(values: list[str]) -> fields.FieldErrors:
    """What is wrong with the values of `dryRun`: only "All" is known."""
    if all(value == "All" for value in values):
        return []
    return [fields.not_supported("dryRun", values, ("All",))]


def list_options(query: Query, *, force_watch: bool = False, delete: bool = False) -> ListOptions:
    """ListOptions with defaults; `force_watch` for the /watch/ paths. Raises StatusError (BadRequest, Invalid)."""
    if not query and not force_watch:
        return _DEFAULT_LIST
    watch = (force_watch or query.flag("watch")) and not delete
    options = ListOptions(
        label_selector=query.first("labelSelector"),
        field_selector=query.first("fieldSelector"),
        watch=watch,
        allow_watch_bookmarks=query.flag("allowWatchBookmarks"),
        resource_version=query.first("resourceVersion"),
        resource_version_match=query.first("resourceVersionMatch"),
        timeout_seconds=query.optional_integer("timeoutSeconds"),
        limit=query.integer("limit"),
        continue_=query.first("continue"),
        send_initial_events=query.optional_flag("sendInitialEvents"),
    )
    # A watch that names no version, or "0", has always begun with the objects there are: say so explicitly.
    defaulted = watch and options.send_initial_events is None and not options.resource_version_match
    problems = _watch_errors(options) if watch else _list_errors(options)
    if problems:
        raise errors.invalid(errors.GroupName(_META, "ListOptions"), "", problems)
    if defaulted and options.resource_version in ("", "0"):
        return replace(options, send_initial_events=True, resource_version_match=NOT_OLDER_THAN)
    return options


def pretty(query: Query, user_agent: str) -> bool:
    """Whether the reply is to be indented: by parameter, or because a person's tool asks."""
    if "pretty" in query:
        return query.first("pretty") in ("1", "t", "T", "true", "TRUE", "True")
    return is_human(user_agent)


_DURATION = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h)")
_UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}


def request_timeout(query: Query, maximum: float) -> float:
    """Seconds a request may take: the `timeout` parameter (a Go duration) if it is shorter than `maximum`.

    Raises StatusError (BadRequest) when it is no duration.
    """
    text = query.first("timeout")
    if not text:
        return maximum
    seconds = _duration(text)
    return seconds if 0 < seconds < maximum else maximum


def _duration(text: str) -> float:
    sign, rest = (-1.0, text[1:]) if text[:1] == "-" else (1.0, text.removeprefix("+"))
    if rest == "0":
        return 0.0
    total, position = 0.0, 0
    while position < len(rest):
        match = _DURATION.match(rest, position)
        if match is None:
            break
        total += float(match[1]) * _UNITS[match[2]]
        position = match.end()
    if not rest or position < len(rest):
        unit_missing = bool(re.fullmatch(r"(\d+(\.\d*)?|\.\d+)", rest[position:]))
        problem = "missing unit in" if unit_missing else "invalid"
        raise errors.bad_request(f'invalid timeout specified in the request URL - time: {problem} duration "{text}"')
    return sign * total


def _list_errors(options: ListOptions) -> fields.FieldErrors:
    problems: fields.FieldErrors = []
    match = options.resource_version_match
    if match:
        path = "resourceVersionMatch"
        if not options.resource_version:
            problems.append(fields.forbidden(path, f"{path} is forbidden unless resourceVersion is provided"))
        if options.continue_:
            problems.append(fields.forbidden(path, f"{path} is forbidden when continue is provided"))
        if match not in (EXACT, NOT_OLDER_THAN):
            problems.append(fields.not_supported(path, match, (EXACT, NOT_OLDER_THAN, "")))
        if match == EXACT and options.resource_version == "0":
            problems.append(fields.forbidden(path, f'{path} "exact" is forbidden for resourceVersion "0"'))
    if options.send_initial_events is not None:
        problems.append(fields.forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"))
    return problems


def _watch_errors(options: ListOptions) -> fields.FieldErrors:
    problems: fields.FieldErrors = []
    match, path = options.resource_version_match, "resourceVersionMatch"
    if options.send_initial_events is not None and match != NOT_OLDER_THAN:
        problems.append(fields.forbidden(path, f"sendInitialEvents requires setting {path} to {NOT_OLDER_THAN}"))
    if match:
        if options.send_initial_events is None:
            problems.append(
                fields.forbidden(path, f"{path} is forbidden for watch unless sendInitialEvents is provided")
            )
        if match != NOT_OLDER_THAN:
            problems.append(fields.not_supported(path, match, (NOT_OLDER_THAN,)))
        if options.continue_:
            problems.append(fields.forbidden(path, f"{path} is forbidden when continue is provided"))
    return problems
