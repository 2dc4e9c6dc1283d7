"""Replica sets: so many pods of one template, no more and no less.

`planning` decides how many pods to make and which to remove, `ranking` which of them can be missed first, `status`
what is reported; `controller` carries it out.
"""
