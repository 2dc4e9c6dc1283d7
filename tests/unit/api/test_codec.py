"""Decoding and encoding as a user of the API sees it: what is kept, what is dropped, and in which words it is
refused.
"""

import json
from typing import Any

import pytest

from api import apps_v1 as apps
from api import core_v1 as core
from api import meta_v1 as meta
from api import networking_v1 as networking
from api.codec import (
    DecodeError,
    decode,
    decode_any,
    decode_any_reporting,
    decode_reporting,
    deepcopy,
    encode,
    from_builtins,
    to_builtins,
)
from api.declarations import Struct
from api.quantity import Quantity


def _again(value: Any, kind: type[Struct]) -> Any:
    return json.loads(encode(decode(json.dumps(value).encode(), kind)))


def _pod(**container: Any) -> dict[str, Any]:
    return {"spec": {"containers": [{"name": "app", **container}]}}


def test_kind_and_metadata_lead_the_text() -> None:
    pod = core.Pod(metadata=meta.ObjectMeta(namespace="default", name="web"))
    assert encode(pod).startswith(b'{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web",')


def test_explicit_zero_of_a_pointer_is_kept() -> None:
    deployment = _again({"spec": {"replicas": 0, "paused": False, "minReadySeconds": 0}}, apps.Deployment)
    assert deployment["spec"]["replicas"] == 0
    assert "paused" not in deployment["spec"]
    assert "minReadySeconds" not in deployment["spec"]


def test_empty_collections_and_structs() -> None:
    pod = _again(
        {
            "metadata": {"labels": {}, "finalizers": []},
            "spec": {
                "containers": [],
                "volumes": [{"name": "scratch", "emptyDir": {}}],
                "nodeSelector": {},
                "securityContext": {},
                "automountServiceAccountToken": False,
                "hostNetwork": False,
                "terminationGracePeriodSeconds": 0,
            },
        },
        core.Pod,
    )
    assert pod == {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {},
        "spec": {
            "volumes": [{"name": "scratch", "emptyDir": {}}],
            "containers": [],
            "terminationGracePeriodSeconds": 0,
            "automountServiceAccountToken": False,
            "securityContext": {},
        },
        "status": {},
    }


def test_required_fields_are_written_even_when_empty() -> None:
    policy = _again({"spec": {"ingress": [{}]}}, networking.NetworkPolicy)
    assert policy["spec"] == {"podSelector": {}, "ingress": [{}]}
    assert _again(_pod(env=[{"name": "A", "value": ""}]), core.Pod)["spec"]["containers"][0]["env"] == [{"name": "A"}]


def test_times_that_are_not_given() -> None:
    condition = {"type": "Ready", "status": "True", "lastProbeTime": None, "lastTransitionTime": None}
    pod = _again({"metadata": {"creationTimestamp": None}, "status": {"conditions": [condition]}}, core.Pod)
    assert "creationTimestamp" not in pod["metadata"]
    assert pod["status"]["conditions"] == [condition]


def test_null_means_absent_wherever_it_stands() -> None:
    pod = decode(
        b'{"metadata":{"name":null,"labels":{"a":null}},"spec":{"nodeName":null,"containers":'
        b'[{"name":"app","args":[null,"x"],"env":null,"resources":null,"ports":[null]}]},"status":null}',
        core.Pod,
    )
    assert pod.metadata.name == ""
    assert pod.metadata.labels == {"a": ""}
    container = pod.spec.containers[0]
    assert container.args == ["", "x"]
    assert container.env == []
    assert container.resources == core.ResourceRequirements()
    assert container.ports == [core.ContainerPort()]
    assert pod.status == core.PodStatus()


def test_null_alone_is_an_empty_object() -> None:
    assert decode(b"null", core.Pod) == core.Pod()


def test_null_stays_in_free_form_fields() -> None:
    revision = decode(b'{"data":{"spec":null,"list":[null]},"revision":1,"metadata":null}', apps.ControllerRevision)
    assert revision.data == {"spec": None, "list": [None]}
    assert json.loads(encode(revision))["data"] == {"spec": None, "list": [None]}


def test_quantities_become_canonical_and_numbers_are_quantities() -> None:
    pod = decode(b'{"spec":{"containers":[{"resources":{"limits":{"cpu":0.5,"memory":" 1024Mi "}}}]}}', core.Pod)
    assert pod.spec.containers[0].resources.limits == {"cpu": Quantity("500m"), "memory": Quantity("1Gi")}
    assert json.loads(encode(pod))["spec"]["containers"][0]["resources"] == {"limits": {"cpu": "500m", "memory": "1Gi"}}


def test_port_is_a_number_or_a_name() -> None:
    ports = [{"port": 80, "targetPort": "http"}, {"port": 81, "targetPort": 8081}]
    assert _again({"spec": {"ports": ports}}, core.Service)["spec"]["ports"] == ports


