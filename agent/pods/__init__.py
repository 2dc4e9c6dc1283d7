"""The life of a pod on this node: a pure planner, a pure status, and one worker per pod that carries them out."""
