"""Machines for tests: booted when asked for, gone afterwards."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

import pytest

from tests.vm.image import Image, build_image, default_cache
from tests.vm.machine import Machine, free_port
from tests.vm.project import project_disk


class Machines(Protocol):
    """Makes machines that are gone when the test, or the module, is over; the caller boots them."""

    def __call__(self, *names: str) -> list[Machine]:
        """One machine for each name; several are on one wire, numbered from 1 in this order."""


@pytest.fixture(scope="session")
def vm_image() -> Image:
    return build_image(default_cache())


@pytest.fixture(scope="session")
def vm_project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return project_disk(tmp_path_factory.mktemp("project"))


@contextmanager
def lab(image: Image, project: Path) -> Iterator[Machines]:
    """A place for machines, cleared away at the end."""
    made: list[Machine] = []
    # Not tmp_path: a control socket of ssh is in it, and a socket's path is limited to 107 characters.
    with tempfile.TemporaryDirectory(prefix="orlop-vm-") as folder:

        def make(*names: str) -> list[Machine]:
            wire = free_port() if len(names) > 1 else 0
            machines = [
                Machine(name, image, project, Path(folder), number=number, wire=wire)
                for number, name in enumerate(names, start=1)
            ]
            made.extend(machines)
            return machines

        try:
            yield make
        finally:
            for machine in made:
                machine.pull_the_plug()


@pytest.fixture
def machines(vm_image: Image, vm_project: Path) -> Iterator[Machines]:
    with lab(vm_image, vm_project) as make:
        yield make
