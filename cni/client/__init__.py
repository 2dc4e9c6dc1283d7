"""Calling CNI plugins the way a container runtime does (spec 1.1, section 3)."""
