"""Names of images, and which credentials fit them."""

from __future__ import annotations

import pytest

from agent.images.errors import InvalidReference
from agent.images.keyring import Credential, Keyring
from agent.images.references import Reference, parse, with_default_tag
from api import core_v1 as core
from api import meta_v1 as meta
from tests.unit.agent.images.secrets import docker_secret

DIGEST = "sha256:" + "a" * 64


@pytest.mark.parametrize(
    ("image", "reference"),
    [
        ("busybox", Reference("docker.io", "library/busybox")),
        ("busybox:1.36", Reference("docker.io", "library/busybox", "1.36")),
        ("team/app", Reference("docker.io", "team/app")),
        ("index.docker.io/app", Reference("docker.io", "library/app")),
        ("localhost/app:1", Reference("localhost", "app", "1")),
        ("registry:5000/a/b/c:x", Reference("registry:5000", "a/b/c", "x")),
        ("registry.example/app", Reference("registry.example", "app")),
        ("[2001:db8::1]:5000/app", Reference("[2001:db8::1]:5000", "app")),
        (f"app@{DIGEST}", Reference("docker.io", "library/app", "", DIGEST)),
        (f"app:1@{DIGEST}", Reference("docker.io", "library/app", "1", DIGEST)),
        ("a__b/c-d--e.f", Reference("docker.io", "a__b/c-d--e.f")),
    ],
)
def test_references_are_read_in_full(image: str, reference: Reference) -> None:
    assert parse(image) == reference


@pytest.mark.parametrize(
    ("image", "message"),
    [
        ("", "invalid reference format"),
        ("app:", "invalid reference format"),
        ("app name", "invalid reference format"),
        ("app@sha256:abc", "invalid reference format"),
        (f"app@sha256:{'a' * 40}", "invalid checksum digest length"),
        (f"app@md5:{'a' * 32}", "unsupported digest algorithm"),
        ("a..b", "invalid reference format"),
        ("/app", "invalid reference format"),
        ("a" * 64, f"invalid repository name ({'a' * 64}), cannot specify 64-byte hexadecimal strings"),
        ("team/App", "invalid reference format: repository name (team/App) must be lowercase"),
        ("registry:5000/App:Tag", "invalid reference format: repository name (App) must be lowercase"),
        ("x/" * 150 + "app", "repository name must not be more than 255 characters"),
    ],
)
def test_what_is_no_reference(image: str, message: str) -> None:
    with pytest.raises(InvalidReference) as caught:
        parse(image)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("image", "tagged"),
    [
        ("busybox", "busybox:latest"),
        ("registry:5000/app", "registry:5000/app:latest"),
        ("app:1", "app:1"),
        (f"app@{DIGEST}", f"app@{DIGEST}"),
    ],
)
def test_the_default_tag(image: str, tagged: str) -> None:
    assert with_default_tag(image) == tagged


@pytest.mark.parametrize(
    ("location", "image", "fits"),
    [
        ("registry.example", "registry.example/app", True),
        ("registry.example", "other.example/app", False),
        ("registry.example", "registry.example:5000/app", False),
        ("registry.example:5000", "registry.example:5000/app", True),
        ("https://registry.example/v1/", "registry.example/app", True),
        ("http://registry.example/v2/", "registry.example/app", True),
        ("registry.example/team", "registry.example/team/app", True),
        ("registry.example/team", "registry.example/other/app", False),
        ("*.example", "registry.example/app", True),
        ("*.example", "a.b.example/app", False),
        ("reg*.*.com", "registry.corp.com/app", True),
        ("https://index.docker.io/v1/", "busybox", True),
        ("index.docker.io", "team/app", True),
        ("docker.io", "busybox", True),
        ("https://index.docker.io/v1/", "registry.example/app", False),
    ],
)
def test_which_entry_fits(location: str, image: str, fits: bool) -> None:
    keyring = Keyring([docker_secret({location: ("user", "pass")})])
    assert keyring.lookup(parse(image).repository) == ([Credential("user", "pass")] if fits else [])


def test_the_more_specific_entry_comes_first() -> None:
    secret = docker_secret({"registry.example": ("all", "1"), "registry.example/team": ("team", "2")})
    found = Keyring([secret]).lookup("registry.example/team/app")
    assert [one.username for one in found] == ["team", "all"]


def test_all_forms_of_secrets() -> None:
    secrets = [
        docker_secret({"a.example": ("one", "p")}, encoded=True),
        docker_secret({"a.example": ("two", "p:q")}, encoded=True, legacy=True),
        docker_secret({"a.example": ("one", "p")}),
    ]
    assert Keyring(secrets).lookup("a.example/app") == [Credential("one", "p"), Credential("two", "p:q")]


@pytest.mark.parametrize(
    "data", [b"", b"no json", b"[]", b'{"auths": []}', b'{"auths": {"a": {"auth": "!"}}}', b'{"auths": {"a": 1}}']
)
def test_a_broken_secret_does_not_hide_the_others(data: bytes, caplog: pytest.LogCaptureFixture) -> None:
    broken = core.Secret(
        metadata=meta.ObjectMeta(name="broken", namespace="default"),
        type="kubernetes.io/dockerconfigjson",
        data={".dockerconfigjson": data},
    )
    keyring = Keyring([broken, docker_secret({"a.example": ("user", "p")})])
    assert keyring.lookup("a.example/app") == [Credential("user", "p")]
    assert "secret=default/broken" in caplog.text


def test_passwords_stay_out_of_texts() -> None:
    assert "hush" not in repr(Credential("user", "hush"))
