"""Deployments: from one pod template to the next without an outage, by growing one replica set and shrinking others.

`planning` puts the decisions together: which replica set is the new one (`templates`), how large each may be
(`rolling`, `scaling`, over the plain numbers of `sizes`), what is written on them (`revisions`), which of history is
dropped. `status` and `progress` say what is reported. `controller` carries it out.
"""
