"""From a pod to what the container runtime is told, and back.

The builders (`sandboxes`, `containers` and what they are made of) are pure: pod, node facts and looked-up objects in,
CRI messages out. `executor` is the thin part that calls; `observing` reads the runtime's answers into the plain values
that `agent.pods` decides by. Nothing in here decides whether a container is due.
"""
