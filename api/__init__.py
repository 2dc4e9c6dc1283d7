"""The nouns of the house: every Kubernetes type, and what can be said of one without asking anybody.

Pure: no I/O, no clock, no asyncio, nothing of the other rooms. Nothing is imported here, so that a process pays only
for the groups it uses: ``from api import core_v1 as core, meta_v1 as meta``.
"""
