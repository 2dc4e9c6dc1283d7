"""Questions about identity and permission, asked as objects that are posted and never stored.

TokenReview and SubjectAccessReview are how other servers (the node agent above all) leave authentication and
authorization to this one; the Self* reviews are how clients ask about themselves (``kubectl auth can-i``,
``whoami``).
"""

from __future__ import annotations

from collections.abc import Mapping

from api import authentication_v1 as authentication
from api import authorization_v1 as authorization
from api import errors, fields, selectors
from api import meta_v1 as meta
from controlplane.apiserver.authentication.rejection import Rejected
from controlplane.apiserver.authentication.service_accounts import ServiceAccountAuthenticator
from controlplane.apiserver.authorization.authorizer import PRIVILEGED_GROUP, Authorizer
from controlplane.apiserver.authorization.rules import EVERYTHING
from controlplane.apiserver.request import RequestInfo, User

_AUTHORIZATION = "authorization.k8s.io"
AnyReview = (
    authorization.SubjectAccessReview | authorization.LocalSubjectAccessReview | authorization.SelfSubjectAccessReview
)


class Reviews:
    """Answers reviews; each method fills in the status of the review and returns it."""

    def __init__(self, tokens: ServiceAccountAuthenticator, authorizer: Authorizer) -> None:
        self._tokens = tokens
        self._authorizer = authorizer

    def review(self, review: meta.Object, user: User, namespace: str = "") -> meta.Object:
        """Answer any review that *user* posts; *namespace* is that of the URL.

        Raises StatusError: 422 for a review that says too little or too much, 400 where the namespaces differ.
        TypeError for what is no review.
        """
        if isinstance(review, authentication.TokenReview):
            return self.token(review)
        if isinstance(review, authentication.SelfSubjectReview):
            review.status = authentication.SelfSubjectReviewStatus(user_info=user_info(user))
            return review
        if isinstance(review, authorization.SelfSubjectRulesReview):
            return self.rules(review, user)
        if isinstance(review, authorization.SubjectAccessReview):
            return self.subject_access(review)
        if isinstance(review, authorization.LocalSubjectAccessReview):
            return self.local_subject_access(review, namespace)
        if isinstance(review, authorization.SelfSubjectAccessReview):
            _check_attributes("SelfSubjectAccessReview", review, [])
            review.status = self._decide(user, review)
            return review
        raise TypeError(f"{type(review).__name__} is no review")

    # ------------------------------------------------------------ identity

    def token(self, review: authentication.TokenReview) -> authentication.TokenReview:
        """Who holds the token; a bad one is an answer, not an error."""
        if not review.spec.token:
            raise errors.bad_request("token is required for TokenReview in authentication")
        try:
            found, audiences = self._tokens.authenticate(review.spec.token, tuple(review.spec.audiences))
        except Rejected as refusal:
            reason = str(refusal)
            text = reason if reason == "invalid bearer token" else f"[invalid bearer token, {reason}]"
            review.status = authentication.TokenReviewStatus(error=text)
            return review
        review.status = authentication.TokenReviewStatus(
            authenticated=True, user=user_info(found), audiences=list(audiences)
        )
        return review

    # ------------------------------------------------------------ permission

    def subject_access(self, review: authorization.SubjectAccessReview) -> authorization.SubjectAccessReview:
        """Whether somebody may do something."""
        _check_attributes("SubjectAccessReview", review, _subject_problems(review.spec))
        review.status = self._decide(_subject(review.spec), review)
        return review

    def local_subject_access(
        self, review: authorization.LocalSubjectAccessReview, namespace: str
    ) -> authorization.LocalSubjectAccessReview:
        """The same for one namespace, which a namespace's admin may ask."""
        problems = _subject_problems(review.spec)
        attributes = review.spec.resource_attributes
        if review.spec.non_resource_attributes is not None:
            problems.append(
                fields.invalid(
                    "spec.nonResourceAttributes",
                    review.spec.non_resource_attributes,
                    "disallowed on this kind of request",
                )
            )
        inner = "" if attributes is None else attributes.namespace
        if attributes is not None and inner != review.metadata.namespace and review.metadata.namespace:
            problems.append(fields.invalid("spec.resourceAttributes.namespace", inner, "must match metadata.namespace"))
        _check_attributes("LocalSubjectAccessReview", review, problems)
        if inner != namespace:
            raise errors.bad_request(f"spec.resourceAttributes.namespace must match namespace: {namespace}")
        review.status = self._decide(_subject(review.spec), review)
        return review

    def _decide(self, user: User, review: AnyReview) -> authorization.SubjectAccessReviewStatus:
        decision = self._authorizer.authorize(user, _question(review))
        return authorization.SubjectAccessReviewStatus(allowed=decision.allowed, reason=decision.reason)

    def rules(self, review: authorization.SelfSubjectRulesReview, user: User) -> authorization.SelfSubjectRulesReview:
        """Everything the user may do in a namespace, as far as roles say it (``kubectl auth can-i --list``)."""
        namespace = review.spec.namespace
        if not namespace:
            raise errors.bad_request("no namespace on request")
        rules, problems = self._authorizer.rbac.rules_for(user, namespace)
        if PRIVILEGED_GROUP in user.groups:
            rules = [*(rule for rule in EVERYTHING if rule not in rules), *rules]
        status = authorization.SubjectRulesReviewStatus()
        for rule in rules:
            if rule.non_resource_urls:
                status.non_resource_rules.append(
                    authorization.NonResourceRule(
                        verbs=list(rule.verbs), non_resource_urls=list(rule.non_resource_urls)
                    )
                )
            if rule.resources:
                status.resource_rules.append(
                    authorization.ResourceRule(
                        verbs=list(rule.verbs),
                        api_groups=list(rule.api_groups),
                        resources=list(rule.resources),
                        resource_names=list(rule.resource_names),
                    )
                )
        if problems:
            status.incomplete = True
            status.evaluation_error = problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]"
        review.status = status
        return review


