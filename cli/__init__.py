"""The `orlop` command."""
