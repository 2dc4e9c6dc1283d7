"""Kinds of resources by their names: native, extended, huge pages.

Defaults, validation, scheduling and the agent must agree on these, hence one module. It must not know quantities.
"""

from api import names

HUGEPAGES_PREFIX = "hugepages-"
_NATIVE_DOMAIN = "kubernetes.io/"


def is_hugepages(name: str) -> bool:
    return name.startswith(HUGEPAGES_PREFIX)


def is_native(name: str) -> bool:
    """In the system's own namespace: no prefix, or one under kubernetes.io."""
    return "/" not in name or _NATIVE_DOMAIN in name


def is_extended(name: str) -> bool:
    """A resource advertised by a device plugin or an administrator, in a domain of its own."""
    if "/" not in name or _NATIVE_DOMAIN in name or name.startswith("requests."):
        return False
    return not names.qualified_name(f"requests.{name}")


def is_overcommittable(name: str) -> bool:
    """Whether a request may be below its limit: everything native but huge pages."""
    return not is_hugepages(name) and is_native(name)
