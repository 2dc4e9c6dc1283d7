"""The control plane: store, API server, scheduler, controllers and the keys they trust."""
