"""Doubles with fault injection: a kernel for our plugin, an executor for the runner."""

from cni.fake.executor import FakeExecutor, FakePlugin
from cni.fake.kernel import FakeKernel

__all__ = ["FakeExecutor", "FakeKernel", "FakePlugin"]
