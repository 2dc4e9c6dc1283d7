"""Namespaces that are being deleted: their contents go first, pods before all else, then the namespace is let go.

`contents` deletes and counts, `conditions` says how far it has got, `controller` decides when to look again.
"""
