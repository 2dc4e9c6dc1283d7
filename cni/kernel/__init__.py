"""The kernel's part of a pod network: links, addresses, routes, packet filter, namespaces.

Everything that plugins ask of the kernel goes through `interface.Kernel`; `linux` is the real one, `fake` the double.
"""
