"""The `cronce` command."""

import sys


def main() -> None:
    """What the script runs; the library may have been installed without what the command needs."""
    try:
        from cronce.cli.main import main as command
    except ModuleNotFoundError as missing:
        if (missing.name or "").partition(".")[0] == "cronce":
            raise
        sys.exit(f"cronce: the command needs the extra 'cronce[cli]' ({missing.name} is missing)")
    command()
