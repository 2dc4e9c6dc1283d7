"""What may be called what: the character and length rules for names, keys, labels and ports.

Every rule is a function from a string to a tuple of complaints, empty when the string is fine. The complaints
are part of the wire (clients and tests match on them), so they are those of apimachinery's `util/validation` and
`api/validate/content` to the letter. This module must not know which kind uses which rule, nor field paths.

Lengths are counted in UTF-8 bytes, as the API does. On the way of a correct name nothing is allocated.
"""

from __future__ import annotations

import re
from collections.abc import Callable

Messages = tuple[str, ...]
NameRule = Callable[[str, bool], Messages]
"""A rule for object names: the second argument is true for `generateName`, where a trailing dash is allowed."""

OK: Messages = ()

LABEL_LIMIT = 63
SUBDOMAIN_LIMIT = 253
PORT_NAME_LIMIT = 15

_DNS1123_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_DNS1123_SUBDOMAIN = _DNS1123_LABEL + r"(\." + _DNS1123_LABEL + ")*"
_DNS1123_LABEL_UNDERSCORE = "_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_DNS1123_SUBDOMAIN_UNDERSCORE = _DNS1123_LABEL_UNDERSCORE + r"(\." + _DNS1123_LABEL_UNDERSCORE + ")*"
_WILDCARD_SUBDOMAIN = r"\*\." + _DNS1123_SUBDOMAIN
_DNS1035_LABEL = "[a-z]([-a-z0-9]*[a-z0-9])?"
_QUALIFIED_PART = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_LABEL_VALUE = f"({_QUALIFIED_PART})?"
_C_IDENTIFIER = "[A-Za-z_][A-Za-z0-9_]*"
_ENV_NAME = "[-._a-zA-Z][-._a-zA-Z0-9]*"
_CONFIG_KEY = "[-._a-zA-Z0-9]+"
_PERCENT = "[0-9]+%"
_HEADER_NAME = "[-A-Za-z0-9]+"
_HTTP_PATH = r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+"
_CONDITION_REASON = "[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?"

_is_dns1123_label = re.compile(_DNS1123_LABEL).fullmatch
_is_dns1123_subdomain = re.compile(_DNS1123_SUBDOMAIN).fullmatch
_is_dns1123_subdomain_underscore = re.compile(_DNS1123_SUBDOMAIN_UNDERSCORE).fullmatch
_is_caseless_subdomain = re.compile(_DNS1123_SUBDOMAIN, re.IGNORECASE | re.ASCII).fullmatch
_is_wildcard_subdomain = re.compile(_WILDCARD_SUBDOMAIN).fullmatch
_is_dns1035_label = re.compile(_DNS1035_LABEL).fullmatch
_is_qualified_part = re.compile(_QUALIFIED_PART).fullmatch
_is_label_value = re.compile(_LABEL_VALUE).fullmatch
_is_c_identifier = re.compile(_C_IDENTIFIER).fullmatch
_is_env_name = re.compile(_ENV_NAME).fullmatch
_is_config_key = re.compile(_CONFIG_KEY).fullmatch
_is_percent = re.compile(_PERCENT).fullmatch
_is_header_name = re.compile(_HEADER_NAME).fullmatch
_is_http_path = re.compile(_HTTP_PATH).fullmatch
_is_condition_reason = re.compile(_CONDITION_REASON).fullmatch
_is_port_charset = re.compile("[-a-z0-9]+").fullmatch
_has_letter = re.compile("[a-z]").search
_is_printable_without_equals = re.compile("[ -<>-~]+").fullmatch


def regex_error(rule: str, pattern: str, *examples: str) -> str:
    """The complaint about a string that misses a pattern, with the pattern and examples of what would do."""
    if not examples:
        return f"{rule} (regex used for validation is '{pattern}')"
    listed = " or ".join(f"'{example}', " for example in examples)
    return f"{rule} (e.g. {listed}regex used for validation is '{pattern}')"


def max_length_error(limit: int, unit: str = "characters") -> str:
    return f"must be no more than {limit} {unit}"


def range_error(low: int, high: int) -> str:
    return f"must be between {low} and {high}, inclusive"


