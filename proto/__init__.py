"""The wire interfaces we speak over gRPC, as `.proto` files of our own, and the code generated from them.

Names, field numbers and types are the specifications' (CRI v1, containerd's native API, gRPC health); the arrangement
and the comments are ours. `python -m proto.generate` rebuilds the generated modules, which are checked in so that
running needs no compiler. There are no generated service stubs: a service's descriptor already says all of its
methods, and `cri.transport` calls by it.

This room must know nothing of the others.
"""
