"""The garbage collector: objects whose owners are all gone are deleted; owners wait for them, or let go of them, as
the deletion asked (foreground, background, orphan).

`graph` is who owns whom, kept current by `watching` over the metadata of every kind. `planning` decides about one
object, by facts that `controller` has looked up on the server: a graph may lag, and what is deleted does not come back.
"""
