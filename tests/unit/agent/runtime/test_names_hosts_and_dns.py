"""What a pod is called, whom it knows, and whom it asks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agent.runtime.dns import DnsSettings, Resolver, node_resolver, parse_resolv_conf, pod_dns
from agent.runtime.errors import ConfigError
from agent.runtime.hostnames import hostname_and_domain, kernel_hostname
from agent.runtime.hosts import hosts_file
from tests.unit.agent.pod_builders import pod

DOMAIN = "cluster.local"


@pytest.mark.parametrize(
    ("name", "spec", "expected"),
    [
        ("web", {}, ("web", "")),
        ("web", {"hostname": "box"}, ("box", "")),
        ("web", {"hostname": "box", "subdomain": "team"}, ("box", "team.default.svc.cluster.local")),
        ("web", {"subdomain": "team"}, ("web", "team.default.svc.cluster.local")),
        ("a" * 70, {}, ("a" * 63, "")),
        ("a" * 61 + "-.b", {}, ("a" * 61, "")),
        ("web", {"hostnameOverride": "box.example", "subdomain": "team"}, ("box.example", "")),
    ],
)
def test_host_names(name: str, spec: dict[str, Any], expected: tuple[str, str]) -> None:
    assert hostname_and_domain(pod(name=name, **spec), DOMAIN) == expected


def test_the_full_name_in_the_kernel() -> None:
    assert kernel_hostname(pod(subdomain="team"), DOMAIN) == "web"
    assert kernel_hostname(pod(setHostnameAsFQDN=True), DOMAIN) == "web"
    full = kernel_hostname(pod(subdomain="team", setHostnameAsFQDN=True), DOMAIN)
    assert full == "web.team.default.svc.cluster.local"
    with pytest.raises(ConfigError) as caught:
        kernel_hostname(pod(name="w" * 40, subdomain="team", setHostnameAsFQDN=True), DOMAIN)
    assert str(caught.value) == (
        "failed to construct FQDN from pod hostname and cluster domain, "
        f"FQDN {'w' * 40}.team.default.svc.cluster.local "
        "is too long (64 characters is the max, 71 characters requested)"
    )


FIXED = """# Kubernetes-managed hosts file.
127.0.0.1\tlocalhost
::1\tlocalhost ip6-localhost ip6-loopback
fe00::0\tip6-localnet
fe00::0\tip6-mcastprefix
fe00::1\tip6-allnodes
fe00::2\tip6-allrouters
"""


def test_hosts_files() -> None:
    ips = ["10.42.0.5", "fd00::5"]
    assert hosts_file(pod(), DOMAIN, ips, "") == f"{FIXED}10.42.0.5\tweb\nfd00::5\tweb\n"
    aliases = [{"ip": "1.2.3.4", "hostnames": ["a", "b"]}, {"ip": "5.6.7.8", "hostnames": ["c"]}]
    assert hosts_file(pod(subdomain="team", hostAliases=aliases), DOMAIN, ips[:1], "") == (
        f"{FIXED}10.42.0.5\tweb.team.default.svc.cluster.local\tweb\n"
        "\n# Entries added by HostAliases.\n1.2.3.4\ta\tb\n5.6.7.8\tc\n"
    )
    on_host = pod(hostNetwork=True, hostAliases=aliases[1:])
    assert hosts_file(on_host, DOMAIN, ips, "127.0.0.1 here\n") == (
        "# Kubernetes-managed hosts file (host network).\n127.0.0.1 here\n"
        "\n# Entries added by HostAliases.\n5.6.7.8\tc\n"
    )


def test_reading_resolv_conf() -> None:
    text = """
    # comment
    ; another
    nameserver 192.0.2.53
    nameserver 2001:db8::53
    search old.example
    search example. corp.example .
    options ndots:2 rotate
    domain ignored
    """
    assert parse_resolv_conf(text) == Resolver(
        ("192.0.2.53", "2001:db8::53"), ("example", "corp.example", "."), ("ndots:2", "rotate")
    )


def test_a_resolver_that_was_asked_for_must_be_there(tmp_path: Path) -> None:
    (tmp_path / "resolv.conf").write_text("nameserver 192.0.2.1\n")
    assert node_resolver(tmp_path / "resolv.conf").servers == ("192.0.2.1",)
    with pytest.raises(FileNotFoundError):
        node_resolver(tmp_path / "gone")


def test_behind_the_stub_of_systemd_resolved_the_real_servers_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    etc, resolved = tmp_path / "etc", tmp_path / "resolved"
    monkeypatch.setattr("agent.runtime.dns._ETC", etc)
    monkeypatch.setattr("agent.runtime.dns._RESOLVED", resolved)
    assert node_resolver() == Resolver()
    etc.write_text("nameserver 127.0.0.53\n")
    assert node_resolver().servers == ("127.0.0.53",)
    resolved.write_text("nameserver 192.0.2.53\n")
    assert node_resolver().servers == ("192.0.2.53",)
    etc.write_text("nameserver 192.0.2.1\n")
    assert node_resolver().servers == ("192.0.2.1",)


NODE = Resolver(("192.0.2.53",), ("example",), ("rotate",))
SETTINGS = DnsSettings(cluster_servers=("10.43.0.10",), cluster_domain=DOMAIN, node=NODE)
CLUSTER = (
    ["10.43.0.10"],
    ["default.svc.cluster.local", "svc.cluster.local", "cluster.local", "example"],
    ["ndots:5"],
)
OWN = (["192.0.2.53"], ["example"], ["rotate"])


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({}, CLUSTER),
        ({"dnsPolicy": "ClusterFirst"}, CLUSTER),
        ({"dnsPolicy": "ClusterFirst", "hostNetwork": True}, OWN),
        ({"dnsPolicy": "ClusterFirstWithHostNet", "hostNetwork": True}, CLUSTER),
        ({"dnsPolicy": "Default"}, OWN),
        ({"dnsPolicy": "None"}, ([], [], [])),
        (
            {
                "dnsPolicy": "None",
                "dnsConfig": {
                    "nameservers": ["1.1.1.1", "1.1.1.1"],
                    "searches": ["a.example"],
                    "options": [{"name": "ndots", "value": "1"}, {"name": "edns0"}],
                },
            },
            (["1.1.1.1"], ["a.example"], ["ndots:1", "edns0"]),
        ),
        (
            {"dnsConfig": {"searches": ["example", "more"], "options": [{"name": "ndots", "value": "2"}]}},
            (CLUSTER[0], [*CLUSTER[1], "more"], ["ndots:2"]),
        ),
    ],
)
def test_policies(spec: dict[str, Any], expected: tuple[list[str], list[str], list[str]]) -> None:
    made = pod_dns(pod(**spec), SETTINGS)
    config = made.config
    assert (list(config.servers), list(config.searches), list(config.options)) == expected
    assert made.warnings == []


def test_without_a_cluster_server_the_nodes_is_asked_and_it_is_told() -> None:
    made = pod_dns(pod(), DnsSettings(node=NODE))
    assert list(made.config.servers) == ["192.0.2.53"]
    (reason, message), *rest = made.warnings
    assert reason == "MissingClusterDNS" and not rest
    assert message == (
        'pod: "web_default(11111111-2222-3333-4444-555555555555)". kubelet does not have ClusterDNS IP configured and '
        'cannot create Pod using "ClusterFirst" policy. Falling back to "Default" policy.'
    )


def test_what_resolvers_do_not_bear_is_cut_and_told() -> None:
    config = {
        "nameservers": [f"192.0.2.{n}" for n in range(4)],
        "searches": [f"d{n}.example" for n in range(40)],
    }
    made = pod_dns(pod(dnsPolicy="None", dnsConfig=config), SETTINGS)
    assert len(made.config.servers) == 3
    assert len(made.config.searches) == 32
    assert [reason for reason, _ in made.warnings] == ["DNSConfigForming"] * 2
    assert made.warnings[0][1] == (
        "Nameserver limits were exceeded, some nameservers have been omitted, "
        "the applied nameserver line is: 192.0.2.0 192.0.2.1 192.0.2.2"
    )
    assert made.warnings[1][1].startswith(
        "Search Line limits were exceeded, some search paths have been omitted, the applied search line is: d0.example "
    )


def test_domains_too_long_or_too_many_characters_are_left_out() -> None:
    long_one = ".".join(["a" * 60] * 5)
    made = pod_dns(pod(dnsPolicy="None", dnsConfig={"searches": ["x", long_one, "y"]}), SETTINGS)
    assert list(made.config.searches) == ["x", "y"]
    wide = [".".join(["b" * 60] * 4) + f".{n}" for n in range(10)]
    made = pod_dns(pod(dnsPolicy="None", dnsConfig={"searches": wide}), SETTINGS)
    assert list(made.config.searches) == wide[:8]
