"""Wheels, built and installed alone into fresh environments: the core, the core with one adapter, a stranger's plugin from the template."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
UV = Path(sys.prefix) / "bin" / "uv"
pytestmark = pytest.mark.skipif(not UV.exists(), reason="uv is not in this environment (make brings it)")


def run(*command: object, cwd: Path = ROOT, ok: bool = True) -> str:
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV", "COVERAGE_PROCESS_START")}
    done = subprocess.run([str(c) for c in command], cwd=cwd, capture_output=True, text=True, timeout=280, env=environment, check=False)
    assert (done.returncode == 0) == ok, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.fixture(scope="session")
def wheelhouse(tmp_path_factory) -> Path:
    """Wheels of the core and what an adapter needs."""
    folder = tmp_path_factory.mktemp("wheels")
    for source in ("core", "adapters/cli-kit", "plugins/sandbox-local", "plugins/reference"):
        run(UV, "build", "--quiet", "--wheel", "--out-dir", folder, source)
    return folder


def environment(folder: Path, wheelhouse: Path, *packages: object) -> Path:
    """A fresh environment with these packages from wheels; what they depend on comes pinned from the index."""
    run(UV, "venv", "--quiet", "--python", sys.executable, folder)
    run(
        UV,
        "pip",
        "install",
        "--quiet",
        "--python",
        folder / "bin" / "python",
        "-c",
        ROOT / "constraints.txt",
        "--find-links",
        wheelhouse,
        *packages,
    )
    return folder / "bin"


def test_the_core_alone(tmp_path, wheelhouse):
    programs = environment(tmp_path / "venv", wheelhouse, "finassay")
    assert "nothing is installed" in run(programs / "finassay", "plugins")
    assert "Commands:" in run(programs / "finassay", "--help")
    said = run(programs / "finassay", "tasks", "sample", "--grammar", "us-long-only", "--out", tmp_path / "t", ok=False)
    assert "no distribution with a grammar is installed" in said
    assert "Traceback" not in said
    code = "from finassay.testing.samples import sample_task; from finassay.grading.dimensions import DIMENSIONS; print(len(DIMENSIONS), sample_task().id)"
    assert run(programs / "python", "-c", code).startswith("45 sample-0")


def test_the_core_with_one_adapter(tmp_path, wheelhouse):
    programs = environment(tmp_path / "venv", wheelhouse, "finassay", "finassay-cli-kit", "finassay-sandbox-local")
    listed = run(programs / "finassay", "plugins", "--check")
    assert "sandbox local" in listed
    assert "broken" not in listed


def test_a_strangers_plugin_from_the_template(tmp_path, wheelhouse):
    """Made with `finassay new`, built as a wheel, installed beside the core's wheel alone: listed, and conforming."""
    programs = environment(tmp_path / "venv", wheelhouse, "finassay")
    for kind, name in (
        ("persona", "stranger"),
        ("check", "counting"),
        ("judge", "wordy"),
        ("channel", "ftp"),
        ("model", "parrot"),
        ("guidance", "desk"),
    ):
        run(programs / "finassay", "new", kind, name, "--out", tmp_path, cwd=tmp_path)
        run(UV, "build", "--quiet", "--wheel", "--out-dir", tmp_path / "dist", tmp_path / name)
        wheel = next((tmp_path / "dist").glob(f"*{name}*.whl"))
        run(UV, "pip", "install", "--quiet", "--python", programs / "python", wheel)
        assert name in run(programs / "finassay", "plugins")
        result = run(programs / "finassay", "conform", kind, name)
        assert "FAILS" not in result
        assert result.count("ok") >= 6


def test_a_strangers_agent_from_the_template(tmp_path, wheelhouse):
    """The same for an agent, which needs a sandbox to be tried in."""
    programs = environment(tmp_path / "venv", wheelhouse, "finassay", "finassay-cli-kit", "finassay-sandbox-local")
    run(programs / "finassay", "new", "agent", "foo", "--out", tmp_path, cwd=tmp_path)
    run(UV, "build", "--quiet", "--wheel", "--out-dir", tmp_path / "dist", tmp_path / "foo")
    run(UV, "pip", "install", "--quiet", "--python", programs / "python", next((tmp_path / "dist").glob("*.whl")))
    assert "foo" in run(programs / "finassay", "plugins", "agents")
    assert "FAILS" not in run(programs / "finassay", "conform", "agent", "foo")


