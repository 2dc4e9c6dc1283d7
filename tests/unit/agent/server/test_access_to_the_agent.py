"""Who may use the agent's API, as the API server decides it."""

import pytest

from agent.server.access import ALLOWED_TTL, DENIED_TTL, TOKEN_TTL
from agent.server.routes import permissions, route
from api import errors
from client.clock import FakeClock
from client.errors import Unreachable
from tests.unit.agent.server.agent_server_harness import Bench

BEARER = {"Authorization": "Bearer good-token"}


async def test_a_client_certificate_names_its_user(bench: Bench) -> None:
    assert await bench.get("/configz") == (200, '{"kubeletconfig":{"kind":"KubeletConfiguration","maxPods":110}}')
    (review,) = bench.reviews.asked
    assert (review.spec.user, review.spec.groups) == ("root", ["system:masters", "system:authenticated"])
    assert list(review.spec.extra) == ["authentication.kubernetes.io/credential-id"]
    wanted = review.spec.resource_attributes
    assert (wanted.verb, wanted.group, wanted.version, wanted.resource) == ("get", "", "v1", "nodes")
    assert (wanted.subresource, wanted.name) == ("configz", "node-1")


async def test_a_token_is_reviewed(bench: Bench) -> None:
    async with bench.as_client() as session, session.get("/metrics", headers=BEARER) as answer:
        assert answer.status == 200
    assert bench.reviews.asked[0].spec.token == "good-token"
    assert bench.reviews.asked[1].spec.user == "robot"
    assert bench.reviews.asked[1].spec.uid == "7"
    assert bench.reviews.asked[1].spec.groups == ["bots"]


async def test_a_certificate_goes_before_a_token(bench: Bench) -> None:
    assert (await bench.get("/metrics", headers=BEARER))[0] == 200
    assert [each[0] for each in bench.reviews.access_reviews()] == ["root"]


@pytest.mark.parametrize("header", ["", "Bearer bad-token", "Bearer ", "Basic Zm9vOmJhcg==", "good-token"])
async def test_without_credentials_nothing_is_answered(bench: Bench, header: str) -> None:
    headers = {"Authorization": header} if header else {}
    async with bench.as_client() as session:
        for path in ("/healthz", "/pods", "/nowhere"):
            async with session.get(path, headers=headers) as answer:
                assert (answer.status, await answer.text()) == (401, "Unauthorized")
    assert bench.reviews.access_reviews() == []


@pytest.mark.parametrize("client", ["foreign", "expired"])
async def test_a_bad_certificate_is_told_so_and_a_token_does_beside_it(bench: Bench, client: str) -> None:
    async with bench.as_client(client) as session:
        async with session.get("/healthz") as answer:
            assert (answer.status, await answer.text()) == (401, "Unauthorized")
        async with session.get("/metrics", headers=BEARER) as answer:
            assert answer.status == 200
    assert [each[0] for each in bench.reviews.access_reviews()] == ["robot"]


async def test_who_may_not_is_told_what_was_asked(bench: Bench) -> None:
    async with bench.as_client("nobody") as session:
        async with session.get("/pods") as answer:
            assert answer.status == 403
            assert await answer.text() == (
                "Forbidden (user=nobody, verb=get, resource=nodes, subresource(s)=[pods proxy])\n"
            )
        async with session.post("/exec/default/web/app?command=x&output=1") as answer:
            assert await answer.text() == (
                "Forbidden (user=nobody, verb=create, resource=nodes, subresource(s)=[proxy])\n"
            )
    assert bench.reviews.access_reviews() == [
        ("nobody", "get", "pods"),
        ("nobody", "get", "proxy"),
        ("nobody", "create", "proxy"),
    ]


async def test_the_broader_permission_does_where_a_finer_one_was_added_later(bench: Bench) -> None:
    bench.reviews.allow = lambda user, verb, subresource: subresource == "proxy"
    assert (await bench.get("/healthz"))[0] == 200
    assert (await bench.get("/metrics"))[0] == 403  # which always had one of its own


@pytest.mark.parametrize(
    ("method", "path", "expected"),
    [
        ("GET", "/metrics", ("get", ["metrics"])),
        ("GET", "/metrics/cadvisor", ("get", ["metrics"])),
        ("GET", "/stats/summary", ("get", ["stats"])),
        ("GET", "/logs/", ("get", ["log"])),
        ("POST", "/checkpoint/a/b/c", ("create", ["checkpoint"])),
        ("GET", "/pods", ("get", ["pods", "proxy"])),
        ("GET", "/runningpods/", ("get", ["pods", "proxy"])),
        ("GET", "/healthz/ping", ("get", ["healthz", "proxy"])),
        ("GET", "/configz", ("get", ["configz", "proxy"])),
        ("GET", "/podsandmore", ("get", ["proxy"])),
        ("GET", "/containerLogs/a/b/c", ("get", ["proxy"])),
        ("GET", "/exec/a/b/c", ("get", ["proxy"])),
        ("POST", "/portForward/a/b", ("create", ["proxy"])),
        ("DELETE", "/", ("delete", ["proxy"])),
        ("PUT", "/x", ("update", ["proxy"])),
    ],
)
def test_permissions(method: str, path: str, expected: tuple[str, list[str]]) -> None:
    assert permissions(method, path) == expected


@pytest.mark.parametrize(
    "path", ["/", "", "/pods/x", "/exec", "/exec/a/b", "/exec/a/b/c/d/e", "/containerLogs/a/b", "/run/a/b/c", "/debug"]
)
def test_paths_that_lead_nowhere(path: str) -> None:
    assert route(path) is None


async def test_answers_are_kept_and_asked_for_anew_when_they_are_old(bench: Bench) -> None:
    clock = bench.clock
    assert isinstance(clock, FakeClock)
    async with bench.as_client() as session:

        async def scrape() -> int:
            async with session.get("/metrics", headers=BEARER) as answer:
                return answer.status

        for _ in range(3):
            assert await scrape() == 200
        assert len(bench.reviews.asked) == 2
        await clock.advance(TOKEN_TTL + 1)
        assert await scrape() == 200
        assert len(bench.reviews.asked) == 3  # the token again, the permission not yet
        del bench.reviews.tokens["good-token"]
        await clock.advance(ALLOWED_TTL + 1)
        assert await scrape() == 401


async def test_a_no_is_kept_for_a_shorter_time(bench: Bench) -> None:
    clock = bench.clock
    assert isinstance(clock, FakeClock)
    bench.reviews.allow = lambda *_: False
    assert (await bench.get("/metrics"))[0] == 403
    bench.reviews.allow = lambda *_: True
    assert (await bench.get("/metrics"))[0] == 403
    await clock.advance(DENIED_TTL + 1)
    assert (await bench.get("/metrics"))[0] == 200
    assert len(bench.reviews.asked) == 2


@pytest.mark.parametrize("fault", [Unreachable("away"), TimeoutError(), errors.internal("broken")])
async def test_without_a_judge_nobody_gets_in_and_nothing_is_remembered(bench: Bench, fault: Exception) -> None:
    bench.reviews.fault = fault
    assert await bench.get("/metrics") == (
        500,
        "Authorization error (user=root, verb=get, resource=nodes, subresource=metrics)",
    )
    async with bench.as_client() as session, session.get("/metrics", headers=BEARER) as answer:
        assert (answer.status, await answer.text()) == (401, "Unauthorized")
    bench.reviews.fault = None
    assert (await bench.get("/metrics"))[0] == 200
