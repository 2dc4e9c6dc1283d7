"""What every namespace has: its default account, and the cluster's CA."""

from api import core_v1 as core
from api import errors
from api import meta_v1 as meta
from client.fake import FakeApiServer
from controlplane.controllers.root_ca import CONFIG_MAP, DESCRIPTION
from tests.unit.controlplane.controllers.small_cluster import ROOT_CA, controllers


def _namespace(server: FakeApiServer, name: str) -> core.Namespace:
    return server.create(core.Namespace(metadata=meta.ObjectMeta(name=name)))


def _root_ca(server: FakeApiServer, namespace: str) -> core.ConfigMap:
    return server.get(core.ConfigMap, CONFIG_MAP, namespace)


async def test_old_and_new_namespaces_are_furnished(server: FakeApiServer) -> None:
    _namespace(server, "old")
    async with controllers(server):
        await server.clock.sleep(1)
        _namespace(server, "new")
        await server.clock.sleep(1)
        for name in ("old", "new"):
            assert server.get(core.ServiceAccount, "default", name)
            assert _root_ca(server, name).data == {"ca.crt": ROOT_CA.decode()}
            assert _root_ca(server, name).metadata.annotations[DESCRIPTION].startswith("Contains a CA bundle")


async def test_what_is_deleted_or_changed_is_put_right(server: FakeApiServer) -> None:
    _namespace(server, "one")
    async with controllers(server) as client:
        await server.clock.sleep(1)
        server.delete(core.ServiceAccount, "default", "one")
        tampered = _root_ca(server, "one")
        tampered.data = {"ca.crt": "mine", "other": "too"}
        server.update(tampered)
        await server.clock.sleep(1)
        assert server.get(core.ServiceAccount, "default", "one")
        assert _root_ca(server, "one").data == {"ca.crt": ROOT_CA.decode()}
        server.delete(core.ConfigMap, CONFIG_MAP, "one")
        await server.clock.sleep(1)
        assert _root_ca(server, "one").data == {"ca.crt": ROOT_CA.decode()}
        writes = len([call for call in client.calls if call.verb in ("create", "update")])
        await server.clock.sleep(3600)
        assert len([call for call in client.calls if call.verb in ("create", "update")]) == writes


async def test_failures_are_made_up_for(server: FakeApiServer) -> None:
    server.faults.fail(errors.internal("boom"), verb="create", times=3)
    server.faults.lose_answer(verb="create", resource="configmaps")
    _namespace(server, "one")
    async with controllers(server):
        await server.clock.sleep(10)
        assert server.get(core.ServiceAccount, "default", "one")
        assert _root_ca(server, "one").data


async def test_a_namespace_that_goes_gets_nothing(server: FakeApiServer) -> None:
    namespace = _namespace(server, "one")
    namespace.spec.finalizers = ["kubernetes", "someone/else"]
    server.put(namespace)
    server.delete(core.Namespace, "one")
    async with controllers(server):
        await server.clock.sleep(5)
        assert server.list(core.ServiceAccount).items == []
        assert server.list(core.ConfigMap).items == []
