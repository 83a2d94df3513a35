"""The two offline families share definitions and the contract, and nothing that reads filings; no table knows a company."""

import ast
import json
import re
from pathlib import Path

import pytest

PLUGINS = Path(__file__).parents[2]
FAMILIES = {"statements-a": "finassay_statements_a", "statements-b": "finassay_statements_b"}
DATA = PLUGINS.parents[1] / "shared" / "data" / "financebench" / "documents.jsonl"
ALLOWED = re.compile(r"(finassay\.api|finassay_rubrics\.metrics)(\.|$)")


def sources(family):
    folder = PLUGINS / family / "src"
    if not folder.is_dir():
        pytest.skip("this distribution was copied out without the families")
    return sorted(folder.rglob("*.py"))


def imports(path):
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


@pytest.mark.parametrize("family", FAMILIES)
def test_a_family_imports_the_contract_and_the_definitions_only(family):
    own = FAMILIES[family]
    for path in sources(family):
        for module in imports(path):
            if module.startswith("finassay"):
                assert ALLOWED.match(module) or module.split(".")[0] == own, f"{path.name} imports {module}"


def test_the_definitions_read_no_filing():
    """What both share may know questions and formulas: nothing in it opens a page's text, but for handing documents to a reader."""
    for path in (PLUGINS / "rubrics" / "src" / "finassay_rubrics" / "metrics").glob("*.py"):
        assert "page.text" not in path.read_text("utf-8"), path.name
        assert ".pages" not in path.read_text("utf-8"), path.name


def functions(family):
    for path in sources(family):
        if path.name == "researcher.py":
            continue  # the component's frame is the same by contract
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.FunctionDef) and len(node.body) > 2:
                yield ast.dump(ast.Module(node.body[1:], []))


def test_no_function_is_copied():
    assert not set(functions("statements-a")) & set(functions("statements-b"))


def test_no_company_is_named():
    if not DATA.is_file():
        pytest.skip("the question set with its companies is not here")
    names = {json.loads(line)["company"].lower() for line in DATA.read_text("utf-8").splitlines()}
    own = (PLUGINS / "rubrics" / "src" / "finassay_rubrics" / "metrics", PLUGINS / "rubrics" / "src" / "finassay_rubrics" / "measure")
    files = [p for folder in (*own, *(PLUGINS / f / "src" for f in FAMILIES)) for p in folder.rglob("*") if p.suffix in (".py", ".toml")]
    assert len(files) > 15
    for path in files:
        text = path.read_text("utf-8").lower()
        found = [name for name in names if re.search(rf"\b{re.escape(name)}\b", text)]
        assert not found, f"{path.name}: {found}"
