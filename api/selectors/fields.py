"""Field selectors: choosing objects by a few fields each kind offers.

The syntax (`a=b,c!=d`, with backslash before `\\`, `,` and `=` in values) is that of apimachinery's `fields` package.
Which labels a kind offers, and what an object shows for them, is a table here. This module must not know how objects
are stored: it reads decoded structs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from api.selectors.labels import SelectorError

Getter = Callable[[Any], str]


@dataclass(frozen=True, slots=True)
class FieldTerm:
    """One `field=value` or `field!=value`."""

    field: str
    value: str
    equal: bool = True

    def __str__(self) -> str:
        return f"{self.field}{'=' if self.equal else '!='}{escape(self.value)}"


@dataclass(frozen=True, slots=True)
class FieldSelector:
    """All of its terms must hold; with none it matches everything."""

    terms: tuple[FieldTerm, ...] = ()

    @property
    def empty(self) -> bool:
        return not self.terms

    def matches(self, obj: Any) -> bool:
        """Whether a decoded object of a kind `check_fields` was called for has these values."""
        return all((field_value(obj, term.field) == term.value) is term.equal for term in self.terms)

    def matches_values(self, values: Mapping[str, str]) -> bool:
        """Whether fields already read have these values; absent ones count as empty."""
        return all((values.get(term.field, "") == term.value) is term.equal for term in self.terms)

    def exact(self, field: str) -> str | None:
        """The value a field must have, if the selector demands one: lets an index answer."""
        for term in self.terms:
            if term.field == field and term.equal:
                return term.value
        return None

    def __str__(self) -> str:
        return ",".join(str(term) for term in self.terms)


def escape(value: str) -> str:
    """A literal value made safe to stand in a field selector."""
    return value.replace("\\", "\\\\").replace(",", "\\,").replace("=", "\\=")


def parse_field_selector(text: str) -> FieldSelector:
    """Parses `status.phase!=Running,spec.nodeName=a`. Raises `SelectorError` with upstream's words."""
    terms = []
    for part in sorted(_split(text)):
        if not part:
            continue
        at = next((index for index, char in enumerate(part) if char == "=" or part.startswith("!=", index)), -1)
        if at < 0:
            raise SelectorError(f"invalid selector: '{text}'; can't understand '{part}'")
        operator = part[at : at + 2] if part[at : at + 2] in ("!=", "==") else "="
        value = _unescape(part[at + len(operator) :])
        terms.append(FieldTerm(part[:at], value, equal=operator != "!="))
    return FieldSelector(tuple(terms))


def _split(text: str) -> list[str]:
    """The terms between unescaped commas."""
    terms, start, escaped = [], 0, False
    for index, char in enumerate(text):
        if escaped:
            escaped = False
        elif char == "\\":
            escaped = True
        elif char == ",":
            terms.append(text[start:index])
            start = index + 1
    terms.append(text[start:])
    return terms


def _unescape(value: str) -> str:
    out, escaped = [], False
    for char in value:
        if escaped:
            if char not in "\\,=":
                raise SelectorError(f"invalid field selector: invalid escape sequence: \\{char}")
            out.append(char)
            escaped = False
        elif char == "\\":
            escaped = True
        elif char in ",=":
            # The reference implementation prints the code point here.
            raise SelectorError(f"invalid field selector: unescaped character in value: {ord(char)}")
        else:
            out.append(char)
    if escaped:
        raise SelectorError("invalid field selector: invalid escape sequence: \\")
    return "".join(out)


def _flag(value: bool) -> str:
    return "true" if value else "false"


def _host_network(pod: Any) -> str:
    return _flag(pod.spec.host_network)


def _first_pod_ip(pod: Any) -> str:
    if pod.status.pod_ips:
        return str(pod.status.pod_ips[0].ip)
    return str(pod.status.pod_ip)


_NAME: dict[str, Getter] = {"metadata.name": lambda obj: obj.metadata.name}
_META: dict[str, Getter] = {**_NAME, "metadata.namespace": lambda obj: obj.metadata.namespace}


def _reference(label: str, attribute: str) -> dict[str, Getter]:
    """The fields of an event's object reference."""

    def getter(name: str) -> Getter:
        return lambda obj: getattr(getattr(obj, attribute), name)

    names = {
        "kind": "kind",
        "namespace": "namespace",
        "name": "name",
        "uid": "uid",
        "apiVersion": "api_version",
        "resourceVersion": "resource_version",
        "fieldPath": "field_path",
    }
    return {f"{label}.{wire}": getter(name) for wire, name in names.items()}


