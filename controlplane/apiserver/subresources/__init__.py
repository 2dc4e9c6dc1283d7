"""What hangs below an object: scale, binding, finalize, eviction, logs and the streams to its node."""
