"""The agent's HTTPS API on port 10250: logs, exec, attach, port-forward, pods, health, metrics.

http.py        connections
access.py      who asks, and may they: certificate or token, TokenReview and SubjectAccessReview
routes.py      paths, and which permission each needs
host.py        what the handlers need of the node (a seam)
containers.py  which container is meant (pure)
handlers.py    the answers
health.py      one of them: health checks
streaming/     exec, attach and port-forward
"""