_REPLICAS: dict[str, Getter] = {**_META, "status.replicas": lambda obj: str(obj.status.replicas)}

_OFFERED: dict[tuple[str, str], dict[str, Getter]] = {
    ("v1", "Pod"): {
        **_META,
        "spec.nodeName": lambda pod: pod.spec.node_name,
        "spec.restartPolicy": lambda pod: pod.spec.restart_policy,
        "spec.schedulerName": lambda pod: pod.spec.scheduler_name,
        "spec.serviceAccountName": lambda pod: pod.spec.service_account_name,
        "spec.hostNetwork": _host_network,
        "status.phase": lambda pod: pod.status.phase,
        "status.podIP": _first_pod_ip,
        "status.podIPs": lambda pod: "",  # accepted, but no object has a value for it
        "status.nominatedNodeName": lambda pod: pod.status.nominated_node_name,
    },
    ("v1", "Node"): {**_NAME, "spec.unschedulable": lambda node: _flag(node.spec.unschedulable)},
    ("v1", "Namespace"): {**_NAME, "status.phase": lambda namespace: namespace.status.phase},
    ("v1", "Secret"): {**_META, "type": lambda secret: secret.type},
    ("v1", "Service"): {
        **_META,
        "spec.clusterIP": lambda service: service.spec.cluster_ip,
        "spec.type": lambda service: service.spec.type,
    },
    ("v1", "ReplicationController"): _REPLICAS,
    ("apps/v1", "ReplicaSet"): _REPLICAS,
    ("v1", "Event"): {
        **_META,
        **_reference("involvedObject", "involved_object"),
        "reason": lambda event: event.reason,
        "reportingComponent": lambda event: event.reporting_component,
        "source": lambda event: event.source.component or event.reporting_component,
        "type": lambda event: event.type,
    },
    ("events.k8s.io/v1", "Event"): {
        **_META,
        **_reference("regarding", "regarding"),
        "reason": lambda event: event.reason,
        "reportingController": lambda event: event.reporting_controller,
        "type": lambda event: event.type,
    },
    ("batch/v1", "Job"): {**_META, "status.successful": lambda job: str(job.status.succeeded)},
    ("certificates.k8s.io/v1", "CertificateSigningRequest"): {
        **_NAME,
        "spec.signerName": lambda request: request.spec.signer_name,
    },
    ("resource.k8s.io/v1", "ResourceSlice"): {
        **_NAME,
        "spec.nodeName": lambda piece: piece.spec.node_name or "",
        "spec.driver": lambda piece: piece.spec.driver,
    },
}
_RENAMED = {("v1", "Pod"): {"spec.host": "spec.nodeName"}}


def field_labels(api_version: str, kind: str) -> frozenset[str]:
    """The field labels a kind offers."""
    return frozenset(_OFFERED.get((api_version, kind), _META))


def check_fields(selector: FieldSelector, api_version: str, kind: str) -> FieldSelector:
    """The selector with old labels renamed. Raises `SelectorError` if the kind does not offer a label."""
    key = (api_version, kind)
    offered = _OFFERED.get(key)
    renamed = _RENAMED.get(key, {})
    terms = []
    for term in selector.terms:
        label = renamed.get(term.field, term.field)
        if label not in (_META if offered is None else offered):
            raise SelectorError(_unsupported(term.field, api_version, kind, special=offered is not None))
        terms.append(FieldTerm(label, term.value, term.equal))
    return FieldSelector(tuple(terms))


def _unsupported(label: str, api_version: str, kind: str, special: bool) -> str:
    if kind == "ResourceSlice":
        return f"field label not supported for {api_version}, Kind={kind}: {label}"
    if special:
        return f"field label not supported: {label}"
    return f'"{label}" is not a known field selector: only "metadata.name", "metadata.namespace"'


def field_value(obj: Any, label: str) -> str:
    """What an object shows for a field label; empty for a label its kind does not offer."""
    getter = _OFFERED.get((obj.api_version, obj.kind), _META).get(label)
    return getter(obj) if getter is not None else ""