def test_the_adapter_of_the_howto_conforms_from_its_wheel(tmp_path, wheelhouse):
    """docs/howto/write-an-adapter.md, followed to the letter."""
    programs = environment(tmp_path / "venv", wheelhouse, "finassay", "finassay-cli-kit", "finassay-sandbox-local", "pytest")
    run(programs / "finassay", "new", "agent", "scribe", "--out", tmp_path, cwd=tmp_path)
    (tmp_path / "scribe" / "src" / "finassay_scribe" / "program.py").unlink()
    page = (ROOT / "docs" / "howto" / "write-an-adapter.md").read_text("utf-8")
    blocks = re.findall(r"^```python\n((?:#![^\n]*\n)?# (\S+)\n.*?)^```$", page, re.DOTALL | re.MULTILINE)
    assert {path for _, path in blocks} == {"src/finassay_scribe/agent.py", "tests/scribe", "tests/test_finassay_scribe.py"}
    for text, path in blocks:
        (tmp_path / "scribe" / path).write_text(text, "utf-8")
    (tmp_path / "scribe" / "tests" / "scribe").chmod(0o755)
    run(UV, "build", "--quiet", "--wheel", "--out-dir", tmp_path / "dist", tmp_path / "scribe")
    run(UV, "pip", "install", "--quiet", "--python", programs / "python", next((tmp_path / "dist").glob("*.whl")))
    assert "4 passed" in run(programs / "python", "-m", "pytest", "-p", "no:cacheprovider", "tests", cwd=tmp_path / "scribe")


QUERY = "Report interest coverage of Orchard Toolworks Inc. for fiscal 2022. Report the debt to equity ratio of Orchard Toolworks Inc. for fiscal 2022."
MAKE_CORPUS = """
import json, sys
from pathlib import Path
from finassay.testing.research import BALANCE, CASH, COVER, INCOME
folder = Path(sys.argv[1])
folder.mkdir()
balance = BALANCE.replace("Accrued liabilities 280.4 266.1", "Accrued liabilities 220.4 206.1\\nShort-term borrowings 60.0 60.0")
pages = [{"page": n, "text": t} for n, t in enumerate((COVER, INCOME, balance, CASH), start=1)]
(folder / "orchard-2022.jsonl").write_text("".join(json.dumps(p) + "\\n" for p in pages))
row = {"doc_name": "orchard-2022", "company": "Orchard Toolworks Inc.", "form": "10-K", "period": "2022", "signed": "2022-11-18"}
(folder / "documents.jsonl").write_text(json.dumps(row) + "\\n")
"""


@pytest.mark.skipif(shutil.which("bwrap") is None, reason="scripts of rubrics run in bubblewrap, which is not here")
def test_an_institutions_guidance_from_its_wheel_changes_what_is_generated_and_rejects(tmp_path):
    """A rubric made before and after a credit desk's pack is installed: other routes come first, and leverage without its treatment comes back."""
    wheels = tmp_path / "wheels"
    shelves = (
        "core",
        *(
            f"plugins/{n}"
            for n in ("sandbox-local", "sandbox-bubblewrap", "agree", "rubrics", "statements-a", "statements-b", "source-corpus")
        ),
    )
    for source in (*shelves, "plugins/guidance-credit"):
        run(UV, "build", "--quiet", "--wheel", "--out-dir", wheels, source)
    names = ("finassay", *(f"finassay-{n}" for n in ("sandbox-bubblewrap", "rubrics", "statements-a", "statements-b", "source-corpus")))
    programs = environment(tmp_path / "venv", wheels, *names)
    run(programs / "python", "-c", MAKE_CORPUS, tmp_path / "corpus", cwd=tmp_path)

    def made(out: str, *packs: str, ok: bool = True) -> str:
        options = [part for pack in ("general", *packs) for part in ("--guidance", pack)]
        command = (programs / "finassay", "rubric", "generate", QUERY, "--cutoff", "2023-03-01", *options)
        return run(*command, "--source", f"corpus:{tmp_path / 'corpus'}", "--out", tmp_path / out, cwd=tmp_path, ok=ok)

    assert "credit" in made("none", "credit", ok=False)  # not installed: said, not passed over
    made("before")
    run(UV, "pip", "install", "--quiet", "--python", programs / "python", next(wheels.glob("finassay_guidance_credit*.whl")))
    assert "FAILS" not in run(programs / "finassay", "conform", "guidance", "credit")
    told = made("after", "credit")

    before, after = (json.loads((tmp_path / name / "rubric.json").read_text()) for name in ("before", "after"))
    assert after["guidance"] == ["general+credit 1+1"]
    routes = [[route["route_id"] for route in rubric["criteria"][0]["expected"]] for rubric in (before, after)]
    assert routes == [["ebit", "ebitda"], ["ebitda", "ebit"]]
    assert [rubric["criteria"][1]["status"] for rubric in (before, after)] == ["grounded", "unresolved"]
    assert "CR-R1" in (tmp_path / "after" / "violations.jsonl").read_text()
    assert "CR-R1" not in "".join(p.read_text() for p in (tmp_path / "before").glob("violations.jsonl"))
    assert "how it treats leases" in told


