"""The controllers: each watches some kinds and works until what is equals what was asked for.

All are laid out alike. A `planning` module says, as a pure function of what is known, what is to be done; a controller
around it keeps informers, takes keys from a work queue and carries plans out. They reach the cluster through `client`
alone, know nothing of each other, and may be stopped at any line: what is not done yet is seen again at the next start.

========================  ====================================================================
`service_accounts`        every namespace has the account `default`
`root_ca`                 every namespace has the cluster's CA as the config map `kube-root-ca.crt`
`namespaces`              empties namespaces that are being deleted, then lets them go
`replicasets`             as many pods of a template as asked for
`deployments`             from one template to the next, by way of replica sets
`garbage`                 what belongs to an owner that is gone goes too
`nodes`                   nodes that fall silent, their taints, and the pods on them
`pod_collection`          pods that nobody will ever clear away
========================  ====================================================================
"""
