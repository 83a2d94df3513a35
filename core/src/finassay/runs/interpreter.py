"""What a process needs to see so that this Python interpreter runs in a box, and what it must not see."""

import os
import sys
import sysconfig
from collections.abc import Collection, Iterator
from functools import cache
from importlib.metadata import distributions
from pathlib import Path
from typing import Final

PARTS: Final = ("bin", "etc", "include", "lib", "lib64", "pyvenv.cfg", "share")
"""What an environment consists of."""


@cache
def interpreter_folders() -> tuple[Path, ...]:
    """What the running interpreter consists of: its environment, the installation that was made from, and the links between them.

    Of an environment only its own parts are named, because people make one around a whole project; of an installation whose prefix is or
    holds the home folder only its library folders.
    """
    found: dict[Path, None] = {}
    base = Path(sys.base_prefix)
    if sys.prefix != sys.base_prefix:
        found.update(dict.fromkeys(path for part in PARTS if (path := Path(sys.prefix) / part).exists()))
    found.update(dict.fromkeys([base] if not _holds_home(base) else _libraries()))
    for hop in _hops(Path(sys.executable)):
        if not any(hop.is_relative_to(path) or hop.is_relative_to(path.resolve()) for path in found):
            found[hop] = None
    return tuple(found)


def _holds_home(folder: Path) -> bool:
    return Path.home().resolve().is_relative_to(folder.resolve())


def _libraries() -> Iterator[Path]:
    paths = sysconfig.get_paths()
    yield from (Path(paths[name]) for name in ("stdlib", "platstdlib", "purelib", "platlib"))


def _hops(path: Path) -> Iterator[Path]:
    """The program and every link on the way to the real one, each at the place where it is looked up."""
    for _ in range(40):
        yield path
        if not path.is_symlink():
            return
        path = Path(os.path.normpath(path.parent.resolve() / os.readlink(path)))


@cache
def _own_packages() -> tuple[tuple[str, Path], ...]:
    """(distribution, folder) of every finassay package that lies in the environment itself."""
    found = []
    for distribution in distributions():
        name = (distribution.name or "").lower().replace("_", "-")
        if name == "finassay" or name.startswith("finassay-"):
            tops = {file.parts[0] for file in distribution.files or () if len(file.parts) > 1}
            folders = [Path(str(distribution.locate_file(top))) for top in sorted(tops - {"..", "bin", "__pycache__"})]
            found += [(name, folder) for folder in folders if folder.is_dir()]
    return tuple(found)


def masked_packages(keep: Collection[str]) -> tuple[Path, ...]:
    """Folders of installed finassay packages that an agent must not read: graders, grammars, tasks' wording.

    `keep` names distributions that the agent itself is part of. What is installed in place (editable) lies elsewhere and is simply not
    made visible.
    """
    kept = {name.lower().replace("_", "-") for name in keep}
    return tuple(path for name, path in _own_packages() if name not in kept)
