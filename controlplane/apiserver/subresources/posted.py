"""Objects that are posted to be answered, not to be kept: reviews and token requests."""

from __future__ import annotations

from api import authentication_v1 as authentication
from api import codec
from api.meta_v1 import Object
from api.scheme import Resource
from controlplane.apiserver import bodies, negotiation, options, replies
from controlplane.apiserver.exchange import Exchange, Reply
from controlplane.apiserver.registry.registry import Registry
from controlplane.apiserver.reviews import Reviews
from controlplane.apiserver.tokens import TokenIssuer
from controlplane.apiserver.verbs import create, metadata
from controlplane.apiserver.verbs.environment import Environment


async def review(resource: Resource, reviews: Reviews, exchange: Exchange) -> Reply:
    """Answer a POST to one of the review resources."""
    output = replies.output_of(exchange, transforms=negotiation.METADATA_ONLY)
    wanted = options.write_options(exchange.query, "CreateOptions")
    posted: Object = await bodies.read_object(exchange, resource, wanted.field_validation)
    answered = reviews.review(posted, exchange.user, exchange.info.namespace)
    return replies.object_reply(exchange, output, codec.encode(answered), 201)


async def issue_token(registry: Registry, tokens: TokenIssuer, environment: Environment, exchange: Exchange) -> Reply:
    """Answer a POST to serviceaccounts/<name>/token."""
    output = replies.output_of(exchange, transforms=negotiation.METADATA_ONLY)
    wanted = options.write_options(exchange.query, "CreateOptions")
    kind = authentication.TokenRequest
    request = await bodies.read_struct(
        exchange, kind, "authentication.k8s.io/v1", "TokenRequest", wanted.field_validation
    )
    info = exchange.info
    metadata.check_namespace(request.metadata, info.namespace)
    await environment.admit(create.OPERATION, exchange, registry, request, None, dry_run=wanted.dry_run)
    answered = tokens.request(info.namespace, info.name, request)
    return replies.object_reply(exchange, output, codec.encode(answered), 201)
