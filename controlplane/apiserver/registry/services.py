"""Services: each gets an address of its own, and node ports where its type asks for them.

Single-stack: the cluster has one service network, of one family. What dual-stack clusters decide by ipFamilyPolicy is
answered here as an upstream cluster with one network answers it (source: pkg/registry/core/service/storage/alloc.go).
"""

from __future__ import annotations

import ipaddress
import random
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from api import core_v1 as core
from api import errors, fields
from api.scheme import Resource
from controlplane.apiserver.registry.allocation import Exhausted, OutOfRange, Pool, Taken, address_pool, port_pool
from controlplane.apiserver.registry.facts import Facts
from controlplane.apiserver.registry.reservation import Release
from controlplane.apiserver.registry.service_updates import (
    EXTERNAL_NAME,
    WITH_NODE_PORTS,
    carry_over,
    has_node_ports,
    held_ports,
    let_go,
    needs_health_check,
)
from controlplane.apiserver.registry.strategy import Strategy, Write

NONE = "None"


class ServiceStrategy(Strategy):
    """Services as the API treats them. `watch` must be called with every change of a stored service."""

    def __init__(
        self,
        resource: Resource,
        facts: Facts,
        network: ipaddress.IPv4Network | ipaddress.IPv6Network,
        node_ports: tuple[int, int],
        chance: random.Random,
    ) -> None:
        super().__init__(resource, facts)
        self._network = network
        self._family = f"IPv{network.version}"
        self._addresses = address_pool(network, chance)
        self._ports = port_pool(*node_ports, chance)
        self._port_range = f"{node_ports[0]}-{node_ports[1]}"

    def watch(self, old: core.Service | None, new: core.Service | None) -> None:
        """Follow which addresses and ports stored services hold."""
        if new is not None:
            for number in self._held_addresses(new):
                self._addresses.hold(number)
            for number in held_ports(new):
                self._ports.hold(number)
        if old is not None:
            for number in self._held_addresses(old):
                self._addresses.drop(number)
            for number in held_ports(old):
                self._ports.drop(number)

    def reserve_create(self, obj: Any, write: Write) -> Release | None:
        return self._reserve(obj, None)

    def reserve_update(self, new: Any, old: Any, write: Write) -> Release | None:
        carry_over(new, old)
        return self._reserve(new, old)

    def prepare_update(self, new: Any, old: Any, write: Write) -> None:
        super().prepare_update(new, old, write)
        let_go(new, old)

    def _reserve(self, service: core.Service, old: core.Service | None) -> Release:
        reserved = ExitStack()
        try:
            self._settle_families(service, old)
            self._reserve_addresses(service, old, reserved.callback)
            self._reserve_ports(service, old, reserved.callback)
        except BaseException:
            reserved.close()
            raise
        return reserved.close

    # Families.

    def _settle_families(self, service: core.Service, old: core.Service | None) -> None:
        spec = service.spec
        if spec.type == EXTERNAL_NAME:
            return
        if spec.cluster_ip and not spec.cluster_ips:
            spec.cluster_ips = [spec.cluster_ip]
        elif spec.cluster_ips and not spec.cluster_ip and old is None:
            raise _invalid(
                service,
                fields.invalid("spec.clusterIPs", spec.cluster_ips, "must be empty when `clusterIP` is not specified"),
            )
        headless_without_selector = spec.cluster_ip == NONE and not spec.selector
        if spec.ip_family_policy is None:
            if old is not None and old.spec.ip_family_policy is not None:
                spec.ip_family_policy = old.spec.ip_family_policy
            else:
                spec.ip_family_policy = "RequireDualStack" if headless_without_selector else "SingleStack"
        single = spec.ip_family_policy == "SingleStack"
        problems: fields.FieldErrors = []
        if single and old is not None:
            if spec.cluster_ips == old.spec.cluster_ips:
                spec.cluster_ips = spec.cluster_ips[:1]
            if spec.ip_families == old.spec.ip_families:
                spec.ip_families = spec.ip_families[:1]
        if single and len(spec.ip_families) == 2:
            detail = "must be 'RequireDualStack' or 'PreferDualStack' when multiple IP families are specified"
            problems.append(fields.invalid("spec.ipFamilyPolicy", spec.ip_family_policy, detail))
        if single and len(spec.cluster_ips) == 2:
            detail = "must be 'RequireDualStack' or 'PreferDualStack' when multiple cluster IPs are specified"
            problems.append(fields.invalid("spec.ipFamilyPolicy", spec.ip_family_policy, detail))
        for index, address in enumerate(spec.cluster_ips):
            family = _family(address)
            if family is None:
                break
            if index >= len(spec.ip_families):
                if family != self._family:
                    detail = f"{family} is not configured on this cluster"
                    problems.append(fields.invalid(f"spec.clusterIPs[{index}]", spec.cluster_ips, detail))
                else:
                    spec.ip_families = [*spec.ip_families, family]
        if not problems and headless_without_selector:
            self._families_of_headless(spec)
            return
        if not problems:
            problems = self._impossible_families(spec)
        if problems:
            raise _invalid(service, *problems)
        if not spec.ip_families:
            spec.ip_families = [self._family]

    def _families_of_headless(self, spec: core.ServiceSpec) -> None:
        """Nobody routes to a headless service without selector, so it may claim both families anywhere."""
        if not spec.ip_families:
            spec.ip_families = [self._family]
        if len(spec.ip_families) < 2 and spec.ip_family_policy != "SingleStack":
            spec.ip_families = [*spec.ip_families, "IPv6" if spec.ip_families[0] == "IPv4" else "IPv4"]

    def _impossible_families(self, spec: core.ServiceSpec) -> fields.FieldErrors:
        problems: fields.FieldErrors = []
        if spec.ip_family_policy == "RequireDualStack":
            detail = "this cluster is not configured for dual-stack services"
            problems.append(fields.invalid("spec.ipFamilyPolicy", spec.ip_family_policy, detail))
        problems += [
            fields.invalid(f"spec.ipFamilies[{index}]", family, "not configured on this cluster")
            for index, family in enumerate(spec.ip_families)
            if family != self._family
        ]
        return problems

    # Addresses.

    def _reserve_addresses(
        self, service: core.Service, old: core.Service | None, at_end: Callable[[Callable[[], None]], Any]
    ) -> None:
        spec = service.spec
        if spec.type == EXTERNAL_NAME or (spec.cluster_ips and spec.cluster_ips[0] == NONE):
            return
        if old is not None and old.spec.type != EXTERNAL_NAME:
            return  # it has its address, which validation keeps it from changing
        asked = spec.cluster_ips[0] if spec.cluster_ips else ""
        if asked:
            number = self._reserve_address(service, asked)
        else:
            try:
                number = self._addresses.reserve_any()
            except Exhausted:
                raise errors.internal("failed to allocate a serviceIP: range is full") from None
        at_end(lambda: self._addresses.release(number))
        address = (
            str(ipaddress.ip_address(number)) if self._network.version == 4 else str(ipaddress.IPv6Address(number))
        )
        spec.cluster_ip = asked or address
        spec.cluster_ips = [spec.cluster_ip]

    def _reserve_address(self, service: core.Service, asked: str) -> int:
        try:
            address = ipaddress.ip_address(asked)
        except ValueError:
            raise _invalid(
                service,
                fields.invalid(
                    "spec.clusterIPs[0]", asked, "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
                ),
            ) from None
        try:
            if address.version != self._network.version:
                raise OutOfRange
            self._addresses.reserve(int(address))
        except Taken:
            detail = f"failed to allocate IP {asked}: provided IP is already allocated"
            raise _invalid(service, fields.invalid("spec.clusterIPs", service.spec.cluster_ips, detail)) from None
        except OutOfRange:
            cause = f"the provided IP ({asked}) is not in the valid range. The range of valid IPs is {self._network}"
            detail = f"failed to allocate IP {asked}: {cause}"
            raise _invalid(service, fields.invalid("spec.clusterIPs", service.spec.cluster_ips, detail)) from None
        return int(address)

    def _held_addresses(self, service: core.Service) -> list[int]:
        if service.spec.type == EXTERNAL_NAME:
            return []
        return [
            int(ipaddress.ip_address(address))
            for address in service.spec.cluster_ips
            if _family(address) == self._family
        ]

    # Ports.

    def _reserve_ports(
        self, service: core.Service, old: core.Service | None, at_end: Callable[[Callable[[], None]], Any]
    ) -> None:
        spec = service.spec
        kept = set(held_ports(old)) if old is not None else set()
        if spec.type in WITH_NODE_PORTS:
            allocates = has_node_ports(spec)
            chosen: dict[int, int] = {}
            for index, port in enumerate(spec.ports):
                if not port.node_port:
                    # One number of different protocols shares its node port.
                    asked = next((p.node_port for p in spec.ports if p.port == port.port and p.node_port), 0)
                    port.node_port = chosen.get(port.port, asked)
                if port.node_port:
                    if port.node_port not in kept:
                        self._reserve_port(service, f"spec.ports[{index}].nodePort", port.node_port, at_end)
                        kept.add(port.node_port)
                elif allocates:
                    port.node_port = self._reserve_any_port("failed to allocate a nodePort", at_end)
                    kept.add(port.node_port)
                chosen[port.port] = port.node_port
        if needs_health_check(spec):
            if not spec.health_check_node_port:
                spec.health_check_node_port = self._reserve_any_port(
                    "failed to allocate a HealthCheck NodePort", at_end
                )
            elif spec.health_check_node_port not in kept:
                self._reserve_port(service, "spec.healthCheckNodePort", spec.health_check_node_port, at_end)

    def _reserve_port(
        self, service: core.Service, path: str, number: int, at_end: Callable[[Callable[[], None]], Any]
    ) -> None:
        try:
            self._ports.reserve(number)
        except Taken:
            raise _invalid(service, fields.invalid(path, number, "provided port is already allocated")) from None
        except OutOfRange:
            cause = f"provided port is not in the valid range. The range of valid ports is {self._port_range}"
            raise _invalid(service, fields.invalid(path, number, cause)) from None
        at_end(lambda: self._ports.release(number))

    def _reserve_any_port(self, step: str, at_end: Callable[[Callable[[], None]], Any]) -> int:
        pool: Pool = self._ports
        try:
            number = pool.reserve_any()
        except Exhausted:
            raise errors.internal(f"{step}: range is full") from None
        at_end(lambda: pool.release(number))
        return number


def _family(address: str) -> str | None:
    """IPv4 or IPv6; None for "None" and for what is no address (validation will say so)."""
    try:
        return f"IPv{ipaddress.ip_address(address).version}"
    except ValueError:
        return None


def _invalid(service: core.Service, *problems: fields.FieldError) -> errors.StatusError:
    return errors.invalid("Service", service.metadata.name, list(problems))
