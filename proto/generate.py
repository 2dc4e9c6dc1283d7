"""Rebuilds the modules generated from our `.proto` files: `python -m proto.generate`.

Needs grpcio-tools, a build-time dependency. Every `.proto` file below this folder gets a `_pb2.py` and a `_pb2.pyi`
beside it. Generated code registers in `proto.pool` rather than in the process-wide pool (the reason is told there); a
compiler that words the registration differently makes this fail rather than leave the collision in.
"""

from __future__ import annotations

import sys
from importlib import import_module, resources
from pathlib import Path
from typing import Protocol, cast

ROOT = Path(__file__).resolve().parent.parent
_DEFAULT_POOL = "_descriptor_pool.Default()"
_DEFAULT_POOL_IMPORT = "from google.protobuf import descriptor_pool as _descriptor_pool\n"
_OWN_POOL_IMPORT = "from proto.pool import POOL as _POOL\n"


class GenerationError(Exception):
    """A `.proto` file was refused, or the compiler's output was not as expected."""


class _Compiler(Protocol):
    def main(self, arguments: list[str]) -> int: ...


def generate(root: Path = ROOT, into: Path | None = None) -> list[Path]:
    """Generates all modules and returns the paths written; `into` is the root of the output tree, by default `root`."""
    into = into or root
    sources = sorted(root.joinpath("proto").rglob("*.proto"))
    compiler = cast("_Compiler", import_module("grpc_tools.protoc"))
    well_known = resources.files("grpc_tools") / "_proto"
    status = compiler.main(
        ["protoc", f"--proto_path={root}", f"--proto_path={well_known}", f"--python_out={into}", f"--pyi_out={into}"]
        + [str(source.relative_to(root)) for source in sources]
    )
    if status != 0:
        raise GenerationError(f"protoc: exit status {status}")
    written = []
    for source in sources:
        module = into / source.relative_to(root).with_name(f"{source.stem}_pb2.py")
        module.write_text(_use_own_pool(module.read_text(), module))
        written += [module, module.with_suffix(".pyi")]
    return written


def _use_own_pool(code: str, module: Path) -> str:
    if code.count(_DEFAULT_POOL) != 1 or code.count(_DEFAULT_POOL_IMPORT) != 1:
        raise GenerationError(f"{module}: registration in the default descriptor pool not found")
    return code.replace(_DEFAULT_POOL_IMPORT, _OWN_POOL_IMPORT).replace(_DEFAULT_POOL, "_POOL")


if __name__ == "__main__":
    for path in generate():
        sys.stdout.write(f"{path.relative_to(ROOT)}\n")
