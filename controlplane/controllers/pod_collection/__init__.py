"""Pods that nobody will ever clear away: on nodes that no longer exist, deleted before they had one, or done and too
many. `planning` tells which, `controller` removes them.
"""
