"""Nodes that fall silent or fail, and the pods on them.

`health` tells silent nodes by their heartbeats, `taints` what stands on a node, `zones` how many may be given up at a
time; `lifecycle` acts on nodes by them. `eviction` is a controller of its own: it removes pods from nodes whose taints
they do not bear.
"""
