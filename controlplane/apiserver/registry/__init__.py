"""What is kept of each resource: its place in the store, its cache, and what upstream does to its objects on a write."""
