"""Environment variables in all their forms, and references to them."""

from __future__ import annotations

from typing import Any

import pytest

from agent.runtime.env_files import EnvFileError, parse_env_file
from agent.runtime.environment import EnvironmentFacts, build_environment, gather
from agent.runtime.errors import ConfigError
from agent.runtime.expansion import expand, without_value
from agent.runtime.service_variables import service_variables
from api import core_v1 as core
from api import meta_v1 as meta
from api.codec import from_builtins
from api.quantity import Quantity
from tests.unit.agent.pod_builders import pod


@pytest.mark.parametrize(
    ("text", "expanded"),
    [
        ("plain", "plain"),
        ("$(A)", "one"),
        ("$(A)$(B)", "onetwo"),
        ("$(A", "$(A"),
        ("$A", "$A"),
        ("$(NOPE)", "$(NOPE)"),
        ("$$(A)", "$(A)"),
        ("$$$(A)", "$one"),
        ("$$$$(A)", "$$(A)"),
        ("$$", "$"),
        ("$", "$"),
        ("$()", "$()"),
        ("$(A)$", "one$"),
        ("foo$$bar", "foo$bar"),
        ("$($(A))", "$($(A))"),
        ("(A)$(B)", "(A)two"),
    ],
)
def test_references_are_replaced_as_the_api_says(text: str, expanded: str) -> None:
    assert expand(text, {"A": "one", "B": "two"}) == expanded


def test_unknown_references_are_named() -> None:
    assert without_value("$(Z)/$(A)/$(X)/$$(Y)/$(B)/$(Z)", {"A": "", "B": "b"}) == ["A", "X", "Z"]


CONFIG_MAP = core.ConfigMap(metadata=meta.ObjectMeta(name="settings"), data={"color": "blue", "two words": "x"})
SECRET = core.Secret(metadata=meta.ObjectMeta(name="keys"), data={"token": b"s3cret", "raw": b"\xff\x00"})


def facts(**more: Any) -> EnvironmentFacts:
    given: dict[str, Any] = {
        "config_maps": {"settings": CONFIG_MAP},
        "secrets": {"keys": SECRET},
        "services": {"KUBERNETES_SERVICE_HOST": "10.43.0.1"},
        "pod_ips": ("10.42.0.5", "fd00::5"),
        "host_ips": ("192.0.2.1", "2001:db8::1"),
        "allocatable": {"cpu": Quantity(4), "memory": Quantity("8Gi")},
        **more,
    }
    return EnvironmentFacts(**given)


def variables(container: dict[str, Any], **more: Any) -> dict[str, str]:
    one = pod({"name": "app", **container}, serviceAccountName="robot")
    one.metadata.labels = {"app": "web"}
    one.metadata.annotations = {"note": 'a "quoted" one'}
    return build_environment(one, one.spec.containers[0], facts(**more)).variables


def from_field(path: str) -> dict[str, Any]:
    return {"env": [{"name": "X", "valueFrom": {"fieldRef": {"fieldPath": path}}}]}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("metadata.name", "web"),
        ("metadata.namespace", "default"),
        ("metadata.uid", "11111111-2222-3333-4444-555555555555"),
        ("metadata.labels['app']", "web"),
        ("metadata.labels['none']", ""),
        ("metadata.annotations['note']", 'a "quoted" one'),
        ("metadata.annotations", 'note="a \\"quoted\\" one"'),
        ("spec.nodeName", "node"),
        ("spec.serviceAccountName", "robot"),
        ("status.hostIP", "192.0.2.1"),
        ("status.hostIPs", "192.0.2.1,2001:db8::1"),
        ("status.podIP", "10.42.0.5"),
        ("status.podIPs", "10.42.0.5,fd00::5"),
    ],
)
def test_fields_of_the_pod(path: str, value: str) -> None:
    assert variables(from_field(path))["X"] == value


def test_an_unknown_field_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"unsupported fieldPath: spec\.nope"):
        variables(from_field("spec.nope"))


@pytest.mark.parametrize(
    ("resource", "divisor", "value"),
    [
        ("limits.cpu", "0", "1"),
        ("limits.cpu", "1m", "250"),
        ("requests.cpu", "1m", "100"),
        ("limits.memory", "1Mi", "64"),
        ("limits.memory", "1Gi", "1"),
        ("limits.memory", "0", str(64 << 20)),
        ("requests.memory", "1", "0"),
        ("limits.hugepages-2Mi", "1Mi", "4"),
    ],
)
def test_amounts_are_in_units_of_the_divisor_rounded_up(resource: str, divisor: str, value: str) -> None:
    selector = {"resource": resource, "divisor": divisor}
    container = {
        "env": [{"name": "X", "valueFrom": {"resourceFieldRef": selector}}],
        "resources": {
            "limits": {"cpu": "250m", "memory": "64Mi", "hugepages-2Mi": "4Mi"},
            "requests": {"cpu": "100m"},
        },
    }
    assert variables(container)["X"] == value


