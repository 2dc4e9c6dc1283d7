"""The API server: HTTPS, registry, identity and admission over an ordered store of JSON bytes."""
