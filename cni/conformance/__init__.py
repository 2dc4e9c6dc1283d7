"""A judge of CNI plugins: asks any of them what the specification says it must do, and tells what it did instead."""
