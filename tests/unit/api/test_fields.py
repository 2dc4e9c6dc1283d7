"""Field errors: paths, words, and how values are shown."""

import pytest

from api import apps_v1 as apps
from api import core_v1 as core
from api import fields
from api import meta_v1 as meta
from api.fields import Path


def test_path_steps():
    path = Path("spec").child("containers").index(0).child("env").index(1).child("valueFrom")
    assert path == "spec.containers[0].env[1].valueFrom"
    assert Path("metadata").child("labels").key("foo") == "metadata.labels[foo]"


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (fields.invalid("spec.x", "y", "detail"), 'spec.x: Invalid value: "y": detail'),
        (fields.invalid("spec.x", 'say "hi"\n', ""), 'spec.x: Invalid value: "say \\"hi\\"\\n"'),
        (fields.invalid("spec.x", 3, "too few"), "spec.x: Invalid value: 3: too few"),
        (fields.invalid("spec.x", True, "no"), "spec.x: Invalid value: true: no"),
        (fields.invalid("spec.x", None, "no"), "spec.x: Invalid value: null: no"),
        (
            fields.invalid("spec.x", {"b": "1", "a": "<2>"}, "no"),
            'spec.x: Invalid value: {"a":"\\u003c2\\u003e","b":"1"}: no',
        ),
        (fields.required("spec.x"), "spec.x: Required value"),
        (fields.required("spec.x", "why"), "spec.x: Required value: why"),
        (fields.forbidden("spec.x", "why"), "spec.x: Forbidden: why"),
        (fields.duplicate("spec.x", "a"), 'spec.x: Duplicate value: "a"'),
        (fields.not_found("spec.x", "a"), 'spec.x: Not found: "a"'),
        (fields.not_supported("spec.x", "y", ("A", "B")), 'spec.x: Unsupported value: "y": supported values: "A", "B"'),
        (fields.too_long("spec.x", 63), "spec.x: Too long: may not be more than 63 bytes"),
        (fields.too_long("spec.x", 1), "spec.x: Too long: may not be more than 1 byte"),
        (fields.too_many("spec.x", 3, 2), "spec.x: Too many: 3: must have at most 2 items"),
        (fields.too_many("spec.x", -1, 1), "spec.x: Too many: must have at most 1 item"),
    ],
)
def test_text(error, text):
    assert str(error) == text


def test_types_of_meta_are_shown_with_their_wire_names():
    selector = meta.LabelSelector(match_labels={"app": "web"})
    assert fields.invalid("spec.selector", selector, "field is immutable").body == (
        'Invalid value: {"matchLabels":{"app":"web"}}: field is immutable'
    )


def test_other_types_are_shown_as_the_internal_ones():
    port = core.ServicePort(protocol="TCP", port=80)
    assert fields.duplicate("spec.ports[1]", port).body == (
        'Duplicate value: {"Name":"","Protocol":"TCP","AppProtocol":null,"Port":80,"TargetPort":0,"NodePort":0}'
    )
    strategy = apps.DeploymentStrategy(type="Never")
    assert fields.invalid("spec.strategy", strategy, "").body == 'Invalid value: {"Type":"Never","RollingUpdate":null}'


def test_aggregate_names_each_error_once():
    one, two = fields.required("a"), fields.required("b")
    assert fields.aggregate([one, one]) == "a: Required value"
    assert fields.aggregate([one, two, one]) == "[a: Required value, b: Required value]"
