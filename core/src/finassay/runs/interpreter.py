"""What a process needs to see so that this Python interpreter runs in a box, and what it must not see."""

import os
import sys
import sysconfig
from collections.abc import Collection, Iterator
from functools import cache
from importlib.metadata import Distribution, distributions
from pathlib import Path
from typing import Final

PARTS: Final = ("bin", "etc", "include", "lib", "lib64", "pyvenv.cfg", "share")
"""What an environment consists of."""
OPEN_GROUPS: Final = ("finassay.agents", "finassay.channels", "finassay.commands", "finassay.models", "finassay.plugins")
"""Groups of entry points that give away nothing of how tasks are drawn, played or graded."""


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
    for hop in _hops(Path(executable())):
        if not any(hop.is_relative_to(path) or hop.is_relative_to(path.resolve()) for path in found):
            found[hop] = None
    return tuple(found)


def executable() -> str:
    """The interpreter's path without `..` and links of folders, however it was started: the one that is shown in a box.

    The last link stays: an environment's interpreter is a link, and is told by it.
    """
    given = Path(sys.executable)
    return str(given.parent.resolve() / given.name)


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
    """(distribution, folder or file) of every finassay package, and of every other that hands something secret to runs, in the environment."""
    found = []
    for distribution in distributions():
        name = _plain(distribution.name or "")
        if name == "finassay" or name.startswith("finassay-") or _hands_secrets(distribution):
            files = [file for file in distribution.files or () if file.parts[0] not in ("..", "bin", "/")]
            tops = {file if file.parts[0] == "__pycache__" else file.parts[0] for file in files}
            paths = [Path(str(distribution.locate_file(top))) for top in sorted(tops, key=str)]
            found += [(name, path) for path in paths if path.exists()]
    return tuple(found)


def _hands_secrets(distribution: Distribution) -> bool:
    return any(e.group.startswith("finassay.") and e.group not in OPEN_GROUPS for e in distribution.entry_points)


def _plain(name: str) -> str:
    return name.lower().replace("_", "-")


def masked_packages(keep: Collection[str]) -> tuple[Path, ...]:
    """Folders and files of installed packages that an agent must not read: graders, grammars, tasks' wording.

    These are finassay's own, and whatever else offers runs more than agents, channels, models or commands. `keep` names distributions that the
    agent itself is part of. Of what is installed in place (editable), the code lies elsewhere and is simply not made visible; what names its
    place is masked.
    """
    kept = {_plain(name) for name in keep}
    return tuple(path for name, path in _own_packages() if name not in kept)
