"""Types of version, written by api.generator; api.declarations says how to read them."""

from api.declarations import Required, Struct, always

DEFINITIONS = "io.k8s.apimachinery.pkg.version"


class Info(Struct):
    major: Required[str] = always(str)
    minor: Required[str] = always(str)
    emulation_major: str = ""
    emulation_minor: str = ""
    min_compatibility_major: str = ""
    min_compatibility_minor: str = ""
    git_version: Required[str] = always(str)
    git_commit: Required[str] = always(str)
    git_tree_state: Required[str] = always(str)
    build_date: Required[str] = always(str)
    go_version: Required[str] = always(str)
    compiler: Required[str] = always(str)
    platform: Required[str] = always(str)
