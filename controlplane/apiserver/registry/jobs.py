"""Jobs: which pods are a job's own is settled by the server, from the job's UID, unless the user insists on saying."""

from __future__ import annotations

from typing import Any

from api import batch_v1 as batch
from api import meta_v1 as meta
from controlplane.apiserver.registry.strategy import Strategy, Write

CONTROLLER_UID = "batch.kubernetes.io/controller-uid"
JOB_NAME = "batch.kubernetes.io/job-name"

#: The names these labels had before they were given a prefix; still set, since people select by them.
_OLD_CONTROLLER_UID, _OLD_JOB_NAME = "controller-uid", "job-name"


class JobStrategy(Strategy):
    """Jobs as the API treats them."""

    def prepare_create(self, obj: Any, write: Write) -> None:
        super().prepare_create(obj, write)
        job: batch.Job = obj
        if not job.spec.manual_selector:
            _select_own_pods(job)


def _select_own_pods(job: batch.Job) -> None:
    labels = dict(job.spec.template.metadata.labels)
    for label, old, value in (
        (CONTROLLER_UID, _OLD_CONTROLLER_UID, job.metadata.uid),
        (JOB_NAME, _OLD_JOB_NAME, job.metadata.name),
    ):
        # Labels that are there already are validation's business: they may not name another job.
        labels.setdefault(old, value)
        labels.setdefault(label, value)
    job.spec.template.metadata.labels = labels
    selector = job.spec.selector or meta.LabelSelector()
    selector.match_labels = {CONTROLLER_UID: job.metadata.uid, **selector.match_labels}
    job.spec.selector = selector
