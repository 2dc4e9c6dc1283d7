"""The verbs: how every part of Orlop talks to a Kubernetes API server.

Agent, scheduler and controllers reach the API through this room and nothing else; there are no private doors. It
knows the nouns of `api` and the wire, never who calls it or what for.

Import from the modules, each of which is one concept:

===================  =========================================================================
`interface`          `Client`, the surface that code is written against; `WatchEvent`, `PatchKind`
`rest`               `ApiClient`, that surface over HTTPS
`fake`               `FakeApiServer` and `FakeClient`, that surface in memory, with faults on demand
`kubeconfig`         where the server is and who we are
`clock`              time, handed in: `SystemClock`, and `FakeClock`, which jumps by itself
`informer`           a local, indexed, always current copy of a kind; `InformerFactory` shares them
`cache`              what it is kept in; `Lister`, for those who only read
`workqueue`          what to reconcile next; `controller` runs workers over it
`leaderelection`     one of several replicas at work, by Lease
`events`             `EventRecorder`: tell the user, without ever blocking
`tls`                the server's side of TLS, for all servers of ours
`certificates`       who shows this client certificate, and is it good
`files`              files that are whole or not there
`errors`             what can go wrong between us and the server
===================  =========================================================================
"""
