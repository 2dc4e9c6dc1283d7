"""Statuses of failures: code, reason, message, details, causes."""

import pytest

from api import errors, fields
from api.errors import GroupName


@pytest.mark.parametrize(
    ("error", "code", "reason", "message"),
    [
        (errors.not_found("pods", "x"), 404, "NotFound", 'pods "x" not found'),
        (
            errors.not_found(GroupName("apps", "deployments"), "x"),
            404,
            "NotFound",
            'deployments.apps "x" not found',
        ),
        (errors.already_exists("pods", "x"), 409, "AlreadyExists", 'pods "x" already exists'),
        (
            errors.conflict("pods", "x"),
            409,
            "Conflict",
            'Operation cannot be fulfilled on pods "x": the object has been modified; please apply your changes to the '
            "latest version and try again",
        ),
        (errors.forbidden("pods", "", "no"), 403, "Forbidden", "pods is forbidden: no"),
        (errors.forbidden("pods", "x", "no"), 403, "Forbidden", 'pods "x" is forbidden: no'),
        (errors.forbidden("", "", "no"), 403, "Forbidden", "forbidden: no"),
        (errors.unauthorized("Unauthorized"), 401, "Unauthorized", "Unauthorized"),
        (errors.bad_request("bad"), 400, "BadRequest", "bad"),
        (errors.expired("too old"), 410, "Expired", "too old"),
        (errors.gone("gone"), 410, "Gone", "gone"),
        (errors.timeout("late"), 504, "Timeout", "Timeout: late"),
        (errors.internal("oops"), 500, "InternalError", "Internal error occurred: oops"),
        (errors.too_many_requests("slow down", 1), 429, "TooManyRequests", "slow down"),
        (
            errors.request_entity_too_large("limit is 3145728"),
            413,
            "RequestEntityTooLarge",
            "Request entity too large: limit is 3145728",
        ),
        (
            errors.method_not_supported("pods", "create"),
            405,
            "MethodNotAllowed",
            'create is not supported on resources of kind "pods"',
        ),
        (
            errors.not_acceptable(["application/json"]),
            406,
            "NotAcceptable",
            "only the following media types are accepted: application/json",
        ),
        (
            errors.unsupported_media_type(["application/json"]),
            415,
            "UnsupportedMediaType",
            "the body of the request was in an unknown format - accepted media types include: application/json",
        ),
    ],
)
def test_status(error, code, reason, message):
    assert (error.code, error.reason, str(error)) == (code, reason, message)
    assert error.status.status == "Failure"


def test_details_name_the_object():
    details = errors.not_found("deployments.apps", "x").status.details
    assert (details.group, details.kind, details.name) == ("apps", "deployments", "x")


def test_invalid_has_a_cause_for_each_error_and_names_all():
    found = [fields.required("spec.a"), fields.invalid("spec.b", "y", "must be z")]
    error = errors.invalid("Pod", "web", found)
    assert error.code == 422
    assert str(error) == ('Pod "web" is invalid: [spec.a: Required value, spec.b: Invalid value: "y": must be z]')
    assert [(cause.reason, cause.message, cause.field) for cause in error.causes] == [
        ("FieldValueRequired", "Required value", "spec.a"),
        ("FieldValueInvalid", 'Invalid value: "y": must be z', "spec.b"),
    ]
    assert error.has_cause("FieldValueRequired")
    assert not error.has_cause("FieldValueForbidden")


def test_one_error_stands_without_brackets():
    error = errors.invalid("Deployment.apps", "web", [fields.required("spec.a")])
    assert str(error) == 'Deployment.apps "web" is invalid: spec.a: Required value'
    assert error.status.details.group == "apps"


@pytest.mark.parametrize(
    ("code", "verb", "reason", "message"),
    [
        (404, "GET", "NotFound", "the server could not find the requested resource (get pods x)"),
        (409, "POST", "AlreadyExists", "the server reported a conflict (post pods x)"),
        (409, "PUT", "Conflict", "the server reported a conflict (put pods x)"),
        (403, "GET", "Forbidden", "busy (get pods x)"),
        (
            502,
            "GET",
            "InternalError",
            'an error on the server ("busy") has prevented the request from succeeding (get pods x)',
        ),
        (
            418,
            "GET",
            "",
            "the server responded with the status code 418 but did not return more information (get pods x)",
        ),
    ],
)
def test_response_without_a_status(code, verb, reason, message):
    error = errors.generic_server_response(code, verb, "pods", "x", "busy", 0, True)
    assert (error.code, error.reason, str(error)) == (code, reason, message)
    assert error.has_cause("UnexpectedServerResponse")


def test_predicates():
    assert errors.is_not_found(errors.not_found("pods", "x"))
    assert errors.is_conflict(errors.conflict("pods", "x"))
    assert not errors.is_conflict(errors.already_exists("pods", "x"))
    assert errors.is_expired(errors.expired("")) and errors.is_expired(errors.gone(""))
    assert not errors.is_not_found(ValueError("x"))