_LABEL_ERROR = regex_error(
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end "
    "with an alphanumeric character",
    _DNS1123_LABEL,
    "my-name",
    "123-abc",
)
_SUBDOMAIN_ERROR = regex_error(
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start "
    "and end with an alphanumeric character",
    _DNS1123_SUBDOMAIN,
    "example.com",
)
_SUBDOMAIN_UNDERSCORE_ERROR = regex_error(
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and must "
    "start and end with an alphanumeric character",
    _DNS1123_SUBDOMAIN_UNDERSCORE,
    "example.com",
)
_CASELESS_SUBDOMAIN_ERROR = regex_error(
    "an RFC 1123 subdomain must consist of alphanumeric characters, '-' or '.', and must start and end with an "
    "alphanumeric character",
    _DNS1123_SUBDOMAIN,
    "Example.com",
)
_WILDCARD_ERROR = regex_error(
    "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of "
    "lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character",
    _WILDCARD_SUBDOMAIN,
    "*.example.com",
)
_DNS1035_ERROR = regex_error(
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, "
    "and end with an alphanumeric character",
    _DNS1035_LABEL,
    "my-name",
    "abc-123",
)
_QUALIFIED_PART_ERROR = regex_error(
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
    _QUALIFIED_PART,
    "MyName",
    "my.name",
    "123-abc",
)
_LABEL_VALUE_ERROR = regex_error(
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start "
    "and end with an alphanumeric character",
    _LABEL_VALUE,
    "MyValue",
    "my_value",
    "12345",
)
_C_IDENTIFIER_ERROR = regex_error(
    "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric "
    "characters or '_'",
    _C_IDENTIFIER,
    "my_name",
    "MY_NAME",
    "MyName",
)
_ENV_NAME_ERROR = regex_error(
    "a valid environment variable name must consist of alphabetic characters, digits, '_', '-', or '.', and must not "
    "start with a digit",
    _ENV_NAME,
    "my.env-name",
    "MY_ENV.NAME",
    "MyEnvName1",
)
_RELAXED_ENV_NAME_ERROR = (
    "a valid environment variable name must consist only of printable ASCII characters other than '='"
)
_CONFIG_KEY_ERROR = regex_error(
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
    _CONFIG_KEY,
    "key.name",
    "KEY_NAME",
    "key-name",
)
_PERCENT_ERROR = regex_error(
    "a valid percent string must be a numeric string followed by an ending '%'", _PERCENT, "1%", "93%"
)
_HEADER_NAME_ERROR = regex_error(
    "a valid HTTP header must consist of alphanumeric characters or '-'", _HEADER_NAME, "X-Header-Name"
)
_CONDITION_REASON_ERROR = regex_error(
    "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric "
    "characters or '_,:', and must end with an alphanumeric character or '_'",
    _CONDITION_REASON,
    "my_name",
    "MY_NAME",
    "MyName",
    "ReasonA,ReasonB",
    "ReasonA:ReasonB",
)
HTTP_PATH_ERROR = regex_error("Invalid path", _HTTP_PATH)

_PORT_RANGE = (range_error(1, 65535),)
_ID_RANGE = (range_error(0, 2**31 - 1),)


def byte_length(value: str) -> int:
    """Length of a string in UTF-8 bytes."""
    return len(value) if value.isascii() else len(value.encode("utf-8", "surrogatepass"))


def dns1123_label(value: str) -> Messages:
    """A DNS label as RFC 1123 has it: 63 bytes of lower-case letters, digits and dashes."""
    if len(value) <= LABEL_LIMIT and _is_dns1123_label(value):
        return OK
    errors: Messages = OK
    if byte_length(value) > LABEL_LIMIT:
        errors += (max_length_error(LABEL_LIMIT),)
    if not _is_dns1123_label(value):
        errors += ("must not contain dots" if _is_dns1123_subdomain(value) else _LABEL_ERROR,)
    return errors


