"""The store: an ordered map of keys to bytes that remembers its past, with etcd's semantics and several engines."""
