"""What containers and pods may use of the machine, as cgroups.

Requests and limits become numbers here (`shares`, `containers`, `pods`, `oom`); numbers become files through one seam,
`tree.CgroupTree`, with an implementation for each version of cgroups and a double in memory. `PodCgroups` is what the
agent calls: it keeps the tree of `kubepods`, its QoS classes and its pods as upstream's kubelet has it.
"""
