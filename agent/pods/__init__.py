"""The life of a pod on this node: one worker per pod, a pure planner, a pure status, and the manager that keeps them."""