def test_bytes_may_be_broken_into_lines() -> None:
    assert decode(b'{"data":{"k":"aGVs\\nbG8=\\r\\n"}}', core.Secret).data == {"k": b"hello"}


def test_invalid_utf8_and_half_surrogates_are_replaced() -> None:
    assert decode(b'{"data":{"k":"a\xffb"}}', core.ConfigMap).data == {"k": "a\ufffdb"}
    assert decode(b'{"data":{"k":"\\ud800"}}', core.ConfigMap).data == {"k": "\ufffd"}


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([], "json: cannot unmarshal array into Go value of type v1.Pod"),
        ({"spec": "x"}, "json: cannot unmarshal string into Go struct field Pod.spec of type v1.PodSpec"),
        (
            _pod(image=1),
            "json: cannot unmarshal number into Go struct field Container.spec.containers.image of type string",
        ),
        (
            _pod(args="x"),
            "json: cannot unmarshal string into Go struct field Container.spec.containers.args of type []string",
        ),
        (
            _pod(args=[True]),
            "json: cannot unmarshal bool into Go struct field Container.spec.containers.args of type string",
        ),
        (
            _pod(tty="no"),
            "json: cannot unmarshal string into Go struct field Container.spec.containers.tty of type bool",
        ),
        (
            {"metadata": {"labels": {"a": 1}}},
            "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.labels of type string",
        ),
        (
            {"spec": {"terminationGracePeriodSeconds": 1.5}},
            "json: cannot unmarshal number 1.5 into Go struct field "
            "PodSpec.spec.terminationGracePeriodSeconds of type int64",
        ),
        (
            _pod(ports=[{"containerPort": 3000000000}]),
            "json: cannot unmarshal number 3000000000 into Go struct field "
            "ContainerPort.spec.containers.ports.containerPort of type int32",
        ),
        (
            {"spec": {"priority": True}},
            "json: cannot unmarshal bool into Go struct field PodSpec.spec.priority of type int32",
        ),
        (
            {"metadata": {"creationTimestamp": "now"}},
            'parsing time "now" as "2006-01-02T15:04:05Z07:00": cannot parse "now" as "2006"',
        ),
        ({"metadata": {"creationTimestamp": 1}}, "json: cannot unmarshal number into Go value of type string"),
        (
            _pod(resources={"limits": {"cpu": "much"}}),
            "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
        ),
        (
            _pod(livenessProbe={"httpGet": {"port": True}}),
            "json: cannot unmarshal bool into Go value of type int32",
        ),
    ],
)
def test_wrong_types_are_refused_in_the_words_of_go(value: Any, message: str) -> None:
    with pytest.raises(DecodeError) as refused:
        decode(json.dumps(value).encode(), core.Pod)
    assert str(refused.value) == message
    with pytest.raises(DecodeError) as refused:
        from_builtins(value, core.Pod)
    assert str(refused.value) == message


@pytest.mark.parametrize(
    ("text", "byte"),
    [("YWJ", 0), ("YW*j", 2), ("YWJjYQ", 4), ("YQ=x", 2), ("YQ", 0), ("YWI=YQ==", 4), ("=", 0), ("YQ=", 3)],
)
def test_broken_base64(text: str, byte: int) -> None:
    with pytest.raises(DecodeError) as refused:
        from_builtins({"data": {"k": text}}, core.Secret)
    assert str(refused.value) == f"illegal base64 data at input byte {byte}"


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"", "unexpected end of JSON input"),
        (b'{"spec":', "unexpected end of JSON input"),
        (b'{"a":"b', "unexpected end of JSON input"),
        (b"{} x", "invalid character 'x' after top-level value"),
        (b'{"a":1,}', "invalid character '}' looking for beginning of object key string"),
        (b"{a:1}", "invalid character 'a' looking for beginning of object key string"),
        (b'{"a" 1}', "invalid character '1' after object key"),
        (b'{"a":1 "b":2}', "invalid character '\"' after object key:value pair"),
        (b"[1 2]", "invalid character '2' after array element"),
        (b"[[1]2]", "invalid character '2' after array element"),
        (b'{"a":tru}', "invalid character '}' in literal true (expecting 'e')"),
        (b'{"a":NaN}', "invalid character 'N' looking for beginning of value"),
        (b'{"a":"\n"}', r"invalid character '\n' in string literal"),
        (b'{"a":"\\q"}', "invalid character 'q' in string escape code"),
        (b"kind: Pod", "invalid character 'k' looking for beginning of value"),
        (b"'", r"invalid character '\'' looking for beginning of value"),
    ],
)
def test_malformed_text(raw: bytes, message: str) -> None:
    for attempt in (lambda: decode(raw, core.Pod), lambda: decode_any(raw)):
        with pytest.raises(DecodeError) as refused:
            attempt()
        assert str(refused.value) == message


