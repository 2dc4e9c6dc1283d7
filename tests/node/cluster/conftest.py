"""One node for the session, brought up by `orlop up` and taken down by `orlop down`; a namespace for each test."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator

import pytest
import yaml

from tests.node.cluster.footprint import settled
from tests.node.cluster.installation import Installation, running
from tests.node.cluster.kubectl import Kubectl
from tests.node.cluster.waiting import eventually

LABELS = {"orlop-test": "namespace"}


@pytest.fixture(scope="session")
def node() -> Iterator[Installation]:
    """A node that is Ready; at the end nothing is left, of its pods first and then of itself."""
    with running() as one:
        yield one
        kubectl = one.kubectl
        eventually(lambda: not kubectl.items("namespaces", "-l", "orlop-test"), "the tests' namespaces gone", 90.0, 0.5)
        settled(one)


@pytest.fixture
def kubectl(node: Installation, request: pytest.FixtureRequest) -> Iterator[Kubectl]:
    """kubectl in a namespace of the test's own."""
    yield from namespace(node, request)


def namespace(node: Installation, request: pytest.FixtureRequest) -> Iterator[Kubectl]:
    """A namespace with its service account; deleted afterwards, which the end of the session waits for."""
    stem = re.sub(r"[^a-z0-9]+", "-", request.node.name.lower()).strip("-")[:40].strip("-")
    name = f"{stem}-{secrets.token_hex(2)}"
    marks = node.log_sizes()
    kubectl = node.kubectl.within(name)
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": LABELS}}
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}}
    # A test's first pod would come before the controller has made the account; whoever is first makes it.
    done = kubectl.run("create", "--validate=false", "-f", "-", text=yaml.safe_dump_all([space, account]))
    assert done.returncode == 0 or 'serviceaccounts "default" already exists' in done.stderr, done.stderr
    try:
        yield kubectl
        report = getattr(request.node, "cluster_report", None)
        if report is not None and report.failed:
            describe(node, kubectl, marks)
    finally:
        kubectl("delete", "namespace", name, "--wait=false")


def describe(node: Installation, kubectl: Kubectl, marks: dict[str, int]) -> None:
    """Print what a reader of a failure wants to see first."""
    for question in (("get", "all", "-o", "wide"), ("describe", "pods"), ("get", "events")):
        done = kubectl.run(*question)
        print(f"$ kubectl {' '.join(question)}\n{done.stdout}{done.stderr}")
    print(node.log_tails(marks))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """Let fixtures know how their test went."""
    report = yield
    if report.when == "call":  # type: ignore[attr-defined]
        item.cluster_report = report  # type: ignore[attr-defined]
    return report  # type: ignore[return-value]
