"""The Node object of this machine: what it has, how it is, and the heartbeat that says it is there."""