@pytest.mark.parametrize(
    "raw",
    [
        b"[" * 100_000 + b"]" * 100_000,
        b'{"metadata":{"managedFields":[{"fieldsV1":' + b'{"a":' * 50_000 + b"1" + b"}" * 50_000 + b"}]}}",
        b'{"spec":{"terminationGracePeriodSeconds":' + b"9" * 10_000 + b"}}",
        b'{"spec":{"terminationGracePeriodSeconds":1e400}}',
    ],
)
def test_hostile_text_is_refused_not_fatal(raw: bytes) -> None:
    with pytest.raises(DecodeError):
        decode_reporting(raw, core.Pod)


def test_deep_values_of_the_wrong_type_are_refused_not_fatal() -> None:
    raw = b'{"spec":{"containers":' + b"[" * 800 + b"]" * 800 + b"}}"
    with pytest.raises(DecodeError):
        decode(raw, core.Pod)


def test_reports_unknown_fields_with_their_path() -> None:
    raw = b'{"foo":1,"spec":{"bar":{},"containers":[{"name":"a"},{"ports":[{"baz":1}]}],"nodeSelector":{"any":"x"}}}'
    pod, objections = decode_reporting(raw, core.Pod)
    assert pod.spec.containers[0].name == "a"
    assert objections == [
        'unknown field "foo"',
        'unknown field "spec.bar"',
        'unknown field "spec.containers[1].ports[0].baz"',
    ]


def test_reports_duplicate_fields_and_keeps_the_last() -> None:
    raw = b'{"spec":{"nodeName":"a","nodeName" : "b"},"metadata":{"labels":{"x":"1","x":"2","x":"3"}}}'
    pod, objections = decode_reporting(raw, core.Pod)
    assert pod.spec.node_name == "b"
    assert objections == ['duplicate field "spec.nodeName"', 'duplicate field "metadata.labels.x"']


def test_objections_come_in_the_order_of_the_text_and_from_every_repeat() -> None:
    raw = (
        b'{"spec":{"foo":1,"replicas":2,"replicas":3,"template":{"spec":{"bar":1}},'
        b'"template":{"spec":{"restartPolicy":"Always","restartPolicy":"Always"}},"foo":2},"baz":1}'
    )
    deployment, objections = decode_reporting(raw, apps.Deployment)
    assert deployment.spec.replicas == 3
    assert objections == [
        'unknown field "spec.foo"',
        'duplicate field "spec.replicas"',
        'unknown field "spec.template.spec.bar"',
        'duplicate field "spec.template"',
        'duplicate field "spec.template.spec.restartPolicy"',
        'unknown field "baz"',
    ]


def test_no_more_than_a_hundred_objections() -> None:
    raw = b"{%b}" % b",".join(b'"x%d":1' % number for number in range(200))
    assert len(decode_reporting(raw, core.Pod)[1]) == 100


def test_documents_without_a_type_are_searched_for_repeats() -> None:
    raw = b'{"a":{"b":[{"c":1,"c":2}],"b":[]},"a":null}'
    document, objections = decode_any_reporting(raw)
    assert document == {"a": None}
    assert objections == ['duplicate field "a.b[0].c"', 'duplicate field "a.b"', 'duplicate field "a"']


def test_lists_are_held_to_the_fields_their_objects_may_have() -> None:
    names = frozenset({"op", "value"})
    assert decode_any_reporting(b'[{"op":"a","value":{"x":1}},1]', names)[1] == []
    raw = b'[{"op":"a"},{"op":"a","zz":1,"op":"b","value":{"x":1,"x":2}}]'
    objections = decode_any_reporting(raw, names)[1]
    assert objections == ['unknown field "[1].zz"', 'duplicate field "[1].op"', 'duplicate field "[1].value.x"']


def test_escaped_quotes_do_not_hide_duplicates() -> None:
    raw = b'{"data":{"x":"\\u0022\\u0022","x":"","y":"\\""}}'
    assert decode_reporting(raw, core.ConfigMap)[1] == ['duplicate field "data.x"']


def test_free_form_fields_hold_anything() -> None:
    raw = b'{"data":{"whatever":[{"goes":1}]},"revision":3}'
    assert decode_reporting(raw, apps.ControllerRevision)[1] == []


def test_copy_shares_nothing() -> None:
    pod = core.Pod(
        metadata=meta.ObjectMeta(labels={"a": "b"}), spec=core.PodSpec(containers=[core.Container(name="x")])
    )
    twin = deepcopy(pod)
    assert twin == pod
    twin.metadata.labels["a"] = "c"
    twin.spec.containers[0].name = "y"
    assert pod.metadata.labels == {"a": "b"}
    assert pod.spec.containers[0].name == "x"


def test_builtins_are_the_text_decoded() -> None:
    pod = from_builtins(_pod(resources={"limits": {"cpu": "1000m"}}), core.Pod)
    assert to_builtins(pod) == json.loads(encode(pod))
