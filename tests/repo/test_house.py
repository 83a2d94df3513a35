"""Guards of the house: shelves, names, docs that keep up with the code, a quick start."""

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SHELVES = ("adapters", "personas", "grammars", "plugins")
DISTRIBUTIONS = sorted(p.parent for shelf in SHELVES for p in (ROOT / shelf).glob("*/pyproject.toml"))


def sources():
    return [p for d in (ROOT / "core", *DISTRIBUTIONS) for p in (d / "src").rglob("*.py")]


def test_shelves_are_not_packages():
    assert not [p for shelf in ("core", *SHELVES, "tests", "docs") for p in (ROOT / shelf).glob("__init__.py")]


@pytest.mark.parametrize("folder", DISTRIBUTIONS, ids=lambda p: p.name)
def test_a_distribution_is_complete(folder):
    project = tomllib.loads((folder / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["name"].startswith("finassay-")
    assert (folder / "README.md").read_text("utf-8").strip()
    package = folder / "src" / project["name"].replace("-", "_")
    assert (package / "__init__.py").is_file()
    assert (package / "py.typed").is_file()
    assert list((folder / "tests").glob("test_*.py"))
    for group, entries in project.get("entry-points", {}).items():
        assert group.startswith("finassay."), group
        for name in entries:
            assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name), name


@pytest.mark.parametrize(
    "folder", [d for d in DISTRIBUTIONS if "entry-points" in (d / "pyproject.toml").read_text("utf-8")], ids=lambda p: p.name
)
def test_every_component_has_its_conformance_test(folder):
    """Named in the distribution's own tests, so that the folder can be copied out as it is."""
    project = tomllib.loads((folder / "pyproject.toml").read_text("utf-8"))["project"]
    tests = "\n".join(p.read_text("utf-8") for p in (folder / "tests").glob("*.py"))
    for group, entries in project.get("entry-points", {}).items():
        if group == "finassay.commands":
            continue
        assert "ComponentConformance" in tests or "run_conformance" in tests, f"{folder.name} has no conformance test"
        assert entries


def test_no_distribution_imports_another_ones_insides():
    """A plugin imports the contract, its own package, the testing kit, and what its metadata openly names."""
    for folder in DISTRIBUTIONS:
        project = tomllib.loads((folder / "pyproject.toml").read_text("utf-8"))["project"]
        own = project["name"].replace("-", "_")
        named = {re.split(r"[<>=!~ \[]", d)[0].replace("-", "_") for d in project["dependencies"]}
        for path in (folder / "src").rglob("*.py"):
            for module in imported(path):
                top = module.split(".")[0]
                if top.startswith("finassay_"):
                    assert top in {own, *named}, f"{path.relative_to(ROOT)} imports {module}"
                if top == "finassay":
                    allowed = module == "finassay.api" or module.startswith(
                        ("finassay.api.", "finassay.testing", *EXTENDS.get(folder.name, ()))
                    )
                    assert allowed, f"{path.relative_to(ROOT)} imports {module}"


EXTENDS = {
    "report": ("finassay.grading.",),
    "cli-kit": ("finassay.runs.interpreter",),
    # Temporary folders that the next process removes where this one is killed: one way of doing it for the whole house.
    "gateway": ("finassay.records.scratch",),
    "sandbox-bubblewrap": ("finassay.records.scratch",),
    "sandbox-landlock": ("finassay.records.scratch",),
    "sandbox-container": ("finassay.records.scratch",),
    "rubrics": (
        "finassay.catalog.",
        "finassay.config.",
        "finassay.models.",
        "finassay.records.",
        "finassay.runs.",
        "finassay.grading.",
        "finassay.cli.",
    ),
    "models-replay": ("finassay.models.", "finassay.catalog."),
    "remote": ("finassay.session.intake",),  # paths and names of delivered files are held to the rules of delivery
    "simulator-policy": ("finassay.session.",),
    "agree": ("finassay.grading.", "finassay.catalog.", "finassay.config.", "finassay.models.", "finassay.records.", "finassay.runs."),
    "calibrate": (
        "finassay.grading.",
        "finassay.session.",
        "finassay.catalog.",
        "finassay.config.",
        "finassay.models.",
        "finassay.runs.build",
    ),
}
"""Parts of the core that a distribution openly builds on, besides the contract."""


def imported(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            found.add(node.module)
    return found


def test_the_core_names_no_vendor_and_no_plugin():
    words = re.compile(r"\b(claude|codex|gemini|kimi|openai|anthropic|skfolio|us_long_only)\b", re.IGNORECASE)
    for path in (ROOT / "core" / "src").rglob("*.py"):
        if path.name == "conformance.py":
            continue  # names the heavy modules that a component must not import
        text = "\n".join(line for line in path.read_text("utf-8").splitlines() if "codex" not in line.lower())
        hits = words.findall(text)
        assert not hits, f"{path.relative_to(ROOT)}: {hits[0]}"


def test_help_imports_nothing_heavy():
    code = (
        "import sys\nfrom finassay.cli.main import main\ntry:\n    main(['--help'])\nexcept SystemExit:\n    pass\n"
        "bad = [m for m in ('pydantic', 'httpx', 'pandas', 'numpy', 'rich', 'attrs', 'pluggy', 'anthropic', 'openai') if m in sys.modules]\n"
        "assert not bad, bad\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, timeout=60)


def test_listing_plugins_imports_none():
    code = (
        "import sys\nfrom finassay.cli.main import main\ntry:\n    main(['plugins'])\nexcept SystemExit:\n    pass\n"
        "bad = [m for m in sys.modules if m.startswith('finassay_') or m in ('pandas', 'numpy', 'pydantic')]\n"
        "assert not bad, bad\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, timeout=60)


def test_the_reference_is_up_to_date():
    done = subprocess.run(
        [sys.executable, "docs/generate.py", "--check"], cwd=ROOT, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stdout


def test_every_hook_dimension_and_exit_code_is_documented():
    from finassay.grading.dimensions import DIMENSIONS
    from finassay.hooks import specs

    pages = "\n".join(p.read_text("utf-8") for p in (ROOT / "docs" / "reference").glob("*.md"))
    for name in (n for n in dir(specs) if n.startswith("finassay_")):
        assert name in pages
    for dimension in DIMENSIONS:
        assert f"## {dimension.id} {dimension.title}" in pages


def test_commands_in_the_docs_exist():
    from finassay.cli.main import BUILTIN

    offered = {
        name
        for folder in DISTRIBUTIONS
        for name in tomllib.loads((folder / "pyproject.toml").read_text("utf-8"))["project"]
        .get("entry-points", {})
        .get("finassay.commands", {})
    }
    for path in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]:
        for name in re.findall(r"(?:`|\$ )finassay ([a-z]+)", path.read_text("utf-8")):
            assert name in {*BUILTIN, *offered}, f"{path.name}: finassay {name}"


def test_links_in_the_docs_lead_somewhere():
    for path in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]:
        for target in re.findall(r"\]\(([^)#:\s]+)\)", path.read_text("utf-8")):
            assert (path.parent / target).exists(), f"{path.relative_to(ROOT)}: {target}"


def test_files_stay_readable():
    long = {str(p.relative_to(ROOT)): n for p in sources() if (n := len(p.read_text("utf-8").splitlines())) > 500}
    assert not long


def test_nothing_unfinished():
    words = re.compile(r"\b(TODO|FIXME|XXX|raise NotImplementedError)\b")
    assert not [p for p in sources() if words.search(p.read_text("utf-8"))]


def test_nothing_committed_names_this_machine():
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False)
    if listed.returncode != 0:
        pytest.skip("not a git checkout")
    hosts = "|".join(("files", "pypi", "registry", "deb", "index", "security"))
    wrong = re.compile(rf"https?://(?:{hosts})\.|https?://[a-z.]+/simple\b|/{'root'}/|{re.escape(str(ROOT))}/".encode())
    for name in listed.stdout.split(b"\0"):
        path = ROOT / name.decode()
        if path.is_file() and path.suffix in (".py", ".md", ".toml", ".txt", "", ".in") and path != Path(__file__):
            assert not wrong.search(path.read_bytes()), path
