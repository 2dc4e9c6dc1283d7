"""Pod networks by way of CNI plugins (spec 1.1): calling them, writing them, and the one that a node brings along."""
