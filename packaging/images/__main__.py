"""`python -m images FILE`: write the archive of the system images to FILE."""

from __future__ import annotations

import sys
from pathlib import Path

from images.system import MissingProgram, write_system_images


def main(arguments: list[str]) -> int:
    """Build and name what was built; 1 with a line on stderr when a part is missing."""
    if len(arguments) != 1:
        print("usage: python -m images FILE", file=sys.stderr)
        return 2
    try:
        names = write_system_images(Path(arguments[0]))
    except (MissingProgram, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    print("\n".join(names))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
