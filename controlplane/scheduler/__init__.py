"""Which node a pod runs on.

The scheduler keeps the cluster as columns (numpy arrays over nodes), so that a filter or a score is one vector
operation over all nodes. It is split as everything that reconciles is: `planning.schedule` is a pure function from
the cluster as it stands and one pod's demand to a placement or a failure; `loop` and `binding` act on it. It reaches
the API through `client` alone.

==============  ================================================================================
`demand`        what one pod asks for, read from its spec once
`nodes`         the columns: what nodes offer, what is taken, labels and taints
`cluster`       nodes and the pods on them, those included that are on their way there
`affinity`      node selector and node affinity      `taints`      taints and tolerations
`resources`     what is left, and how well it fits   `ports`       host ports
`spreading`     topology spread                      `neighbours`  affinity and anti-affinity between pods
`suitability`   what follows from labels and taints alone, once for all pods of a workload
`planning`      the decision
`failures`      why there is no node, in the words of upstream
`queue`         which pod is next, and what would make another try worth while
`watching`      what the informers tell, as changes of cluster and queue
`binding`       telling the API server
`loop`, `main`  the running scheduler
==============  ================================================================================
"""
