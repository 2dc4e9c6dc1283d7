"""Doubles for the tests of identity, permission and admission: objects in a dictionary, certificates made at once."""

from __future__ import annotations

import datetime
from collections.abc import Callable

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from api import errors
from api import meta_v1 as meta
from api.codec import deepcopy
from api.scheme import SCHEME, Resource

Changed = Callable[[meta.Object | None, meta.Object | None], None]


class Objects:
    """Reader and writer over a dictionary; callbacks run with each change, as the server's do."""

    def __init__(self, *objects: meta.Object) -> None:
        self._objects: dict[tuple[str, str, str], meta.Object] = {}
        self._callbacks: dict[str, list[Changed]] = {}
        self.written: list[str] = []
        for item in objects:
            self.put(item)

    def get(self, resource: Resource, namespace: str, name: str) -> meta.Object | None:
        return self._objects.get((resource.group_resource, namespace, name))

    def list(self, resource: Resource, namespace: str = "") -> list[meta.Object]:
        return [
            item
            for (kind, home, _), item in sorted(self._objects.items(), key=lambda entry: entry[0])
            if kind == resource.group_resource and namespace in ("", home)
        ]

    def on_change(self, resource: Resource, callback: Changed) -> None:
        self._callbacks.setdefault(resource.group_resource, []).append(callback)

    def on_touch(self, resource: Resource, callback: Callable[[str, str], None]) -> None:
        def changed(old: meta.Object | None, new: meta.Object | None) -> None:
            touched = new or old
            assert touched is not None
            callback(touched.metadata.namespace, touched.metadata.name)

        self.on_change(resource, changed)

    async def create(self, resource: Resource, obj: meta.Object, namespace: str = "") -> meta.Object:
        if self.get(resource, namespace, obj.metadata.name) is not None:
            raise errors.already_exists(resource.group_resource, obj.metadata.name)
        self.written.append(f"create {resource.plural} {obj.metadata.name}")
        return self.put(obj)

    async def update(self, resource: Resource, obj: meta.Object, namespace: str = "") -> meta.Object:
        self.written.append(f"update {resource.plural} {obj.metadata.name}")
        return self.put(obj)

    def put(self, item: meta.Object) -> meta.Object:
        """Store a copy, in place of what there was."""
        key = self._key(item)
        old, new = self._objects.get(key), deepcopy(item)
        self._objects[key] = new
        self._notify(key[0], old, new)
        return new

    def remove(self, item: meta.Object) -> None:
        key = self._key(item)
        self._notify(key[0], self._objects.pop(key), None)

    def _key(self, item: meta.Object) -> tuple[str, str, str]:
        return SCHEME.of(type(item)).group_resource, item.metadata.namespace, item.metadata.name

    def _notify(self, kind: str, old: meta.Object | None, new: meta.Object | None) -> None:
        for callback in self._callbacks.get(kind, []):
            callback(old, new)


class Authority:
    """A certificate authority that signs what it is asked to."""

    def __init__(self, name: str = "cluster-ca") -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        self.certificate = (
            _builder(self._name, self._name, self._key)
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .sign(self._key, hashes.SHA256())
        )

    @property
    def pem(self) -> bytes:
        return self.certificate.public_bytes(serialization.Encoding.PEM)

    def client(self, name: str, *groups: str, start: float = 0.0, end: float = 4e9, usage: bool = True) -> bytes:
        """A client certificate in DER, valid between two times in epoch seconds; without *usage* it is for servers."""
        return self.pair(name, *groups, start=start, end=end, usage=usage)[0].public_bytes(serialization.Encoding.DER)

    def pair(
        self, name: str, *groups: str, start: float = 0.0, end: float = 4e9, usage: bool = True
    ) -> tuple[x509.Certificate, ec.EllipticCurvePrivateKey]:
        key = ec.generate_private_key(ec.SECP256R1())
        attributes = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
        if name:
            attributes.append(x509.NameAttribute(NameOID.COMMON_NAME, name))
        wanted = ExtendedKeyUsageOID.CLIENT_AUTH if usage else ExtendedKeyUsageOID.SERVER_AUTH
        builder = _builder(x509.Name(attributes), self._name, key, start, end)
        certificate = builder.add_extension(x509.ExtendedKeyUsage([wanted]), critical=False)
        return certificate.sign(self._key, hashes.SHA256()), key


def key_pem(key: ec.EllipticCurvePrivateKey | None = None) -> bytes:
    """A private key in PEM, a new one by default."""
    return (key or ec.generate_private_key(ec.SECP256R1())).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    start: float = 0.0,
    end: float = 4e9,
) -> x509.CertificateBuilder:
    return x509.CertificateBuilder(
        issuer,
        subject,
        key.public_key(),
        x509.random_serial_number(),
        datetime.datetime.fromtimestamp(start, datetime.UTC),
        datetime.datetime.fromtimestamp(end, datetime.UTC),
    )
