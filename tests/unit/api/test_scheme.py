"""The scheme: what is served under which name, and which class declares it."""

import subprocess
import sys

import pytest

from api import apps_v1 as apps
from api import autoscaling_v1 as autoscaling
from api import core_v1 as core
from api import meta_v1 as meta
from api.scheme import ALL_VERBS, SCHEME, UnknownType


def test_finds_a_resource_by_kind_path_and_class() -> None:
    deployments = SCHEME.by_resource("apps", "v1", "deployments")
    assert deployments is not None
    assert SCHEME.by_kind("apps/v1", "Deployment") is deployments
    assert SCHEME.of(apps.Deployment) is deployments
    assert deployments.type is apps.Deployment
    assert deployments.list_type is apps.DeploymentList
    assert deployments.api_version == "apps/v1"
    assert deployments.group_resource == "deployments.apps"
    assert deployments.short_names == ("deploy",)
    assert deployments.categories == ("all",)
    assert deployments.verbs == ALL_VERBS
    assert deployments.namespaced


def test_core_resources() -> None:
    pods = SCHEME.of(core.Pod)
    assert (pods.group, pods.version, pods.plural, pods.group_resource) == ("", "v1", "pods", "pods")
    names = "attach binding ephemeralcontainers eviction exec log portforward proxy resize status".split()
    assert [item.name for item in pods.subresources] == names
    assert not SCHEME.of(core.Node).namespaced
    assert "deletecollection" not in SCHEME.of(core.Namespace).verbs


def test_subresources_may_have_a_kind_of_their_own() -> None:
    scale = SCHEME.of(apps.Deployment).subresource("scale")
    assert scale is not None
    assert (scale.api_version, scale.kind, scale.type) == ("autoscaling/v1", "Scale", autoscaling.Scale)
    status = SCHEME.of(apps.Deployment).subresource("status")
    assert status is not None
    assert status.type is apps.Deployment
    token = SCHEME.of(core.ServiceAccount).subresource("token")
    assert token is not None
    assert token.verbs == ("create",)
    assert SCHEME.of(core.Pod).subresource("nothing") is None


def test_every_type_and_list_is_declared() -> None:
    for resource in SCHEME.resources():
        assert SCHEME.of(resource.type) is resource
        if "list" in resource.verbs:
            assert resource.list_type().kind == f"{resource.kind}List"
        for subresource in resource.subresources:
            assert subresource.type.__name__ == subresource.kind


def test_kinds_without_a_resource() -> None:
    assert SCHEME.kind_type("v1", "Status") is meta.Status
    assert SCHEME.kind_type("apps/v1", "DeleteOptions") is meta.DeleteOptions
    assert SCHEME.kind_type("meta.k8s.io/v1", "PartialObjectMetadata") is meta.PartialObjectMetadata


@pytest.mark.parametrize(
    ("api_version", "kind"),
    [
        ("v1", "Container"),
        ("apps/v1", "Pod"),
        ("nowhere.example/v1", "Pod"),
        ("v1", "__doc__"),
        ("../v1", "x"),
        ("", ""),
    ],
)
def test_unknown_kinds(api_version: str, kind: str) -> None:
    assert SCHEME.by_kind(api_version, kind) is None
    with pytest.raises(UnknownType):
        SCHEME.kind_type(api_version, kind)


def test_a_part_of_a_kind_is_no_resource() -> None:
    with pytest.raises(UnknownType, match="not served under any name"):
        SCHEME.of(core.PodSpec)


def test_importing_one_group_imports_no_other() -> None:
    program = (
        "import sys; from api.scheme import SCHEME; import api.core_v1; SCHEME.by_kind('apps/v1', 'Deployment').plural;"
        "print(sorted(name for name in sys.modules if name.startswith('api.') and name.rpartition('_v')[2].isdigit()))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "['api.core_v1', 'api.meta_v1']"
