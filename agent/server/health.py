"""The answer to a health check, in upstream's forms: one word, a list, or one check by its name.

Why a check failed is told to who asks for that check, and withheld from the list, which more may read.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from aiohttp import web

from agent.server.http import Problem


def health_answer(
    checks: Mapping[str, str], name: str = "", excluded: Collection[str] = (), *, verbose: bool = False
) -> web.Response:
    """The answer for `checks` (name → complaint, "" when passed): for all but some, or for the one called `name`.

    Raises Problem for a name that is none.
    """
    if name:
        return _one(checks, name)
    lines = []
    failed = False
    for check, complaint in checks.items():
        if check in excluded:
            lines.append(f"[+]{check} excluded: ok")
        elif complaint:
            failed = True
            lines.append(f"[-]{check} failed: reason withheld")
        else:
            lines.append(f"[+]{check} ok")
    unknown = sorted(set(excluded) - checks.keys())
    if unknown:
        quoted = ",".join(f'"{each}"' for each in unknown)
        lines.append(f"warn: some health checks cannot be excluded: no matches for {quoted}")
    if failed:
        return web.Response(status=500, text="\n".join([*lines, "healthz check failed", ""]))
    if verbose:
        return web.Response(text="\n".join([*lines, "healthz check passed", ""]))
    return web.Response(text="ok")


def _one(checks: Mapping[str, str], name: str) -> web.Response:
    if name not in checks:
        raise Problem(404, "404 page not found\n")
    if checks[name]:
        return web.Response(status=500, text=f"internal server error: {checks[name]}\n")
    return web.Response(text="ok")
