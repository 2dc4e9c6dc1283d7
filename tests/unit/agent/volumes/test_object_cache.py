"""Config maps and secrets of pods: watched while somebody needs them, and current."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from agent.runtime.errors import ConfigError
from agent.volumes.objects import ObjectCache, Reference, references
from api import core_v1 as core
from api import errors
from api import meta_v1 as meta
from client.clock import FakeClock
from client.fake import FakeApiServer
from tests.unit.agent.pod_builders import pod


class Bench:
    def __init__(self) -> None:
        self.clock = FakeClock(autojump=False)
        self.server = FakeApiServer(clock=self.clock)
        self.client = self.server.client()
        self.told: list[str] = []
        self.cache = ObjectCache(self.client, self.clock, self.told.append)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        task = asyncio.create_task(self.cache.run())
        await self.clock.settle()
        yield
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    def put(self, name: str = "c", value: str = "1") -> None:
        self.server.create(core.ConfigMap(metadata=meta.ObjectMeta(name=name, namespace="default"), data={"k": value}))

    def change(self, value: str) -> None:
        obj = self.server.get(core.ConfigMap, "c", "default")
        obj.data = {"k": value}
        self.server.update(obj)

    async def value(self) -> str | None:
        obj = await self.cache.config_map("default", "c")
        return obj.data["k"] if obj is not None else None

    def calls(self, verb: str) -> int:
        return sum(call.verb == verb for call in self.client.calls)


def user(uid: str = "u1", name: str = "c", *, optional: bool = False) -> core.Pod:
    return pod(uid=uid, volumes=[{"name": "v", "configMap": {"name": name, "optional": optional}}])


async def test_before_the_watch_has_it_the_server_is_asked_and_afterwards_not() -> None:
    bench = Bench()
    bench.put()
    async with bench.running():
        bench.cache.register(user())
        assert await bench.value() == "1"
        assert bench.calls("get") == 1
        await bench.clock.settle()
        assert await bench.value() == "1"
        assert bench.calls("get") == 1


async def test_what_the_watch_brings_first_is_no_news_to_who_asked_the_server() -> None:
    bench = Bench()
    bench.put()
    async with bench.running():
        bench.cache.register(user())
        await bench.value()
        await bench.clock.settle()
        assert bench.told == []


async def test_a_change_between_asking_and_watching_is_told() -> None:
    bench = Bench()
    bench.put()
    bench.server.faults.delay(1.0, verb="list")
    async with bench.running():
        bench.cache.register(user())
        await bench.value()
        bench.change("2")
        await bench.clock.advance(1.0)
        assert bench.told == ["u1"]
        assert await bench.value() == "2"


async def test_two_who_were_given_different_versions_are_both_told() -> None:
    bench = Bench()
    bench.put()
    bench.server.faults.delay(1.0, verb="list")
    async with bench.running():
        bench.cache.register(user("u1"))
        assert await bench.value() == "1"
        bench.cache.register(user("u2"))
        bench.change("2")
        assert await bench.value() == "2"
        await bench.clock.advance(1.0)
        assert sorted(bench.told) == ["u1", "u2"]


async def test_changes_go_to_all_pods_that_refer_to_the_object_and_to_no_other() -> None:
    bench = Bench()
    bench.put()
    bench.put("other")
    async with bench.running():
        for one in (user("u1"), user("u2"), user("u3", "other")):
            bench.cache.register(one)
        await bench.clock.settle()
        bench.told.clear()
        bench.change("2")
        await bench.clock.settle()
        assert sorted(bench.told) == ["u1", "u2"]


async def test_an_object_that_appears_or_goes_is_a_change() -> None:
    bench = Bench()
    async with bench.running():
        bench.cache.register(user(optional=True))
        assert await bench.value() is None
        await bench.clock.settle()
        bench.put()
        await bench.clock.settle()
        assert bench.told == ["u1"]
        assert await bench.value() == "1"
        bench.server.delete(core.ConfigMap, "c", "default")
        await bench.clock.settle()
        assert bench.told == ["u1", "u1"]
        assert await bench.value() is None


async def test_watching_ends_with_the_last_pod() -> None:
    bench = Bench()
    bench.put()
    async with bench.running():
        bench.cache.register(user("u1"))
        bench.cache.register(user("u2"))
        bench.cache.register(user("u2"))
        await bench.clock.settle()
        assert bench.calls("watch") == 1
        bench.told.clear()
        bench.cache.unregister("u1")
        bench.change("2")
        await bench.clock.settle()
        assert bench.told == ["u2"]
        bench.cache.unregister("u2")
        bench.cache.unregister("u2")
        bench.change("3")
        await bench.clock.settle()
        assert bench.told == ["u2"]
        assert await bench.value() == "3"  # still to be had, from the server
        bench.cache.register(user("u4"))
        await bench.clock.settle()
        assert bench.calls("watch") == 2


async def test_pods_registered_before_it_runs_are_watched_for_once_it_does() -> None:
    bench = Bench()
    bench.put()
    bench.cache.register(user())
    assert await bench.value() == "1"
    async with bench.running():
        bench.change("2")
        await bench.clock.settle()
        assert bench.told == ["u1"]


async def test_only_the_object_itself_is_listed_and_watched() -> None:
    """A node is authorized for what its pods refer to, not for a whole namespace."""
    bench = Bench()
    seen = []
    real = bench.client.list

    async def spying(cls: type[core.ConfigMap], namespace: str = "", **options: object) -> object:
        seen.append((namespace, options["field_selector"]))
        return await real(cls, namespace, **options)  # type: ignore[arg-type]

    bench.client.list = spying  # type: ignore[method-assign,assignment]
    async with bench.running():
        bench.cache.register(user())
        await bench.clock.settle()
    assert seen == [("default", "metadata.name=c")]


@pytest.mark.parametrize("how", ["forbidden", "offline", "hangs"])
async def test_what_cannot_be_told_is_an_error_and_not_an_absence(how: str) -> None:
    bench = Bench()
    match how:
        case "forbidden":
            bench.server.faults.fail(errors.forbidden("configmaps", "c", "no"), verb="get")
        case "offline":
            bench.server.faults.offline = True
        case "hangs":
            bench.server.faults.delay(1000, verb="get")
    asking = asyncio.create_task(bench.cache.config_map("default", "c"))
    await bench.clock.advance(20)
    with pytest.raises(ConfigError, match=r"forbidden|failed to fetch configmap default/c"):
        await asking


def test_all_that_a_pod_can_refer_to_is_found() -> None:
    one = pod(
        {
            "name": "app",
            "envFrom": [{"configMapRef": {"name": "c1"}}, {"secretRef": {"name": "s1"}}],
            "env": [
                {"name": "A", "value": "plain"},
                {"name": "B", "valueFrom": {"configMapKeyRef": {"name": "c2", "key": "k"}}},
                {"name": "C", "valueFrom": {"secretKeyRef": {"name": "s2", "key": "k"}}},
            ],
        },
        init=[{"name": "first", "envFrom": [{"configMapRef": {"name": "c3"}}]}],
        imagePullSecrets=[{"name": "s3"}, {}],
        volumes=[
            {"name": "a", "configMap": {"name": "c4"}},
            {"name": "b", "secret": {"secretName": "s4"}},
            {
                "name": "d",
                "projected": {
                    "sources": [
                        {"configMap": {"name": "c5"}},
                        {"secret": {"name": "s5"}},
                        {"serviceAccountToken": {"path": "t"}},
                    ]
                },
            },
            {"name": "e", "emptyDir": {}},
        ],
    )
    expected = {Reference(core.ConfigMap, "default", f"c{n}") for n in range(1, 6)}
    expected |= {Reference(core.Secret, "default", f"s{n}") for n in range(1, 6)}
    assert set(references(one)) == expected
