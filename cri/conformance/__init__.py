"""A judge of container runtimes: asks any of them for what a node agent rests upon, and tells what it did instead."""
