"""What a cluster holds before anybody has made anything: namespaces, roles, priority classes, its own service.

`ensure` is called at each start, after the caches are filled and before requests are taken.
"""

from controlplane.apiserver.bootstrap.aggregating import RoleAggregation
from controlplane.apiserver.bootstrap.ensuring import ClusterFacts, ensure
from controlplane.apiserver.bootstrap.roles import node_rules

__all__ = ["ClusterFacts", "RoleAggregation", "ensure", "node_rules"]
