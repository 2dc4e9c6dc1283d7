"""What we call of containerd's native API, on the socket that also serves CRI.

Runtimes of the 1.6 line answer UNIMPLEMENTED to CRI's own event stream; these services fill the gap.
"""
