"""The Container Runtime Interface: how we call a runtime, and a double of one.

`client` calls a runtime, `events` follows what happens in it, `probing` learns what it can do, `fake` is a runtime in
this process that can be made to delay, fail, crash and lie. Messages are those of `proto.cri_pb2`. This room knows
nothing of pods as the API has them: only sandboxes, containers and images.
"""
