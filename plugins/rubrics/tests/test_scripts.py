"""Scripts that compute values: what is refused before they run, what the sandbox stops, and that they can be run again."""

import pytest

from finassay.api.research import ScriptError
from finassay.catalog.catalog import Catalog
from finassay.runs.build import best_sandbox
from finassay.runs.coderunner import SandboxCodeRunner
from finassay.runs.interpreter import interpreter_folders
from finassay_rubrics.generate.scripts import ScriptRunner, again, script_problems

GOOD = "import json, sys\nx = json.load(sys.stdin)\nprint(json.dumps({'margin': 100 * x['income'] / x['revenue']}))\n"


@pytest.fixture(scope="module")
def runner(tmp_path_factory):
    catalog = Catalog.installed()
    sandbox, _ = catalog.create("sandbox", best_sandbox(catalog))
    runs = SandboxCodeRunner(sandbox, interpreter_folders(), {}, tmp_path_factory.mktemp("scripts"))
    yield ScriptRunner(runs, seconds=5)
    runs.close()


def test_a_script_is_run_and_gives_the_same_again(runner):
    script = runner.run(GOOD, {"income": 1, "revenue": 8})
    assert script.output == {"margin": 12.5}
    assert again(script, {"income": 1, "revenue": 8}, runner.run) == ""
    assert again(script, {"income": 2, "revenue": 8}, runner.run) == "the script gives another output now"


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("x = 86392", "holds the figure 86392"),
        ("x = '86,392'", "holds the figure '86,392'"),
        ("x = -3.7", "holds the figure 3.7"),
        ("import os", "imports os"),
        ("from socket import socket", "imports socket"),
        ("open('x')", "uses open"),
        ("().__class__", "uses __class__"),
        ("x = (", "is no Python"),
        ("x = 1\n" * 20_000, "is longer than"),
        ("(" * 5_000 + ")" * 5_000, "is no Python"),
    ],
)
def test_what_no_script_may_hold(code, said):
    assert any(said in problem for problem in script_problems(code))


def test_formulas_hold_their_own_constants():
    assert script_problems("x = 365 * (a + b) / 2 / c * 100") == []


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("while True: pass", "ran longer than 5 s"),
        ("raise SystemExit(2)", "exit code 2"),
        ("print('nothing')", "printed no JSON"),
        ("print([])", "printed no JSON object"),
        ("import json, sys\nx = json.load(sys.stdin)['missing']", "KeyError"),
    ],
)
def test_a_script_that_fails_says_how(runner, code, said):
    with pytest.raises(ScriptError, match=said):
        runner.run(code, {})
