"""What pods mount: emptyDir, hostPath, configMap, secret, downwardAPI and projected volumes.

host.py         what a volume is on the host, and what went wrong with one
layout.py       where volumes lie below a pod's folder
objects.py      config maps and secrets that pods refer to, kept current by watches
tokens.py       service account tokens, renewed in time
sourcing.py     from a volume's description to its files
content.py      the files of a volume made of objects (pure)
publishing.py   those files on disk, changed all at once
kernel.py       mounts (a seam)
local.py        emptyDir and hostPath
ownership.py    modes and groups (fsGroup)
blocking.py     steps that may hang, one at a time for a pod
removing.py     taking a pod's folder away, never across a live mount
manager.py      all of it for a pod
"""
