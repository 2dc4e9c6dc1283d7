"""The generated modules are what the generator writes today, and names follow one rule."""

import pathlib

import pytest

import api
from api.generator import naming
from api.generator.__main__ import generate

_API = pathlib.Path(api.__file__).parent


def test_generated_modules_are_current(tmp_path: pathlib.Path) -> None:
    for written in generate(tmp_path):
        assert written.read_text(encoding="utf-8") == (_API / written.name).read_text(encoding="utf-8"), written.name


@pytest.mark.parametrize(
    ("wire", "attribute", "regular"),
    [
        ("nodeName", "node_name", True),
        ("podIP", "pod_ip", False),
        ("podIPs", "pod_ips", False),
        ("clusterIPs", "cluster_ips", False),
        ("hostIPC", "host_ipc", False),
        ("nonResourceURLs", "non_resource_urls", False),
        ("seLinuxOptions", "se_linux_options", True),
        ("fieldsV1", "fields_v1", True),
        ("openAPIV3Schema", "open_api_v3_schema", False),
        ("from", "from_", True),
        ("continue", "continue_", True),
        ("int", "int_", True),
        ("$ref", "ref", False),
        ("x-kubernetes-list-type", "x_kubernetes_list_type", False),
    ],
)
def test_names(wire: str, attribute: str, regular: bool) -> None:
    assert naming.attribute(wire) == attribute
    assert naming.is_regular(wire) is regular
