"""What is kept of each resource: its place in the store, its cache, and what happens to its objects on a write."""
