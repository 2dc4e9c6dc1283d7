"""The keys the cluster trusts: made at first start, kept while they are good, made again when they are not.

paths.py          where everything lies
profiles.py       which certificates there are, and for whom
planning.py       keep or issue, judged from what is on disk (pure)
certificates.py   the cryptography: keys, issuing, looking into certificates
ensuring.py       `ensure_pki`, which brings the disk to the plan
kubeconfigs.py    the same credentials as kubeconfig files
"""

from controlplane.pki.ensuring import ensure_pki
from controlplane.pki.paths import KeyPair, Pki

__all__ = ["KeyPair", "Pki", "ensure_pki"]