def test_a_missing_limit_is_what_the_node_has() -> None:
    container = {"env": [{"name": "X", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}}]}
    assert variables(container)["X"] == "4"


def key(kind: str, name: str, field: str, *, optional: bool = False) -> dict[str, Any]:
    selector = {"name": name, "key": field, "optional": optional}
    return {"env": [{"name": "X", "valueFrom": {kind: selector}}, {"name": "Y", "value": "y"}]}


def test_keys_of_objects() -> None:
    assert variables(key("configMapKeyRef", "settings", "color"))["X"] == "blue"
    assert variables(key("secretKeyRef", "keys", "token"))["X"] == "s3cret"
    assert variables(key("secretKeyRef", "keys", "raw"))["X"].encode("utf-8", "surrogateescape") == b"\xff\x00"


@pytest.mark.parametrize(
    ("kind", "name", "message"),
    [
        ("configMapKeyRef", "settings", "couldn't find key none in ConfigMap default/settings"),
        ("configMapKeyRef", "gone", 'configmap "gone" not found'),
        ("secretKeyRef", "keys", "couldn't find key none in Secret default/keys"),
        ("secretKeyRef", "gone", 'secret "gone" not found'),
    ],
)
def test_what_is_missing_is_told_unless_it_is_optional(kind: str, name: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        variables(key(kind, name, "none"))
    assert str(caught.value) == message
    optional = variables(key(kind, name, "none", optional=True))
    assert "X" not in optional and optional["Y"] == "y"


def test_whole_objects_with_prefixes_and_precedence() -> None:
    container = {
        "envFrom": [
            {"configMapRef": {"name": "settings"}},
            {"prefix": "K_", "secretRef": {"name": "keys"}},
            {"configMapRef": {"name": "gone", "optional": True}},
        ],
        "env": [{"name": "color", "value": "not $(color)"}, {"name": "LATER", "value": "$(K_token) $(color)"}],
    }
    made = variables(container)
    assert made["color"] == "not blue"
    assert made["LATER"] == "s3cret not blue"
    assert made["two words"] == "x"
    assert made["KUBERNETES_SERVICE_HOST"] == "10.43.0.1"
    with pytest.raises(ConfigError, match=r'^secret "gone" not found$'):
        variables({"envFrom": [{"secretRef": {"name": "gone"}}]})


def test_names_no_environment_can_hold_are_skipped_and_told() -> None:
    odd = core.ConfigMap(metadata=meta.ObjectMeta(name="odd"), data={"a=b": "1", "é": "2", "fine": "3"})
    one = pod({"name": "app", "envFrom": [{"configMapRef": {"name": "odd"}}]})
    made = build_environment(one, one.spec.containers[0], facts(config_maps={"odd": odd}, services={}))
    assert made.variables == {"fine": "3"}
    assert made.warnings == [
        "Keys [a=b, é] from the EnvFrom configMap default/odd were skipped since they are considered invalid "
        "environment variable names."
    ]


def test_a_variable_of_ones_own_beats_a_services() -> None:
    container = {"env": [{"name": "KUBERNETES_SERVICE_HOST", "value": "mine"}, {"name": "U", "value": "$(HOME)"}]}
    made = variables(container)
    assert made["KUBERNETES_SERVICE_HOST"] == "mine"
    assert made["U"] == "$(HOME)"


def test_services_can_be_referred_to() -> None:
    made = variables({"env": [{"name": "U", "value": "https://$(KUBERNETES_SERVICE_HOST)"}]})
    assert made["U"] == "https://10.43.0.1"


async def test_only_what_is_referred_to_is_looked_up() -> None:
    asked: list[tuple[str, str, str]] = []

    class Objects:
        async def config_map(self, namespace: str, name: str) -> core.ConfigMap | None:
            asked.append(("config map", namespace, name))
            return CONFIG_MAP if name == "settings" else None

        async def secret(self, namespace: str, name: str) -> core.Secret | None:
            asked.append(("secret", namespace, name))
            return SECRET

    one = pod(
        {
            "name": "app",
            "envFrom": [{"configMapRef": {"name": "gone"}}],
            "env": [
                {"name": "A", "valueFrom": {"configMapKeyRef": {"name": "settings", "key": "color"}}},
                {"name": "B", "valueFrom": {"secretKeyRef": {"name": "keys", "key": "token"}}},
                {"name": "C", "valueFrom": {"secretKeyRef": {"name": "keys", "key": "raw"}}},
            ],
        }
    )
    config_maps, secrets = await gather(one.spec.containers[0], "default", Objects())
    assert (set(config_maps), set(secrets)) == ({"settings"}, {"keys"})
    assert asked == [
        ("config map", "default", "gone"),
        ("config map", "default", "settings"),
        ("secret", "default", "keys"),
    ]


def service(name: str, namespace: str, ip: str, *ports: dict[str, Any]) -> core.Service:
    made = core.Service(metadata=meta.ObjectMeta(name=name, namespace=namespace))
    made.spec = from_builtins({"clusterIP": ip, "ports": list(ports)}, core.ServiceSpec)
    return made


SERVICES = [
    service("kubernetes", "default", "10.43.0.1", {"name": "https", "port": 443, "protocol": "TCP"}),
    service("red-is", "team", "10.43.0.7", {"port": 6379}, {"name": "admin-ui", "port": 80, "protocol": "UDP"}),
    service("headless", "team", "None", {"port": 1}),
    service("external", "team", ""),
    service("other", "elsewhere", "10.43.0.9", {"port": 1}),
    service("six", "team", "fd00::6", {"port": 9, "protocol": "TCP"}),
]


def test_service_variables_of_the_pods_namespace() -> None:
    made = service_variables(SERVICES, "team", links=True)
    assert made["KUBERNETES_SERVICE_HOST"] == "10.43.0.1"
    assert made["KUBERNETES_SERVICE_PORT"] == "443"
    assert made["KUBERNETES_SERVICE_PORT_HTTPS"] == "443"
    assert {name: value for name, value in made.items() if name.startswith("RED_IS")} == {
        "RED_IS_SERVICE_HOST": "10.43.0.7",
        "RED_IS_SERVICE_PORT": "6379",
        "RED_IS_SERVICE_PORT_ADMIN_UI": "80",
        "RED_IS_PORT": "tcp://10.43.0.7:6379",
        "RED_IS_PORT_6379_TCP": "tcp://10.43.0.7:6379",
        "RED_IS_PORT_6379_TCP_PROTO": "tcp",
        "RED_IS_PORT_6379_TCP_PORT": "6379",
        "RED_IS_PORT_6379_TCP_ADDR": "10.43.0.7",
        "RED_IS_PORT_80_UDP": "udp://10.43.0.7:80",
        "RED_IS_PORT_80_UDP_PROTO": "udp",
        "RED_IS_PORT_80_UDP_PORT": "80",
        "RED_IS_PORT_80_UDP_ADDR": "10.43.0.7",
    }
    assert made["SIX_PORT"] == "tcp://[fd00::6]:9"
    assert not [name for name in made if name.startswith(("HEADLESS", "EXTERNAL", "OTHER"))]


def test_without_links_only_the_api_server_is_told() -> None:
    made = service_variables(SERVICES, "team", links=False)
    assert made and all(name.startswith("KUBERNETES_") for name in made)


def test_files_of_variables() -> None:
    content = "# comment\n\nA='one'\n B='two\nlines'\nA='again'\nEMPTY=''\nHASH='a#b $(A)'"
    assert parse_env_file(content) == {"A": "again", "B": "two\nlines", "EMPTY": "", "HASH": "a#b $(A)"}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("A=one", "line 1: value of A is not in single quotes"),
        ("\nA='one", "line 2: value of A is not closed"),
        ("A='one' two", "line 1: text after the value of A"),
        ("nothing", "line 1: no NAME='value'"),
        ("='x'", "line 1: no NAME='value'"),
        ("A='1'\nB='2\n3'\nC=4", "line 4: value of C is not in single quotes"),
    ],
)
def test_malformed_files_are_refused_with_the_line(content: str, message: str) -> None:
    with pytest.raises(EnvFileError) as caught:
        parse_env_file(content)
    assert str(caught.value) == message


def file_key(name: str, path: str = "app.env", *, optional: bool = False) -> dict[str, Any]:
    selector = {"volumeName": "data", "path": path, "key": name, "optional": optional}
    return {"env": [{"name": "X", "valueFrom": {"fileKeyRef": selector}}]}


def test_keys_of_files() -> None:
    def read(volume: str, path: str) -> str | None:
        return "A='one'" if (volume, path) == ("data", "app.env") else None

    assert variables(file_key("A"), read_file=read)["X"] == "one"
    assert "X" not in variables(file_key("B", optional=True), read_file=read)
    assert "X" not in variables(file_key("A", "gone", optional=True), read_file=read)
    with pytest.raises(ConfigError, match=r"key B not found in file app\.env"):
        variables(file_key("B"), read_file=read)
    with pytest.raises(ConfigError, match="gone not found"):
        variables(file_key("A", "gone"), read_file=read)
