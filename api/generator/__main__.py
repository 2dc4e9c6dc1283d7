"""Entry point: reads the sources, writes the modules, lets ruff lay them out."""

import os
import pathlib
import re
import subprocess
import sys

from api.generator import definitions, facts, resources
from api.generator.emitting import ModuleWriter

API = pathlib.Path(__file__).parent.parent
RUFF_DEADLINE = 120  # seconds


def main() -> None:
    """Rewrites every generated module in place."""
    generate(API)


def generate(into: pathlib.Path) -> list[pathlib.Path]:
    """Writes the modules into a folder and gives their paths."""
    names = {name.path: name for name in facts.packages()}
    written = []
    for package in definitions.read():
        path = into / f"{names[package.path].module}.py"
        path.write_text(_indent(ModuleWriter(package, names).text()), encoding="utf-8")
        written.append(path)
    shared = pathlib.Path(os.environ.get("ORLOP_SHARED") or API.parent.parent / "shared")
    written.append(into / "resources.py")
    written[-1].write_text(resources.module(shared), encoding="utf-8")
    ruff = [sys.executable, "-m", "ruff"]
    rules = ["--config", str(API.parent / "pyproject.toml"), "--quiet", "--no-cache", *map(str, written)]
    for command in (["check", "--fix", "--select", "I,UP"], ["format"]):
        subprocess.run([*ruff, *command, *rules], check=True, timeout=RUFF_DEADLINE)
    return written


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
