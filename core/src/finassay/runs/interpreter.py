"""What a process needs to see so that this Python interpreter runs in a box, and what it must not see."""

import sys
from collections.abc import Collection
from functools import cache
from importlib.metadata import distributions
from pathlib import Path


@cache
def interpreter_folders() -> tuple[Path, ...]:
    """The folders of the running interpreter: the environment and the installation it was made from."""
    return tuple(dict.fromkeys(Path(p).resolve() if index else Path(p) for index, p in enumerate((sys.prefix, sys.base_prefix))))


@cache
def _own_packages() -> tuple[tuple[str, Path], ...]:
    """(distribution, folder) of every finassay package that lies in the environment itself."""
    found = []
    for distribution in distributions():
        name = distribution.name or ""
        if name == "finassay" or name.startswith("finassay-"):
            tops = {Path(str(file)).parts[0] for file in distribution.files or () if len(Path(str(file)).parts) > 1}
            found += [
                (name, path) for top in sorted(tops) if (path := Path(str(distribution.locate_file(top)))).is_dir() and ".." not in top
            ]
    return tuple(found)


def masked_packages(keep: Collection[str]) -> tuple[Path, ...]:
    """Folders of installed finassay packages that an agent must not read: graders, grammars, tasks' wording.

    `keep` names distributions that the agent itself is part of. What is installed in place (editable) lies elsewhere and is simply not
    made visible.
    """
    return tuple(path for name, path in _own_packages() if name not in keep and path.name != "bin")
