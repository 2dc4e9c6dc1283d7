"""Connections that leave HTTP: upgrades, and the SPDY/3.1 that exec, attach and port-forward speak after one.

frames.py     bytes of SPDY frames (pure)
session.py    one SPDY connection and its streams, as the side that opened it
upgrading.py  asking a server to leave HTTP
"""
