"""HTTP probes: one GET. 2xx is success.

So is 3xx, with a warning: a redirect that leads to another host is not followed, and the container has answered.
"""

from __future__ import annotations

from agent.pods.requests import RequestFailed, get
from agent.probes.results import SUCCESS, USER_AGENT, Outcome, Verdict, failure
from api import core_v1 as core


async def probe_http(action: core.HTTPGetAction, host: str, port: int) -> Outcome:
    """Ask once. The caller sets the deadline."""
    try:
        answer = await get(action, host, port, USER_AGENT)
    except RequestFailed as error:
        return failure(str(error))
    if 200 <= answer.status < 300:
        return SUCCESS
    if 300 <= answer.status < 400:
        text = answer.body.decode(errors="replace")
        return Outcome(Verdict.WARNING, f"Probe terminated redirects, Response body: {text}")
    return failure(f"HTTP probe failed with statuscode: {answer.status}")
