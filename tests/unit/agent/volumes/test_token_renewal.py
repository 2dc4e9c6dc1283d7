"""Tokens of service accounts are renewed in time, and an old one serves while the server is away."""

import random

import pytest

from agent.volumes.host import SetUpError
from agent.volumes.tokens import JITTER, RETRY, Tokens, Wanted
from api import core_v1 as core
from api import errors
from api import meta_v1 as meta
from client.clock import FakeClock
from client.fake import FakeApiServer

HOUR = 3600.0


def wanted(seconds: int = 3600, uid: str = "u1") -> Wanted:
    return Wanted(namespace="ns", account="robot", pod="web", uid=uid, audience="", seconds=seconds)


class Bench:
    def __init__(self, seed: int = 0) -> None:
        self.clock = FakeClock(autojump=False)
        self.server = FakeApiServer(clock=self.clock)
        self.server.create(core.ServiceAccount(metadata=meta.ObjectMeta(name="robot", namespace="ns")))
        self.client = self.server.client()
        self.due: list[tuple[float, str]] = []
        self.tokens = Tokens(self.client, self.clock, self._due, random.Random(seed))

    def _due(self, uid: str) -> None:
        self.due.append((self.clock.monotonic(), uid))

    def news(self) -> None:
        """Have the server's next token differ from the last."""
        self.server.create(core.ConfigMap(metadata=meta.ObjectMeta(generate_name="tick-", namespace="ns")))

    @property
    def requests(self) -> int:
        return len(self.client.calls)


async def test_a_token_is_bound_to_the_pod_and_asked_for_once() -> None:
    bench = Bench()
    seen = []
    real = bench.server.create_subresource
    bench.server.create_subresource = lambda *a: seen.append(a[4]) or real(*a)  # type: ignore[method-assign,func-returns-value]
    token = await bench.tokens.get(Wanted("ns", "robot", "web", "u1", "vault", 7200))
    assert await bench.tokens.get(Wanted("ns", "robot", "web", "u1", "vault", 7200)) == token
    (body,) = seen
    assert body.spec.audiences == ["vault"]
    assert body.spec.expiration_seconds == 7200
    bound = body.spec.bound_object_ref
    assert (bound.kind, bound.api_version, bound.name, bound.uid) == ("Pod", "v1", "web", "u1")


async def test_it_is_due_when_four_fifths_of_its_life_are_over_or_a_little_before() -> None:
    bench = Bench()
    first = await bench.tokens.get(wanted())
    await bench.clock.advance(0.8 * HOUR - JITTER - 1)
    assert bench.due == []
    bench.news()
    assert await bench.tokens.get(wanted()) == first
    await bench.clock.advance(JITTER + 1)
    ((when, uid),) = bench.due
    assert uid == "u1"
    assert 0.8 * HOUR - JITTER <= when <= 0.8 * HOUR
    assert await bench.tokens.get(wanted()) != first


async def test_a_long_lived_token_is_renewed_when_it_is_a_day_old() -> None:
    bench = Bench()
    await bench.tokens.get(wanted(7 * 86400))
    await bench.clock.advance(25 * HOUR)
    ((when, _),) = bench.due
    assert 24 * HOUR - JITTER <= when <= 24 * HOUR


async def test_tokens_do_not_all_fall_due_together() -> None:
    bench = Bench()
    for number in range(20):
        await bench.tokens.get(wanted(uid=f"u{number}"))
    await bench.clock.advance(0.8 * HOUR)
    moments = [when for when, _ in bench.due]
    assert len(moments) == 20
    assert max(moments) - min(moments) > JITTER / 2


async def test_while_the_server_is_away_the_old_one_serves_until_it_expires() -> None:
    bench = Bench()
    first = await bench.tokens.get(wanted())
    await bench.clock.advance(0.8 * HOUR)
    bench.server.faults.offline = True
    for _ in range(3):  # other changes of the pod's volumes ask, too: that adds no reminders
        assert await bench.tokens.get(wanted()) == first
    bench.due.clear()
    await bench.clock.advance(RETRY)
    assert [uid for _, uid in bench.due] == ["u1"]
    await bench.clock.advance(0.2 * HOUR)
    with pytest.raises(SetUpError, match=r"^failed to fetch token: .*connection refused"):
        await bench.tokens.get(wanted())
    bench.server.faults.offline = False
    bench.news()
    assert await bench.tokens.get(wanted()) != first


async def test_a_server_that_hangs_is_not_waited_for_for_ever() -> None:
    bench = Bench()
    bench.clock = FakeClock()
    bench.tokens = Tokens(bench.client, bench.clock, bench._due)
    bench.server.faults.hook(lambda _call: bench.clock.sleep(1e6), verb="create")
    with pytest.raises(SetUpError, match=r"^failed to fetch token: "):
        await bench.tokens.get(wanted())
    assert bench.clock.monotonic() < 60


async def test_a_refusal_is_told_in_the_servers_words() -> None:
    bench = Bench()
    bench.server.faults.fail(errors.not_found("serviceaccounts", "robot"), verb="create")
    with pytest.raises(SetUpError) as raised:
        await bench.tokens.get(wanted())
    assert str(raised.value) == 'failed to fetch token: serviceaccounts "robot" not found'


async def test_a_pod_that_is_gone_is_told_nothing_more() -> None:
    bench = Bench()
    await bench.tokens.get(wanted())
    await bench.tokens.get(wanted(uid="u2"))
    bench.tokens.forget("u1")
    bench.tokens.forget("never seen")
    await bench.clock.advance(HOUR)
    assert [uid for _, uid in bench.due] == ["u2"]
    before = bench.requests
    await bench.tokens.get(wanted())
    assert bench.requests == before + 1
