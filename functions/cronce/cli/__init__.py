"""The `cronce` command."""
