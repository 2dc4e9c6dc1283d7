"""Which Kubernetes this is, in the one place that all parts read it from."""

from __future__ import annotations

KUBERNETES_VERSION = "v1.36.2+orlop"
"""What `/version` and nodes say: the upstream release whose API is spoken, and whose parts do it."""
