"""Services: addresses and node ports are handed out once, kept, and given back."""

from __future__ import annotations

import asyncio
import ipaddress
import random
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.apiserver.config import ServerConfig
from controlplane.apiserver.registry.allocation import Exhausted, OutOfRange, Pool, Taken
from tests.unit.controlplane.apiserver.server_harness import Harness, start

SERVICES = "/api/v1/namespaces/test/services"


def service(name: str, **spec: object) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": {"ports": [{"port": 80}], "selector": {"a": "b"}, **spec}}


async def test_a_service_gets_an_address_of_the_network(api: Harness) -> None:
    spec = (await api.create(SERVICES, service("s"))).ok["spec"]
    assert ipaddress.ip_address(spec["clusterIP"]) in ipaddress.ip_network("10.43.0.0/16")
    assert spec["clusterIPs"] == [spec["clusterIP"]]
    assert (spec["ipFamilies"], spec["ipFamilyPolicy"], spec["type"]) == (["IPv4"], "SingleStack", "ClusterIP")
    # The first 256 addresses are left for those who choose by hand.
    assert int(ipaddress.ip_address(spec["clusterIP"])) - int(ipaddress.ip_address("10.43.0.0")) > 256


async def test_an_address_may_be_chosen_and_is_then_taken(api: Harness) -> None:
    (await api.create(SERVICES, service("dns", clusterIP="10.43.0.10"))).ok  # noqa: B018
    message = (await api.create(SERVICES, service("other", clusterIP="10.43.0.10"))).refused(422, "Invalid")
    assert message == (
        'Service "other" is invalid: spec.clusterIPs: Invalid value: ["10.43.0.10"]: '
        "failed to allocate IP 10.43.0.10: provided IP is already allocated"
    )
    message = (await api.create(SERVICES, service("other", clusterIP="10.99.0.1"))).refused(422, "Invalid")
    assert "the provided IP (10.99.0.1) is not in the valid range. The range of valid IPs is 10.43.0.0/16" in message
    await api.delete(f"{SERVICES}/dns")
    assert (await api.create(SERVICES, service("other", clusterIP="10.43.0.10"))).status == 201


async def test_addresses_are_known_after_a_restart(api: Harness, config: ServerConfig) -> None:
    (await api.create(SERVICES, service("dns", clusterIP="10.43.0.10"))).ok  # noqa: B018
    again = await start(config, api.server.store)
    (await again.create(SERVICES, service("other", clusterIP="10.43.0.10"))).refused(422, "Invalid")


async def test_what_is_refused_or_only_tried_takes_nothing(api: Harness) -> None:
    wrong = service("bad", clusterIP="10.43.0.10")
    wrong["spec"]["ports"] = []
    (await api.create(SERVICES, wrong)).refused(422, "Invalid")
    (await api.create(f"{SERVICES}?dryRun=All", service("dry", clusterIP="10.43.0.10"))).ok  # noqa: B018
    assert (await api.create(SERVICES, service("good", clusterIP="10.43.0.10"))).status == 201


