"""ServiceAccount: every pod runs as one, and finds its token where client libraries look for it."""

from __future__ import annotations

import random

from api import core_v1 as core
from api import errors
from api.pods import is_mirror
from api.rendering import quote
from api.scheme import SCHEME
from client.clock import Clock
from controlplane.apiserver.admission.attributes import CREATE, Attributes
from controlplane.apiserver.admission.plugin import Plugin
from controlplane.apiserver.authorization.references import secret_names
from controlplane.apiserver.request import ObjectReader

DEFAULT_NAME = "default"
TOKEN_PATH = "/var/run/secrets/kubernetes.io/serviceaccount"
VOLUME_PREFIX = "kube-api-access-"
ROOT_CA = "kube-root-ca.crt"

_ENFORCE_SECRETS = "kubernetes.io/enforce-mountable-secrets"
# Seconds a token is good for: an hour and a little, by which the issuer recognises this volume.
_TOKEN_LIFETIME = 3607
_TRUE = frozenset({"1", "t", "T", "TRUE", "true", "True"})

# A namespace's default account is made by a controller just after the namespace: wait this often, this long (seconds).
_ATTEMPTS = 10
_SHORTEST_WAIT, _LONGEST_WAIT = 0.1, 0.2

_SUFFIX_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"


class ServiceAccount(Plugin):
    """Sets the account, mounts its token and adds its image pull secrets."""

    def __init__(self, reader: ObjectReader, clock: Clock, rng: random.Random) -> None:
        self._reader = reader
        self._clock = clock
        self._random = rng
        self._accounts = SCHEME.of(core.ServiceAccount)

    def applies(self, operation: str, resource: errors.GroupName, subresource: str) -> bool:
        return operation == CREATE and resource == ("", "pods") and not subresource

    async def mutate(self, attributes: Attributes) -> None:
        pod: core.Pod = attributes.new
        if is_mirror(pod):
            return  # a mirror pod must stay as its node has it
        spec = pod.spec
        spec.service_account_name = spec.service_account_name or DEFAULT_NAME
        spec.service_account = spec.service_account_name
        account = await self._find(attributes, spec.service_account_name)
        if _mounts_token(account, pod):
            self._mount_token(pod)
        if not spec.image_pull_secrets:
            spec.image_pull_secrets = [core.LocalObjectReference(name=item.name) for item in account.image_pull_secrets]

    async def validate(self, attributes: Attributes) -> None:
        pod: core.Pod = attributes.new
        if is_mirror(pod):
            _check_mirror(attributes, pod)
            return
        account = await self._find(attributes, pod.spec.service_account_name)
        if account.metadata.annotations.get(_ENFORCE_SECRETS) in _TRUE:
            _check_secrets(attributes, pod, account)

    async def _find(self, attributes: Attributes, name: str) -> core.ServiceAccount:
        namespace = attributes.namespace
        for attempt in range(_ATTEMPTS if name == DEFAULT_NAME else 1):
            if attempt:
                await self._clock.sleep(self._random.uniform(_SHORTEST_WAIT, _LONGEST_WAIT))
            found = self._reader.get(self._accounts, namespace, name)
            if isinstance(found, core.ServiceAccount):
                return found
        raise attributes.forbidden(
            f"error looking up service account {namespace}/{name}: serviceaccount {quote(name)} not found"
        )

    def _mount_token(self, pod: core.Pod) -> None:
        spec = pod.spec
        existing = next((volume.name for volume in spec.volumes if volume.name.startswith(VOLUME_PREFIX)), "")
        name = existing or VOLUME_PREFIX + "".join(self._random.choices(_SUFFIX_ALPHABET, k=5))
        mounted = False
        for container in (*spec.init_containers, *spec.containers):
            if any(mount.mount_path == TOKEN_PATH for mount in container.volume_mounts):
                continue
            mount = core.VolumeMount(name=name, read_only=True, mount_path=TOKEN_PATH)
            container.volume_mounts = [*container.volume_mounts, mount]
            mounted = True
        if mounted and not existing:
            spec.volumes = [*spec.volumes, core.Volume(name=name, projected=token_volume())]


def token_volume() -> core.ProjectedVolumeSource:
    """The token, the CA to trust and the namespace, as one volume."""
    return core.ProjectedVolumeSource(
        default_mode=0o644,
        sources=[
            core.VolumeProjection(
                service_account_token=core.ServiceAccountTokenProjection(
                    path="token", expiration_seconds=_TOKEN_LIFETIME
                )
            ),
            core.VolumeProjection(
                config_map=core.ConfigMapProjection(name=ROOT_CA, items=[core.KeyToPath(key="ca.crt", path="ca.crt")])
            ),
            core.VolumeProjection(
                downward_api=core.DownwardAPIProjection(
                    items=[
                        core.DownwardAPIVolumeFile(
                            path="namespace",
                            field_ref=core.ObjectFieldSelector(api_version="v1", field_path="metadata.namespace"),
                        )
                    ]
                )
            ),
        ],
    )


def _mounts_token(account: core.ServiceAccount, pod: core.Pod) -> bool:
    """The pod's own word first, then its account's; otherwise yes."""
    for wish in (pod.spec.automount_service_account_token, account.automount_service_account_token):
        if wish is not None:
            return wish
    return True


def _check_mirror(attributes: Attributes, pod: core.Pod) -> None:
    if pod.spec.service_account_name:
        raise attributes.forbidden("a mirror pod may not reference service accounts")
    if any(True for _ in secret_names(pod)):
        raise attributes.forbidden("a mirror pod may not reference secrets")
    for volume in pod.spec.volumes:
        sources = [] if volume.projected is None else volume.projected.sources
        if any(source.service_account_token is not None for source in sources):
            raise attributes.forbidden("a mirror pod may not use ServiceAccountToken volume projections")


def _check_secrets(attributes: Attributes, pod: core.Pod, account: core.ServiceAccount) -> None:
    """For accounts that ask for it: only secrets the account names may be used."""
    allowed = {reference.name for reference in account.secrets}
    unnamed = f"is not allowed because service account {account.metadata.name} does not reference that"
    for volume in pod.spec.volumes:
        if volume.secret is not None and volume.secret.secret_name not in allowed:
            raise attributes.forbidden(f'volume with secret.secretName="{volume.secret.secret_name}" {unnamed} secret')
    for word, containers in (("init container", pod.spec.init_containers), ("container", pod.spec.containers)):
        for container in containers:
            for variable in container.env:
                source = None if variable.value_from is None else variable.value_from.secret_key_ref
                if source is not None and source.name not in allowed:
                    raise attributes.forbidden(
                        f"{word} {container.name} with envVar {variable.name} referencing "
                        f'secret.secretName="{source.name}" {unnamed} secret'
                    )
    pull_secrets = {reference.name for reference in account.image_pull_secrets}
    for index, reference in enumerate(pod.spec.image_pull_secrets):
        if reference.name not in pull_secrets:
            raise attributes.forbidden(f'imagePullSecrets[{index}].name="{reference.name}" {unnamed} imagePullSecret')
