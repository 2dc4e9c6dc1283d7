"""Field selectors: syntax with escapes, and which fields a kind offers."""

import pytest

from api import core_v1 as core
from api import meta_v1 as meta
from api.selectors import SelectorError, check_fields, field_value, parse_field_selector


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("", ""),
        ("a=b", "a=b"),
        ("a==b", "a=b"),
        ("a!=b", "a!=b"),
        ("b=2,a=1,,", "a=1,b=2"),
        (r"a=x\,y\=z\\", r"a=x\,y\=z\\"),
    ],
)
def test_canonical_text(text, canonical):
    assert str(parse_field_selector(text)) == canonical


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a", "invalid selector: 'a'; can't understand 'a'"),
        (r"a=\b", r"invalid field selector: invalid escape sequence: \b"),
        ("a=b\\", "invalid field selector: invalid escape sequence: \\"),
        ("a=b=c", "invalid field selector: unescaped character in value: 61"),
    ],
)
def test_errors(text, message):
    with pytest.raises(SelectorError) as error:
        parse_field_selector(text)
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("api_version", "kind", "label", "message"),
    [
        ("v1", "Pod", "spec.foo", "field label not supported: spec.foo"),
        ("v1", "Node", "metadata.namespace", "field label not supported: metadata.namespace"),
        (
            "v1",
            "ConfigMap",
            "data",
            '"data" is not a known field selector: only "metadata.name", "metadata.namespace"',
        ),
        (
            "resource.k8s.io/v1",
            "ResourceSlice",
            "x",
            "field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: x",
        ),
    ],
)
def test_unsupported_labels(api_version, kind, label, message):
    with pytest.raises(SelectorError) as error:
        check_fields(parse_field_selector(f"{label}=x"), api_version, kind)
    assert str(error.value) == message


def test_old_label_of_pods():
    selector = check_fields(parse_field_selector("spec.host=n1"), "v1", "Pod")
    assert selector.exact("spec.nodeName") == "n1"


def test_pod_fields():
    pod = core.Pod(
        metadata=meta.ObjectMeta(name="a", namespace="b"),
        spec=core.PodSpec(node_name="n1", host_network=True, restart_policy="Never"),
        status=core.PodStatus(phase="Running", pod_ip="10.0.0.1", pod_ips=[core.PodIP(ip="10.0.0.1")]),
    )
    expected = {
        "metadata.name": "a",
        "metadata.namespace": "b",
        "spec.nodeName": "n1",
        "spec.hostNetwork": "true",
        "spec.restartPolicy": "Never",
        "status.phase": "Running",
        "status.podIP": "10.0.0.1",
        "status.podIPs": "",
        "status.nominatedNodeName": "",
    }
    assert {label: field_value(pod, label) for label in expected} == expected
    assert parse_field_selector("spec.nodeName=n1,status.phase!=Failed").matches(pod)
    assert not parse_field_selector("spec.nodeName!=n1").matches(pod)


def test_event_source_falls_back_to_the_reporter():
    event = core.Event(reporting_component="kubelet", involved_object=core.ObjectReference(uid="u"))
    assert field_value(event, "source") == "kubelet"
    assert field_value(event, "involvedObject.uid") == "u"
