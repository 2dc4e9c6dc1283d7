"""Pod templates and their fingerprints: which replica set is a deployment's present one.

The template itself decides, compared field by field; the hash only makes names and keeps the replica sets' selectors
apart, so two templates of one hash are told apart all the same (the deployment counts such collisions).
"""

from __future__ import annotations

from collections.abc import Iterable

from api import codec
from api import core_v1 as core
from api import meta_v1 as meta
from api.apps_v1 import Deployment, ReplicaSet, ReplicaSetSpec
from api.owners import new_controller_ref

HASH_LABEL = "pod-template-hash"
# The letters of generated names: no vowels, so that no words come of it.
_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
_FNV_OFFSET, _FNV_PRIME = 0x811C9DC5, 0x01000193
_NAME_LIMIT = 253


def template_hash(template: core.PodTemplateSpec, collisions: int | None) -> str:
    """FNV-1a (32 bits) of the template and of the number of collisions so far, as decimal digits in safe letters."""
    raw = codec.encode(template)
    if collisions is not None:
        raw += collisions.to_bytes(8, "little")
    value = _FNV_OFFSET
    for byte in raw:
        value = (value ^ byte) * _FNV_PRIME & 0xFFFFFFFF
    return "".join(_ALPHABET[ord(digit) % len(_ALPHABET)] for digit in str(value))


def same_template(one: core.PodTemplateSpec, other: core.PodTemplateSpec) -> bool:
    """Whether two templates differ at most in the hash label."""
    if one.spec != other.spec:
        return False
    return _without_hash(one.metadata) == _without_hash(other.metadata)


def _without_hash(data: meta.ObjectMeta) -> meta.ObjectMeta:
    if HASH_LABEL not in data.labels:
        return data
    bare = codec.deepcopy(data)
    del bare.labels[HASH_LABEL]
    return bare


def find_new(deployment: Deployment, replica_sets: Iterable[ReplicaSet]) -> ReplicaSet | None:
    """The replica set of the deployment's present template: the oldest, should there be several."""
    matching = [one for one in replica_sets if same_template(one.spec.template, deployment.spec.template)]
    return min(matching, key=age_key, default=None)


def age_key(replica_set: ReplicaSet) -> tuple[str, str]:
    """Sorts replica sets by age, the oldest first."""
    return (replica_set.metadata.creation_timestamp or "", replica_set.metadata.name)


def new_replica_set(deployment: Deployment) -> ReplicaSet:
    """A replica set for the present template, of no size yet."""
    template = codec.deepcopy(deployment.spec.template)
    fingerprint = template_hash(template, deployment.status.collision_count)
    template.metadata.labels[HASH_LABEL] = fingerprint
    selector = codec.deepcopy(deployment.spec.selector or meta.LabelSelector())
    selector.match_labels[HASH_LABEL] = fingerprint
    return ReplicaSet(
        metadata=meta.ObjectMeta(
            name=f"{deployment.metadata.name[: _NAME_LIMIT - 1 - len(fingerprint)]}-{fingerprint}",
            namespace=deployment.metadata.namespace,
            labels=dict(template.metadata.labels),
            owner_references=[new_controller_ref(deployment)],
        ),
        spec=ReplicaSetSpec(
            replicas=0,
            min_ready_seconds=deployment.spec.min_ready_seconds,
            selector=selector,
            template=template,
        ),
    )
