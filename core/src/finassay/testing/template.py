"""`finassay new`: a distribution for one component, small, complete, and already passing conformance."""

import re
from importlib.resources import files
from pathlib import Path
from string import Template

from finassay.api.errors import UsageError
from finassay.api.version import API_VERSION
from finassay.catalog.catalog import kind_named
from finassay.catalog.kinds import KINDS

TEMPLATES = "templates"
LONG_NAMES = ("simulator", "judge", "check", "reader", "sandbox", "channel", "guidance", "reporter", "persona", "model")
"""Kinds whose id alone would not say what a distribution is: its name holds the kind."""


NEEDS = ("finassay>=0.1", "attrs>=24", "pydantic>=2.7")
ALSO_NEEDS = {"agent": ("finassay-cli-kit>=0.1",)}
"""What a distribution of a kind depends on besides."""
ALSO_FILES = {"agent": ("program",)}
"""Further modules of a distribution of a kind."""


def available() -> list[str]:
    """Kinds that have a template."""
    return sorted(
        p.name.removesuffix(".py.txt")
        for p in (files("finassay.testing") / TEMPLATES).iterdir()
        if p.name.endswith(".py.txt") and p.name[0] != "_"
    )


def make_distribution(kind: str, name: str, out: Path) -> Path:
    """Write the distribution's folder and return it. Raises `UsageError` for an unknown kind, a bad name or a folder that exists."""
    found = kind_named(kind)
    if found is None or found.name not in available():
        raise UsageError(f"no template for kind {kind!r}", hint=f"Templates: {', '.join(available())}. Kinds: {', '.join(KINDS)}.")
    if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", name):
        raise UsageError(f"{name!r} is no component id", hint="Ids are kebab-case: lower-case words joined by '-'.")
    folder = out / name
    if folder.exists():
        raise UsageError(f"{folder} exists already", hint="Choose another name, or --out.")
    distribution = f"finassay-{found.name}-{name}" if found.name in LONG_NAMES else f"finassay-{name}"
    package = distribution.replace("-", "_")
    words = {
        "kind": found.name,
        "group": found.group,
        "id": name,
        "distribution": distribution,
        "package": package,
        "api": str(API_VERSION),
        "needs": ", ".join(f'"{need}"' for need in (*NEEDS, *ALSO_NEEDS.get(found.name, ()))),
        "cls": "".join(part.capitalize() for part in name.split("-")) + found.name.capitalize(),
    }
    targets = [
        ("pyproject.toml", "_pyproject.toml.txt"),
        ("README.md", "_readme.md.txt"),
        (f"src/{package}/__init__.py", "_init.py.txt"),
        (f"src/{package}/{found.name}.py", f"{found.name}.py.txt"),
        (f"tests/test_{package}.py", "_test.py.txt"),
        *((f"src/{package}/{file}.py", f"_{file}.py.txt") for file in ALSO_FILES.get(found.name, ())),
    ]
    for target, source in targets:
        path = folder / target
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(Template((files("finassay.testing") / TEMPLATES / source).read_text("utf-8")).substitute(words), encoding="utf-8")
    (folder / "src" / package / "py.typed").touch()
    return folder
