"""Entry point: reads the sources, writes the modules, lets ruff lay them out."""

import os
import pathlib
import re
import subprocess

from api.generator import definitions, facts, resources
from api.generator.emitting import ModuleWriter

API = pathlib.Path(__file__).parent.parent
RUFF_DEADLINE = 120  # seconds


def main() -> None:
    """Rewrites every generated module in place."""
    names = {name.path: name for name in facts.packages()}
    written = []
    for package in definitions.read():
        path = API / f"{names[package.path].module}.py"
        path.write_text(_indent(ModuleWriter(package, names).text()), encoding="utf-8")
        written.append(str(path))
    shared = pathlib.Path(os.environ.get("ORLOP_SHARED") or API.parent.parent / "shared")
    (API / "resources.py").write_text(resources.module(shared), encoding="utf-8")
    for command in (["check", "--fix", "--select", "I,UP"], ["format"]):
        subprocess.run(["ruff", *command, "--quiet", *written], check=True, timeout=RUFF_DEADLINE, cwd=API.parent)


def _indent(text: str) -> str:
    """Indents the lines of class bodies; the writer leaves them flush so that it need not know where it stands."""
    lines = []
    inside = False
    for line in text.split("\n"):
        if line.startswith("class "):
            inside = True
        elif not line:
            inside = False
        elif inside and re.match(r'[a-z_0-9]+: |pass$|"""', line):
            line = "    " + line
        lines.append(line)
    return "\n".join(lines)


if __name__ == "__main__":
    main()
