"""Exec, attach and port-forward: between what clients speak and what the runtime's streaming server speaks.

passing.py    SPDY clients: the bytes are handed through
commands.py   WebSocket clients of exec and attach: channels are translated to SPDY streams
websocket.py  what those share: offers and handshakes
tunnelling.py WebSocket clients of port-forward, which carry SPDY inside
"""
