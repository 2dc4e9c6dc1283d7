"""What one policy rule allows, and whether a set of rules covers another.

The matching rules are RBAC's (https://kubernetes.io/docs/reference/access-authn-authz/rbac/): ``*`` is a wildcard for
verbs, API groups and resources, ``pods/log`` names a subresource, ``*/scale`` a subresource of anything, and a
trailing ``*`` of a non-resource URL any suffix. This module knows rules only: not who holds them nor where they are
stored.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from api import rbac_v1 as rbac
from api.rendering import quote
from controlplane.apiserver.request import RequestInfo

EVERYTHING = (
    rbac.PolicyRule(verbs=["*"], api_groups=["*"], resources=["*"]),
    rbac.PolicyRule(verbs=["*"], non_resource_urls=["*"]),
)


def matches_except_name(rule: rbac.PolicyRule, info: RequestInfo) -> bool:
    """Whether *rule* matches the request in everything but, for a resource, the object's name."""
    verbs = rule.verbs
    if info.verb not in verbs and "*" not in verbs:
        return False
    if not info.is_resource:
        return any(url_matches(pattern, info.path) for pattern in rule.non_resource_urls)
    groups = rule.api_groups
    if info.group not in groups and "*" not in groups:
        return False
    return resource_matches(rule.resources, info.resource, info.subresource)


def allows(rule: rbac.PolicyRule, info: RequestInfo) -> bool:
    """Whether *rule* alone allows the request."""
    if not matches_except_name(rule, info):
        return False
    return not info.is_resource or not rule.resource_names or info.name in rule.resource_names


def resource_matches(patterns: Sequence[str], resource: str, subresource: str) -> bool:
    if "*" in patterns:
        return True
    if not subresource:
        return resource in patterns
    return f"{resource}/{subresource}" in patterns or f"*/{subresource}" in patterns


def url_matches(pattern: str, path: str) -> bool:
    if pattern == "*" or pattern == path:
        return True
    return pattern.endswith("*") and path.startswith(pattern.rstrip("*"))


# ---------------------------------------------------------------- coverage (privilege escalation)


def uncovered(owned: Sequence[rbac.PolicyRule], wanted: Iterable[rbac.PolicyRule]) -> list[rbac.PolicyRule]:
    """The parts of *wanted* that no rule of *owned* grants, one verb on one thing each; empty when all is covered."""
    return [part for rule in wanted for part in split(rule) if not any(_covers(own, part) for own in owned)]


def split(rule: rbac.PolicyRule) -> Iterator[rbac.PolicyRule]:
    """Break *rule* into rules of one verb and one resource (and name), or one verb and one URL."""
    for group in rule.api_groups:
        for resource in rule.resources:
            for verb in rule.verbs:
                names = [[name] for name in rule.resource_names] or [[]]
                for name in names:
                    yield rbac.PolicyRule(
                        verbs=[verb], api_groups=[group], resources=[resource], resource_names=list(name)
                    )
    for url in rule.non_resource_urls:
        for verb in rule.verbs:
            yield rbac.PolicyRule(verbs=[verb], non_resource_urls=[url])


def _covers(own: rbac.PolicyRule, part: rbac.PolicyRule) -> bool:
    if "*" not in own.verbs and not set(part.verbs) <= set(own.verbs):
        return False
    if part.non_resource_urls:
        return all(
            any(url_matches(pattern, url) for pattern in own.non_resource_urls) for url in part.non_resource_urls
        )
    if "*" not in own.api_groups and not set(part.api_groups) <= set(own.api_groups):
        return False
    for resource in part.resources:
        plural, _, subresource = resource.partition("/")
        if "*" not in own.resources and not resource_matches(own.resources, plural, subresource):
            return False
    if not own.resource_names:
        return True
    return bool(part.resource_names) and set(part.resource_names) <= set(own.resource_names)


def compact(rules: Iterable[rbac.PolicyRule]) -> list[rbac.PolicyRule]:
    """Join rules that differ in their verbs alone, for messages a person can read."""
    result: list[rbac.PolicyRule] = []
    joined: dict[tuple[str, str, tuple[str, ...]], rbac.PolicyRule] = {}
    for rule in rules:
        simple = (
            len(rule.api_groups) == 1
            and len(rule.resources) == 1
            and len(rule.resource_names) <= 1
            and not rule.non_resource_urls
        )
        if not simple:
            result.append(rule)
            continue
        key = (rule.api_groups[0], rule.resources[0], tuple(rule.resource_names))
        known = joined.get(key)
        if known is None:
            joined[key] = rbac.PolicyRule(
                verbs=list(rule.verbs),
                api_groups=list(rule.api_groups),
                resources=list(rule.resources),
                resource_names=list(rule.resource_names),
            )
        else:
            known.verbs.extend(rule.verbs)
    return result + list(joined.values())


def describe(rule: rbac.PolicyRule) -> str:
    """The rule as escalation errors show it: ``{APIGroups:[""], Resources:["pods"], Verbs:["get"]}``."""
    parts = [
        f"{label}:{quote_all(values)}"
        for label, values in (
            ("APIGroups", rule.api_groups),
            ("Resources", rule.resources),
            ("NonResourceURLs", rule.non_resource_urls),
            ("ResourceNames", rule.resource_names),
            ("Verbs", rule.verbs),
        )
        if values
    ]
    return "{" + ", ".join(parts) + "}"


def quote_all(texts: Iterable[str]) -> str:
    """A list as Go's ``%q`` shows it: ``["a" "b"]``."""
    return "[" + " ".join(quote(text) for text in texts) + "]"


def describe_subject(subject: rbac.Subject, binding_namespace: str) -> str:
    """The subject as decision reasons show it: ``Group "system:masters"``, ``ServiceAccount "name/namespace"``."""
    name = subject.name
    if subject.kind == "ServiceAccount":
        name = f"{subject.name}/{subject.namespace or binding_namespace}"
    return f"{subject.kind} {quote(name)}"
