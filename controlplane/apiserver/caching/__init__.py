"""What the watch caches are made of: entries, their order, their recent history, and how bytes of them go out."""
