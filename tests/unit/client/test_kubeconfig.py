"""kubeconfig files are read, merged and resolved as kubectl does it."""

import base64
import json
import ssl
from pathlib import Path

import pytest
import yaml

from client import kubeconfig
from client.errors import ConfigError
from client.kubeconfig import Config


def _write(path: Path, **document: object) -> Path:
    path.write_text(yaml.safe_dump({"apiVersion": "v1", "kind": "Config", **document}))
    return path


def _document(server: str = "https://a:6443", **user: object) -> dict[str, object]:
    return {
        "clusters": [{"name": "c", "cluster": {"server": server}}],
        "users": [{"name": "u", "user": user or {"token": "secret"}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u", "namespace": "web"}}],
        "current-context": "x",
    }


def test_the_current_context_is_resolved(tmp_path: Path) -> None:
    config = kubeconfig.load(_write(tmp_path / "a", **_document()))
    assert config == Config(server="https://a:6443", namespace="web", token="secret")


def test_json_is_read_as_well(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(_document()))
    assert kubeconfig.load(path).token == "secret"


def test_of_several_files_the_first_that_has_a_name_wins(tmp_path: Path) -> None:
    first = _write(tmp_path / "1", clusters=[{"name": "c", "cluster": {"server": "https://first"}}])
    second = _write(tmp_path / "2", **_document("https://second"))
    config = kubeconfig.load(first, tmp_path / "absent", second)
    assert (config.server, config.token) == ("https://first", "secret")


def test_the_environment_names_the_files(tmp_path: Path) -> None:
    paths = kubeconfig.default_paths({"KUBECONFIG": f"{tmp_path}/a:{tmp_path}/b"})
    assert paths == [tmp_path / "a", tmp_path / "b"]
    assert kubeconfig.default_paths({})[0].parts[-2:] == (".kube", "config")


def test_inline_data_wins_over_files_and_paths_are_relative_to_their_file(tmp_path: Path) -> None:
    (tmp_path / "keys").mkdir()
    (tmp_path / "keys" / "tls.crt").write_text("CERT")
    document = _document(
        **{
            "client-certificate": "keys/tls.crt",
            "client-key": "keys/absent",
            "client-key-data": base64.b64encode(b"KEY").decode(),
        }
    )
    config = kubeconfig.load(_write(tmp_path / "a", **document))
    assert (config.client_certificate, config.client_key) == (b"CERT", b"KEY")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"current-context": ""}, "no current-context is set"),
        ({"current-context": "other"}, 'context "other" does not exist'),
        ({"clusters": []}, 'cluster "c" does not exist or has no server'),
        ({"users": []}, 'user "u" does not exist'),
        ({"users": [{"name": "u", "user": {"exec": {"command": "x"}}}]}, "exec credentials are not supported"),
        ({"users": [{"name": "u", "user": {"client-key-data": "%%%"}}]}, "client-key-data"),
        ({"users": [{"name": "u", "user": {"client-key": "absent.key"}}]}, "absent.key: No such file or directory"),
        ({"contexts": [{"context": {}}]}, "contexts: an entry has no name"),
    ],
)
def test_what_cannot_be_used_is_refused_with_its_name(tmp_path: Path, change: dict[str, object], words: str) -> None:
    path = _write(tmp_path / "a", **(_document() | change))
    with pytest.raises(ConfigError, match=words.replace("(", r"\(")) as raised:
        kubeconfig.load(path)
    assert str(tmp_path) in str(raised.value)


def test_a_missing_or_malformed_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no such file"):
        kubeconfig.load(tmp_path / "absent")
    for text in ("- a list", "{broken: [", '{"broken'):
        (tmp_path / "bad").write_text(text)
        with pytest.raises(ConfigError, match="bad"):
            kubeconfig.load(tmp_path / "bad")


def test_a_rendered_file_is_read_back_as_it_was(tmp_path: Path) -> None:
    config = Config(
        server="https://[::1]:6443",
        namespace="kube-system",
        ca=b"CA",
        client_certificate=b"CERT",
        client_key=b"KEY",
        tls_server_name="kubernetes",
    )
    (tmp_path / "a").write_bytes(kubeconfig.render(config))
    assert kubeconfig.load(tmp_path / "a") == config


def test_a_pod_finds_its_service_account(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("t")
    (tmp_path / "ca.crt").write_text("CA")
    (tmp_path / "namespace").write_text("web\n")
    environ = {"KUBERNETES_SERVICE_HOST": "10.43.0.1", "KUBERNETES_SERVICE_PORT": "443"}
    config = kubeconfig.in_cluster(tmp_path, environ)
    assert (config.server, config.namespace, config.ca) == ("https://10.43.0.1:443", "web", b"CA")
    assert config.token_file == str(tmp_path / "token")
    with pytest.raises(ConfigError):
        kubeconfig.in_cluster(tmp_path, {})


def test_tls_is_1_2_at_least_and_checks_the_server_unless_told_otherwise() -> None:
    context = kubeconfig.ssl_context(Config(server="https://a"))
    assert context.minimum_version == ssl.TLSVersion.TLSv1_2
    assert context.verify_mode == ssl.CERT_REQUIRED
    lax = kubeconfig.ssl_context(Config(server="https://a", insecure_skip_tls_verify=True))
    assert lax.verify_mode == ssl.CERT_NONE
    with pytest.raises(ConfigError, match="TLS material"):
        kubeconfig.ssl_context(Config(server="https://a", ca=b"nonsense"))