DESK_RULE = """
def covenant_named(product: Mapping[str, Json]) -> tuple[Violation, ...]:
    rows = product.get("criteria")
    return tuple(
        Violation("desk-R2", f"criterion {row.get('id')}", "names no covenant")
        for row in (rows if isinstance(rows, list) else ())
        if isinstance(row, Mapping) and row.get("status") != "unresolved" and "debt" in str(row.get("text")) and "covenant" not in str(row)
    )


GUIDANCE = Guidance("""


@pytest.mark.skipif(shutil.which("bwrap") is None, reason="scripts of rubrics run in bubblewrap, which is not here")
def test_a_strangers_guidance_from_the_template_changes_rubrics_and_sessions(tmp_path):
    """`finassay new guidance`, filled in, as a wheel beside the others: its convention comes first, its rule rejects, its question is put to sessions."""
    wheels, plugins = tmp_path / "wheels", ("sandbox-local", "sandbox-bubblewrap", "agree", "rubrics", "statements-a", "statements-b")
    plugins += ("source-corpus", "reference", "judge-lexical", "simulator-policy", "checks")
    others = ("core", "adapters/cli-kit", "grammars/us-long-only", "personas/investors")
    for source in (*others, *(f"plugins/{name}" for name in plugins)):
        run(UV, "build", "--quiet", "--wheel", "--out-dir", wheels, source)
    names = (*(f"finassay-{name}" for name in plugins), "finassay", "finassay-us-long-only", "finassay-investors")
    programs = environment(tmp_path / "venv", wheels, *names)
    finassay = programs / "finassay"
    run(programs / "python", "-c", MAKE_CORPUS, tmp_path / "corpus", cwd=tmp_path)

    def generated(out: str, *packs: str, ok: bool = True) -> str:
        options = [part for pack in packs for part in ("--guidance", pack)]
        where = ("--source", f"corpus:{tmp_path / 'corpus'}", "--out", tmp_path / out)
        return run(finassay, "rubric", "generate", QUERY, "--cutoff", "2023-03-01", *where, *options, cwd=tmp_path, ok=ok)

    generated("before")
    assert "no guidance 'desk'" in generated("none", "general", "desk", ok=False)
    run(finassay, "new", "guidance", "desk", "--out", tmp_path, cwd=tmp_path)
    module = tmp_path / "desk" / "src" / "finassay_guidance_desk" / "guidance.py"
    text = module.read_text("utf-8")
    for old, new in (
        ('("ebit", "ebitda")', '("ebitda", "ebit")'),
        ("GUIDANCE = Guidance(", DESK_RULE.lstrip("\n")),
        ("unit_named),)", 'unit_named), Rule("desk-R2", "rubric", "ratios of debt name their covenant", covenant_named))'),
    ):
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    module.write_text(text, "utf-8")
    run(UV, "build", "--quiet", "--wheel", "--out-dir", tmp_path / "dist", tmp_path / "desk")
    run(UV, "pip", "install", "--quiet", "--python", programs / "python", next((tmp_path / "dist").glob("*.whl")))
    assert "FAILS" not in run(finassay, "conform", "guidance", "desk")
    told = generated("after", "general", "desk")

    before, after = (json.loads((tmp_path / name / "rubric.json").read_text("utf-8")) for name in ("before", "after"))
    assert after["guidance"] == ["general+desk 1+1"]
    routes = [[route["route_id"] for route in rubric["criteria"][0]["expected"]] for rubric in (before, after)]
    assert routes == [["ebit", "ebitda"], ["ebitda", "ebit"]]
    assert [[c["status"] for c in rubric["criteria"]] for rubric in (before, after)] == [
        ["grounded", "grounded"],
        ["grounded", "unresolved"],
    ]
    assert "rule desk-R2: criterion O2.1: names no covenant" in told
    assert "desk-R2" in (tmp_path / "after" / "violations.jsonl").read_text("utf-8")

    samples = ("--grammar", "us-long-only", "--seeds", "0-0", "--needs", "prices", "--channel", "embedded-market")
    run(finassay, "tasks", "sample", *samples, "--out", tmp_path / "tasks", cwd=tmp_path)
    for name, options in (("plain", ()), ("guided", ("--guidance", "desk"))):
        run(
            finassay, "run", "--agent", "reference", "--tasks", tmp_path / "tasks", "--sessions", "1", "--out", name, *options, cwd=tmp_path
        )
    asked = [[row["graded"]["dimension"] for row in _card(tmp_path / name).get("reported", ())] for name in ("plain", "guided")]
    assert asked == [[], ["units-told"]]


def _card(folder: Path) -> dict:
    (grading,) = folder.glob("sessions/*/gradings/*.json")
    return json.loads(grading.read_text("utf-8"))["scorecard"]