async def test_an_address_stays_reserved_while_an_abandoned_write_may_still_happen(
    api: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def never(*_: object, **__: object) -> int:
        await asyncio.sleep(60)
        raise AssertionError("unreachable")

    with monkeypatch.context() as patch:
        patch.setattr(api.server.store, "write", never)
        abandoned = asyncio.ensure_future(api.create(SERVICES, service("a", clusterIP="10.43.0.10")))
        await asyncio.sleep(0)
        abandoned.cancel()
        await asyncio.wait({abandoned})
    message = (await api.create(SERVICES, service("b", clusterIP="10.43.0.10"))).refused(422, "Invalid")
    assert "provided IP is already allocated" in message


async def test_headless_and_external_services_get_none(api: Harness) -> None:
    headless = (await api.create(SERVICES, service("h", clusterIP="None"))).ok["spec"]
    assert (headless["clusterIP"], headless["clusterIPs"]) == ("None", ["None"])
    external = service("e", type="ExternalName", externalName="example.com")
    del external["spec"]["ports"]
    assert "clusterIP" not in (await api.create(SERVICES, external)).ok["spec"]
    bare = service("b", clusterIP="None")
    del bare["spec"]["selector"]
    spec = (await api.create(SERVICES, bare)).ok["spec"]
    assert (spec["ipFamilies"], spec["ipFamilyPolicy"]) == (["IPv4", "IPv6"], "RequireDualStack")


async def test_an_update_may_leave_the_address_out(api: Harness) -> None:
    made = (await api.create(SERVICES, service("s"))).ok["spec"]
    changed = (await api.update(f"{SERVICES}/s", service("s", selector={"c": "d"}))).ok["spec"]
    assert changed["clusterIP"] == made["clusterIP"]
    message = (await api.patch(f"{SERVICES}/s", {"spec": {"clusterIP": "10.43.9.9"}})).refused(422, "Invalid")
    assert "spec.clusterIPs[0]: Invalid value" in message
    assert "may not change once set" in message


async def test_an_address_that_an_update_empties_is_kept(api: Harness) -> None:
    made = (await api.create(SERVICES, service("s"))).ok["spec"]
    assert (await api.patch(f"{SERVICES}/s", {"spec": {"clusterIP": ""}})).ok["spec"] == made
    headless = (await api.create(SERVICES, service("h", clusterIP="None"))).ok["spec"]
    assert (await api.patch(f"{SERVICES}/h", {"spec": {"clusterIP": ""}})).ok["spec"] == headless


@pytest.mark.parametrize(
    "before",
    [
        {"type": "ClusterIP", "externalIPs": ["203.0.113.9"]},
        {"type": "NodePort"},
        {"type": "LoadBalancer", "externalTrafficPolicy": "Local", "loadBalancerClass": "example.com/class"},
    ],
    ids=lambda before: str(before["type"]),
)
async def test_a_service_becomes_external_by_its_type_alone(api: Harness, before: dict[str, Any]) -> None:
    await api.create(SERVICES, service("s", **before))
    change = {"spec": {"type": "ExternalName", "externalName": "example.com"}}
    spec = (await api.patch(f"{SERVICES}/s", change)).ok["spec"]
    assert {"clusterIP", "clusterIPs", "ipFamilies", "externalTrafficPolicy", "healthCheckNodePort"}.isdisjoint(spec)
    assert "nodePort" not in spec["ports"][0]
    again = (await api.patch(f"{SERVICES}/s", {"spec": {"externalName": None} | before})).ok["spec"]
    assert again["type"] == before["type"]
    assert again["clusterIP"]


async def test_a_service_that_is_no_longer_balanced_forgets_its_balancer(api: Harness) -> None:
    await api.create(SERVICES, service("s", type="LoadBalancer"))
    balancer = {"status": {"loadBalancer": {"ingress": [{"ip": "203.0.113.9"}]}}}
    assert (await api.patch(f"{SERVICES}/s/status", balancer)).ok["status"]["loadBalancer"]["ingress"]
    assert (await api.patch(f"{SERVICES}/s", {"spec": {"type": "NodePort"}})).ok["status"] == {"loadBalancer": {}}


async def test_node_ports_follow_the_names_of_their_ports(api: Harness) -> None:
    ports = [{"name": "a", "port": 80}, {"name": "b", "port": 81}]
    made = (await api.create(SERVICES, service("s", type="NodePort", ports=ports))).ok["spec"]["ports"]
    a, b = (port["nodePort"] for port in made)
    moved = [{"name": "b", "port": 91, "targetPort": 8}, {"name": "a", "port": 81}]
    kept = (await api.update(f"{SERVICES}/s", service("s", type="NodePort", ports=moved))).ok["spec"]["ports"]
    assert [port["nodePort"] for port in kept] == [b, a]
    taken = [{"name": "b", "port": 91}, {"name": "a", "port": 81, "nodePort": b}]
    swapped = (await api.update(f"{SERVICES}/s", service("s", type="NodePort", ports=taken))).ok["spec"]["ports"]
    assert swapped[1]["nodePort"] == b
    assert swapped[0]["nodePort"] not in (0, b)


async def test_a_balancer_keeps_its_node_ports_until_they_are_taken_out(api: Harness) -> None:
    made = (await api.create(SERVICES, service("s", type="LoadBalancer"))).ok["spec"]["ports"]
    without = {"spec": {"allocateLoadBalancerNodePorts": False}}
    assert (await api.patch(f"{SERVICES}/s", without)).ok["spec"]["ports"] == made
    bare = service("s", type="LoadBalancer", allocateLoadBalancerNodePorts=False)
    assert "nodePort" not in (await api.update(f"{SERVICES}/s", bare)).ok["spec"]["ports"][0]


async def test_node_ports(api: Harness) -> None:
    first = (await api.create(SERVICES, service("a", type="NodePort"))).ok["spec"]["ports"][0]["nodePort"]
    assert 30000 <= first <= 32767
    chosen = service("b", type="NodePort", ports=[{"port": 80, "nodePort": first}])
    message = (await api.create(SERVICES, chosen)).refused(422, "Invalid")
    assert f"spec.ports[0].nodePort: Invalid value: {first}: provided port is already allocated" in message
    chosen["spec"]["ports"][0]["nodePort"] = 80
    message = (await api.create(SERVICES, chosen)).refused(422, "Invalid")
    assert "provided port is not in the valid range. The range of valid ports is 30000-32767" in message
    dropped = (await api.patch(f"{SERVICES}/a", {"spec": {"type": "ClusterIP"}})).ok["spec"]
    assert "nodePort" not in dropped["ports"][0]
    chosen["spec"]["ports"][0]["nodePort"] = first
    assert (await api.create(SERVICES, chosen)).status == 201


async def test_one_port_of_two_protocols_shares_its_node_port(api: Harness) -> None:
    ports = [{"name": "t", "port": 53, "protocol": "TCP"}, {"name": "u", "port": 53, "protocol": "UDP"}]
    made = (await api.create(SERVICES, service("dns", type="NodePort", ports=ports))).ok["spec"]["ports"]
    assert made[0]["nodePort"] == made[1]["nodePort"]


async def test_dual_stack_is_not_to_be_had_here(api: Harness) -> None:
    message = (await api.create(SERVICES, service("s", ipFamilyPolicy="RequireDualStack"))).refused(422, "Invalid")
    assert "this cluster is not configured for dual-stack services" in message
    message = (await api.create(SERVICES, service("s", ipFamilies=["IPv6"]))).refused(422, "Invalid")
    assert 'spec.ipFamilies[0]: Invalid value: "IPv6": not configured on this cluster' in message
    assert (await api.create(SERVICES, service("s", ipFamilyPolicy="PreferDualStack"))).ok["spec"]["ipFamilies"] == [
        "IPv4"
    ]


async def test_a_network_that_is_used_up(config: ServerConfig) -> None:
    small = replace(config, service_network=ipaddress.ip_network("10.44.0.0/29"))
    api = await start(small)
    made = 0
    while (answer := await api.create(SERVICES, service(f"s{made}"))).status == 201:
        made += 1
        assert made < 10
    assert "failed to allocate a serviceIP: range is full" in answer.refused(500, "InternalError")


@given(st.lists(st.tuples(st.sampled_from(["any", "pick", "drop", "store", "fail"]), st.integers(0, 25))))
def test_no_number_is_given_twice(steps: list[tuple[str, int]]) -> None:
    pool = Pool(1, 20, 4, random.Random(1))
    reserved: set[int] = set()
    held: set[int] = set()
    for step, number in steps:
        if step == "any":
            try:
                found = pool.reserve_any()
            except Exhausted:
                assert len(reserved | held) == 20
                continue
            assert found not in reserved | held
            reserved.add(found)
        elif step == "pick":
            try:
                pool.reserve(number)
            except Taken:
                assert number in reserved | held
            except OutOfRange:
                assert not 1 <= number <= 20
            else:
                assert number not in reserved | held
                reserved.add(number)
        elif step in ("store", "fail") and reserved:
            found = min(reserved)
            if step == "store":
                pool.hold(found)
                held.add(found)
            pool.release(found)
            reserved.discard(found)
        elif step == "drop" and held:
            found = max(held)
            pool.drop(found)
            held.discard(found)
    assert pool.free == 20 - len(reserved | held)


@pytest.mark.parametrize("name", ["kubernetes"])
async def test_the_servers_own_service_has_the_first_address(api: Harness, name: str) -> None:
    assert (await api.get(f"/api/v1/namespaces/default/services/{name}")).ok["spec"]["clusterIP"] == "10.43.0.1"


async def test_the_range_of_the_services_is_an_object_and_ready(api: Harness) -> None:
    found = (await api.get("/apis/networking.k8s.io/v1/servicecidrs/kubernetes")).ok
    assert found["spec"] == {"cidrs": ["10.43.0.0/16"]}
    assert [(one["type"], one["status"]) for one in found["status"]["conditions"]] == [("Ready", "True")]