def user_info(user: User) -> authentication.UserInfo:
    """The user as the API shows it."""
    return authentication.UserInfo(
        username=user.name,
        uid=user.uid,
        groups=list(user.groups),
        extra={key: list(values) for key, values in user.extra.items()},
    )


def _subject(spec: authorization.SubjectAccessReviewSpec) -> User:
    extra: Mapping[str, tuple[str, ...]] = {key.lower(): tuple(values) for key, values in spec.extra.items()}
    return User(spec.user, spec.uid, tuple(spec.groups), extra)


def _subject_problems(spec: authorization.SubjectAccessReviewSpec) -> list[fields.FieldError]:
    if spec.user or spec.groups:
        return []
    return [fields.invalid("spec.user", spec.user, "at least one of user or group must be specified")]


def _check_attributes(kind: str, review: AnyReview, problems: list[fields.FieldError]) -> None:
    """Exactly one question, and nothing of its own; raises Invalid."""
    spec = review.spec
    both = spec.resource_attributes is not None and spec.non_resource_attributes is not None
    neither = spec.resource_attributes is None and spec.non_resource_attributes is None
    found: list[fields.FieldError] = []
    if both:
        found.append(
            fields.invalid(
                "spec.nonResourceAttributes",
                spec.non_resource_attributes,
                "cannot be specified in combination with resourceAttributes",
            )
        )
    if neither:
        found.append(
            fields.invalid(
                "spec.resourceAttributes",
                spec.non_resource_attributes,
                "exactly one of nonResourceAttributes or resourceAttributes must be specified",
            )
        )
    found.extend(problems)
    bare = meta.ObjectMeta(namespace=review.metadata.namespace) if kind.startswith("Local") else meta.ObjectMeta()
    if _says_more(review.metadata, bare):
        found.append(fields.invalid("metadata", review.metadata, "must be empty"))
    if found:
        raise errors.invalid(errors.GroupName(_AUTHORIZATION, kind), "", found)


def _says_more(metadata: meta.ObjectMeta, bare: meta.ObjectMeta) -> bool:
    """Whether the metadata holds more than the server itself may have put there."""
    return any(
        getattr(metadata, name) != getattr(bare, name)
        for name in metadata.__struct_fields__
        if name not in ("managed_fields", "creation_timestamp", "uid")
    )


def _question(review: AnyReview) -> RequestInfo:
    spec = review.spec
    if spec.non_resource_attributes is not None:
        return RequestInfo(spec.non_resource_attributes.verb, path=spec.non_resource_attributes.path)
    attributes = spec.resource_attributes or authorization.ResourceAttributes()
    return RequestInfo(
        verb=attributes.verb,
        group=attributes.group,
        version=attributes.version or "*",
        resource=attributes.resource,
        subresource=attributes.subresource,
        namespace=attributes.namespace,
        name=attributes.name,
        is_resource=True,
        field_equals=_demanded_fields(attributes.field_selector),
    )


def _demanded_fields(selector: authorization.FieldSelectorAttributes | None) -> tuple[tuple[str, str], ...]:
    if selector is None:
        return ()
    if selector.requirements:
        return tuple(
            (item.key, item.values[0])
            for item in selector.requirements
            if item.operator == "In" and len(item.values) == 1
        )
    try:
        parsed = selectors.parse_field_selector(selector.raw_selector)
    except selectors.SelectorError:
        return ()  # a selector that cannot be read narrows nothing: the question is the wider one
    return tuple((term.field, term.value) for term in parsed.terms if term.equal)
