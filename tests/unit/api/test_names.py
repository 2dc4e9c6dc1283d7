"""Names: what is refused, and in which words."""

import pytest

from api import names

LABEL = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with "
    "an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
SUBDOMAIN = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
DNS1035 = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an "
    "alphabetic character, and "
    "end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is "
    "'[a-z]([-a-z0-9]*[a-z0-9])?')"
)
QUALIFIED = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character "
    "(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
LABEL_VALUE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
CONFIG_KEY = (
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or "
    "'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
)


@pytest.mark.parametrize(
    ("rule", "value", "complaints"),
    [
        (names.dns1123_label, "web-1", ()),
        (names.dns1123_label, "1", ()),
        (names.dns1123_label, "", (LABEL,)),
        (names.dns1123_label, "Web", (LABEL,)),
        (names.dns1123_label, "web\n", (LABEL,)),
        (names.dns1123_label, "a.b", ("must not contain dots",)),
        (names.dns1123_label, "a" * 64, ("must be no more than 63 characters",)),
        (names.dns1123_label, "é" * 40, ("must be no more than 63 characters", LABEL)),
        (names.dns1123_subdomain, "a.b-c.d", ()),
        (names.dns1123_subdomain, "a..b", (SUBDOMAIN,)),
        (names.dns1123_subdomain, "-a", (SUBDOMAIN,)),
        (names.dns1123_subdomain, "a" * 254, ("must be no more than 253 characters",)),
        (names.dns1035_label, "abc-1", ()),
        (names.dns1035_label, "1abc", (DNS1035,)),
        (names.qualified_name, "app", ()),
        (names.qualified_name, "example.com/My_app.v1", ()),
        (names.qualified_name, "", ("name part must be non-empty", f"name part {QUALIFIED}")),
        (names.qualified_name, "/app", ("prefix part must be non-empty",)),
        (names.qualified_name, "Example.com/app", (f"prefix part {SUBDOMAIN}",)),
        (names.qualified_name, "a/" + "b" * 64, ("name part must be no more than 63 bytes",)),
        (
            names.qualified_name,
            "a/b/c",
            (
                f"a valid label key {QUALIFIED} with an optional DNS subdomain prefix and '/' "
                "(e.g. 'example.com/MyName')",
            ),
        ),
        (names.label_value, "", ()),
        (names.label_value, "a b", (LABEL_VALUE,)),
        (names.label_value, "a" * 64, ("must be no more than 63 bytes",)),
        (names.config_map_key, ".dockercfg", ()),
        (names.config_map_key, "..data", ("must not start with '..'",)),
        (names.config_map_key, ".", ("must not be '.'",)),
        (names.config_map_key, "..", ("must not be '..'",)),
        (names.config_map_key, "a/b", (CONFIG_KEY,)),
        (names.relaxed_env_var_name, "1 weird%name", ()),
        (names.relaxed_env_var_name, "", ("environment variable name must be non-empty",)),
        (
            names.relaxed_env_var_name,
            "a=b",
            ("a valid environment variable name must consist only of printable ASCII characters other than '='",),
        ),
        (names.port_name, "http", ()),
        (names.port_name, "80", ("must contain at least one letter (a-z)",)),
        (names.port_name, "web--1", ("must not contain consecutive hyphens",)),
        (
            names.port_name,
            "Waytoolongportname",
            (
                "must be no more than 15 characters",
                "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)",
            ),
        ),
        (names.path_segment, "system:node", ()),
        (names.path_segment, "a/b%", ("may not contain '/'", "may not contain '%'")),
        (names.path_segment, "..", ("may not be '..'",)),
    ],
)
def test_rule(rule, value, complaints):
    assert rule(value) == complaints


def test_ports_and_ids_have_ranges():
    assert names.port_number(0) == ("must be between 1 and 65535, inclusive",)
    assert names.port_number(65535) == ()
    assert names.user_or_group_id(-1) == ("must be between 0 and 2147483647, inclusive",)


def test_generated_names_may_end_in_a_dash():
    assert names.name_is_subdomain("web-", True) == ()
    assert names.name_is_subdomain("web-", False) == (SUBDOMAIN,)
