"""Connections that leave HTTP: upgrades, and the SPDY/3.1 that exec, attach and port-forward speak after one.

wires.py     connections as bytes both ways
dialing.py   one request on a connection of its own, which an upgrade makes ours
taking.py    the other side: a connection taken over from aiohttp's server after a 101
joining.py   bytes passed between two such connections
frames.py    bytes of SPDY frames (pure)
session.py   one SPDY connection and its streams, as the side that opened it
"""
