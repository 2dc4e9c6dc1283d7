"""`orlop-cni`, the plugin that a node brings along: bridge, addresses, host ports and masquerade in one.

One program instead of a chain of four, because each program of a chain costs a fork, an exec and a walk through
iptables. The pods of a node share a bridge; each has a cable (veth) to it and an address of the node's pod range.
"""
