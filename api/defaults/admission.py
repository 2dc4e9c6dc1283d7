"""Defaults of admission webhooks and policies."""

from __future__ import annotations

from collections.abc import Sequence

from api import admissionregistration_v1 as admission
from api import meta_v1 as meta

WEBHOOK_PORT = 443
WEBHOOK_TIMEOUT = 10

Webhook = admission.ValidatingWebhook | admission.MutatingWebhook
Rule = admission.RuleWithOperations | admission.NamedRuleWithOperations


def _default_webhook(webhook: Webhook) -> None:
    if webhook.failure_policy is None:
        webhook.failure_policy = "Fail"
    if webhook.match_policy is None:
        webhook.match_policy = "Equivalent"
    if webhook.namespace_selector is None:
        webhook.namespace_selector = meta.LabelSelector()
    if webhook.object_selector is None:
        webhook.object_selector = meta.LabelSelector()
    if webhook.timeout_seconds is None:
        webhook.timeout_seconds = WEBHOOK_TIMEOUT
    service = webhook.client_config.service
    if service is not None and service.port is None:
        service.port = WEBHOOK_PORT
    _default_rules(webhook.rules)


def _default_rules(rules: Sequence[Rule]) -> None:
    for rule in rules:
        if rule.scope is None:
            rule.scope = "*"


def default_validating_webhooks(configuration: admission.ValidatingWebhookConfiguration) -> None:
    for webhook in configuration.webhooks:
        _default_webhook(webhook)


def default_mutating_webhooks(configuration: admission.MutatingWebhookConfiguration) -> None:
    for webhook in configuration.webhooks:
        _default_webhook(webhook)
        if webhook.reinvocation_policy is None:
            webhook.reinvocation_policy = "Never"


def _default_match(match: admission.MatchResources | None) -> None:
    if match is None:
        return
    if match.match_policy is None:
        match.match_policy = "Equivalent"
    if match.namespace_selector is None:
        match.namespace_selector = meta.LabelSelector()
    if match.object_selector is None:
        match.object_selector = meta.LabelSelector()
    _default_rules(match.resource_rules)
    _default_rules(match.exclude_resource_rules)


def default_policy(policy: admission.ValidatingAdmissionPolicy | admission.MutatingAdmissionPolicy) -> None:
    if policy.spec.failure_policy is None:
        policy.spec.failure_policy = "Fail"
    _default_match(policy.spec.match_constraints)


def default_policy_binding(
    binding: admission.ValidatingAdmissionPolicyBinding | admission.MutatingAdmissionPolicyBinding,
) -> None:
    _default_match(binding.spec.match_resources)


_VERSION = "admissionregistration.k8s.io/v1"

DEFAULTS = {
    (_VERSION, "ValidatingWebhookConfiguration"): default_validating_webhooks,
    (_VERSION, "MutatingWebhookConfiguration"): default_mutating_webhooks,
    (_VERSION, "ValidatingAdmissionPolicy"): default_policy,
    (_VERSION, "MutatingAdmissionPolicy"): default_policy,
    (_VERSION, "ValidatingAdmissionPolicyBinding"): default_policy_binding,
    (_VERSION, "MutatingAdmissionPolicyBinding"): default_policy_binding,
}
