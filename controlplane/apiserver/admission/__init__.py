"""Admission: what becomes of a write between authorization and validation. One module per plugin."""
