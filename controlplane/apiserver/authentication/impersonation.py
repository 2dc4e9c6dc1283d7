"""Acting as somebody else (``kubectl --as``): the Impersonate-* headers.

Each thing that is asked for (the user, every group, the UID, every value of an extra) needs its own permission of
verb ``impersonate`` (https://kubernetes.io/docs/reference/access-authn-authz/authentication/#user-impersonation).
"""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import unquote

from api import errors
from client.certificates import AUTHENTICATED
from controlplane.apiserver.authentication.authenticator import ANONYMOUS, UNAUTHENTICATED
from controlplane.apiserver.authentication.service_accounts import ALL_SERVICE_ACCOUNTS, split_user
from controlplane.apiserver.authorization.authorizer import Authorizer
from controlplane.apiserver.authorization.decisions import forbidden
from controlplane.apiserver.request import RequestInfo, User

_USER, _GROUP, _UID, _EXTRA = "impersonate-user", "impersonate-group", "impersonate-uid", "impersonate-extra-"
_AUTHENTICATION = "authentication.k8s.io"


def effective_user(user: User, headers: Mapping[str, str], authorizer: Authorizer) -> User:
    """Who the request counts as: *user* itself, or whom it is allowed to impersonate.

    *headers* may hold a name several times in `items()`. Raises StatusError: 400 for groups, UID or extras without a
    user, 403 without permission.
    """
    if not any(name.lower().startswith("impersonate-") for name in headers):
        return user
    wanted = [(name.lower(), value) for name, value in headers.items() if name.lower().startswith("impersonate-")]
    name = next((value for header, value in wanted if header == _USER), "")
    named_groups = [value for header, value in wanted if header == _GROUP]
    uid = next((value for header, value in wanted if header == _UID), "")
    extras = [(unquote(header.removeprefix(_EXTRA)), value) for header, value in wanted if header.startswith(_EXTRA)]
    if not name:
        if not (named_groups or uid or extras):
            return user
        asked = [*(f"Group {group}" for group in named_groups), *(f"UserExtra {key}" for key, _ in extras)]
        raise errors.bad_request(
            f"requested [{', '.join([*asked, f'UID {uid}'] if uid else asked)}] without impersonating a user"
        )

    account = split_user(name)
    if account is not None:
        _demand(
            user, authorizer, RequestInfo("impersonate", "", "v1", "serviceaccounts", "", *account, is_resource=True)
        )
    else:
        _demand(user, authorizer, _info("", "users", name))
    for group in named_groups:
        _demand(user, authorizer, _info("", "groups", group))
    for key, value in extras:
        _demand(user, authorizer, _info(_AUTHENTICATION, "userextras", value, key))
    if uid:
        _demand(user, authorizer, _info(_AUTHENTICATION, "uids", uid))

    groups = named_groups
    if not groups and account is not None:
        groups = [ALL_SERVICE_ACCOUNTS, f"{ALL_SERVICE_ACCOUNTS}:{account[0]}"]
    if name == ANONYMOUS.name:
        if UNAUTHENTICATED not in groups:
            groups = [*groups, UNAUTHENTICATED]
    elif AUTHENTICATED not in groups and UNAUTHENTICATED not in groups:
        groups = [*groups, AUTHENTICATED]
    collected: dict[str, tuple[str, ...]] = {}
    for key, value in extras:
        collected[key] = (*collected.get(key, ()), value)
    return User(name, uid, tuple(groups), collected)


def _info(group: str, resource: str, name: str, subresource: str = "") -> RequestInfo:
    return RequestInfo("impersonate", group, "v1", resource, subresource, "", name, is_resource=True)


def _demand(user: User, authorizer: Authorizer, info: RequestInfo) -> None:
    decision = authorizer.authorize(user, info)
    if not decision.allowed:
        raise forbidden(user, info, decision.reason)
