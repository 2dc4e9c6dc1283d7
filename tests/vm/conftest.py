"""Machines for tests: booted when asked for, gone afterwards."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from image import Image, build_image, default_cache, project_disk
from machine import Machine


@pytest.fixture(scope="session")
def vm_image() -> Image:
    return build_image(default_cache())


@pytest.fixture
def machines(vm_image: Image, tmp_path: Path) -> Iterator[Callable[..., Machine]]:
    """Make a machine by name: `machines("node-1")`; the caller boots it."""
    made: list[Machine] = []
    project = project_disk(tmp_path)

    def make(name: str, **options: object) -> Machine:
        made.append(Machine(name, vm_image, project, tmp_path, **options))  # type: ignore[arg-type]
        return made[-1]

    yield make
    for machine in made:
        machine.pull_the_plug()