def dns1123_subdomain(value: str) -> Messages:
    """Dotted RFC 1123 labels, 253 bytes together."""
    if len(value) <= SUBDOMAIN_LIMIT and _is_dns1123_subdomain(value):
        return OK
    return _too_long(value, SUBDOMAIN_LIMIT) + (OK if _is_dns1123_subdomain(value) else (_SUBDOMAIN_ERROR,))


def dns1123_subdomain_with_underscore(value: str) -> Messages:
    """As `dns1123_subdomain`, and underscores: DNS search domains and relaxed names use them."""
    if len(value) <= SUBDOMAIN_LIMIT and _is_dns1123_subdomain_underscore(value):
        return OK
    fits = _is_dns1123_subdomain_underscore(value)
    return _too_long(value, SUBDOMAIN_LIMIT) + (OK if fits else (_SUBDOMAIN_UNDERSCORE_ERROR,))


def dns1123_subdomain_caseless(value: str) -> Messages:
    """As `dns1123_subdomain`, upper case allowed: CSI and DRA driver names are stored that way."""
    if len(value) <= SUBDOMAIN_LIMIT and _is_caseless_subdomain(value):
        return OK
    limit = (max_length_error(SUBDOMAIN_LIMIT, "bytes"),) if byte_length(value) > SUBDOMAIN_LIMIT else OK
    return limit + (OK if _is_caseless_subdomain(value) else (_CASELESS_SUBDOMAIN_ERROR,))


def wildcard_dns1123_subdomain(value: str) -> Messages:
    """`*.` and a subdomain (RFC 1034, section 4.3.3): hosts of Ingress rules."""
    if len(value) <= SUBDOMAIN_LIMIT and _is_wildcard_subdomain(value):
        return OK
    return _too_long(value, SUBDOMAIN_LIMIT) + (OK if _is_wildcard_subdomain(value) else (_WILDCARD_ERROR,))


def dns1035_label(value: str) -> Messages:
    """A DNS label as RFC 1035 has it: as RFC 1123, but starting with a letter."""
    if len(value) <= LABEL_LIMIT and _is_dns1035_label(value):
        return OK
    return _too_long(value, LABEL_LIMIT) + (OK if _is_dns1035_label(value) else (_DNS1035_ERROR,))


def qualified_name(value: str) -> Messages:
    """A label key, annotation key, finalizer or resource name: `[subdomain/]name`."""
    prefix, slash, name = value.partition("/")
    if not slash:
        name = prefix
    elif "/" in name:
        return (
            f"a valid label key {_QUALIFIED_PART_ERROR} with an optional DNS subdomain prefix and '/' "
            "(e.g. 'example.com/MyName')",
        )
    errors: Messages = OK
    if slash and not (prefix and len(prefix) <= SUBDOMAIN_LIMIT and _is_dns1123_subdomain(prefix)):
        if not prefix:
            errors += ("prefix part must be non-empty",)
        else:
            if byte_length(prefix) > SUBDOMAIN_LIMIT:
                errors += ("prefix part " + max_length_error(SUBDOMAIN_LIMIT, "bytes"),)
            if not _is_dns1123_subdomain(prefix):
                errors += ("prefix part " + _SUBDOMAIN_ERROR,)
    if len(name) <= LABEL_LIMIT and _is_qualified_part(name):
        return errors
    if not name:
        errors += ("name part must be non-empty",)
    elif byte_length(name) > LABEL_LIMIT:
        errors += ("name part " + max_length_error(LABEL_LIMIT, "bytes"),)
    if not _is_qualified_part(name):
        errors += ("name part " + _QUALIFIED_PART_ERROR,)
    return errors


def label_value(value: str) -> Messages:
    """What stands behind a label key: up to 63 bytes, may be empty."""
    if len(value) <= LABEL_LIMIT and _is_label_value(value):
        return OK
    limit = (max_length_error(LABEL_LIMIT, "bytes"),) if byte_length(value) > LABEL_LIMIT else OK
    return limit + (OK if _is_label_value(value) else (_LABEL_VALUE_ERROR,))


def c_identifier(value: str) -> Messages:
    return OK if _is_c_identifier(value) else (_C_IDENTIFIER_ERROR,)


def env_var_name(value: str) -> Messages:
    """An environment variable's name in the strict form (prefixes of `envFrom` before 1.30)."""
    return (OK if _is_env_name(value) else (_ENV_NAME_ERROR,)) + _leaves_directory(value)


def relaxed_env_var_name(value: str) -> Messages:
    """An environment variable's name: printable ASCII without `=` (KEP-4369)."""
    if _is_printable_without_equals(value):
        return OK
    return (_RELAXED_ENV_NAME_ERROR,) if value else ("environment variable name must be non-empty",)


def config_map_key(value: str) -> Messages:
    """A key of a ConfigMap or Secret; it may become a file name, so it must not leave its directory."""
    if len(value) <= SUBDOMAIN_LIMIT and not value.startswith(".") and _is_config_key(value):
        return OK
    fits = OK if _is_config_key(value) else (_CONFIG_KEY_ERROR,)
    return _too_long(value, SUBDOMAIN_LIMIT) + fits + _leaves_directory(value)


def percent(value: str) -> Messages:
    return OK if _is_percent(value) else (_PERCENT_ERROR,)


def http_header_name(value: str) -> Messages:
    return OK if _is_header_name(value) else (_HEADER_NAME_ERROR,)


def http_path(value: str) -> Messages:
    """The part of a domain-prefixed path behind its slash (RFC 3986)."""
    return OK if _is_http_path(value) else (HTTP_PATH_ERROR,)


def condition_reason(value: str) -> Messages:
    return OK if _is_condition_reason(value) else (_CONDITION_REASON_ERROR,)


def port_number(value: int) -> Messages:
    return OK if 1 <= value <= 65535 else _PORT_RANGE


def user_or_group_id(value: int) -> Messages:
    """A Linux UID or GID as the API takes it: 0 … 2³¹-1."""
    return OK if 0 <= value <= 2**31 - 1 else _ID_RANGE


def port_name(value: str) -> Messages:
    """An IANA service name as RFC 6335 has it, lower case only."""
    errors: Messages = OK
    if byte_length(value) > PORT_NAME_LIMIT:
        errors += (max_length_error(PORT_NAME_LIMIT),)
    if not _is_port_charset(value):
        errors += ("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)",)
    if not _has_letter(value):
        errors += ("must contain at least one letter (a-z)",)
    if "--" in value:
        errors += ("must not contain consecutive hyphens",)
    if value.startswith("-") or value.endswith("-"):
        errors += ("must not begin or end with a hyphen",)
    return errors


def path_segment(value: str) -> Messages:
    """A string that can stand as one segment of a URL path."""
    if value in (".", ".."):
        return (f"may not be '{value}'",)
    return path_segment_prefix(value)


def path_segment_prefix(value: str) -> Messages:
    """The start of a path segment, to which more will be appended."""
    errors: Messages = OK
    if "/" in value:
        errors += ("may not contain '/'",)
    if "%" in value:
        errors += ("may not contain '%'",)
    return errors


def name_is_subdomain(name: str, prefix: bool) -> Messages:
    """`NameRule`: most kinds."""
    return dns1123_subdomain(_mask_trailing_dash(name) if prefix else name)


def name_is_label(name: str, prefix: bool) -> Messages:
    """`NameRule`: namespaces, services."""
    return dns1123_label(_mask_trailing_dash(name) if prefix else name)


def name_is_dns1035_label(name: str, prefix: bool) -> Messages:
    """`NameRule`: services before relaxed service names."""
    return dns1035_label(_mask_trailing_dash(name) if prefix else name)


def name_is_path_segment(name: str, prefix: bool) -> Messages:
    """`NameRule`: RBAC kinds, whose names hold colons."""
    return path_segment_prefix(name) if prefix else path_segment(name)


def _mask_trailing_dash(name: str) -> str:
    return name[:-2] + "a" if len(name) > 1 and name.endswith("-") else name


def _too_long(value: str, limit: int) -> Messages:
    return (max_length_error(limit),) if byte_length(value) > limit else OK


def _leaves_directory(value: str) -> Messages:
    if not value.startswith("."):
        return OK
    if value in (".", ".."):
        return (f"must not be '{value}'",)
    return ("must not start with '..'",) if value.startswith("..") else OK
