"""Sessions that were really held: the gate's record and the labels against what their users say of themselves.

`ACCOUNTS` is the users' own account (`end.my_own_slips`), sorted into our kinds by hand; `UNSEEN` is what it holds that no rule on words
can see. Where we label more than the account, the reason stands beside it in `BEYOND`.
"""

import json
import os
from pathlib import Path

import pytest

from finassay.api.errors import CatalogError, FinassayError
from finassay.api.labels import Conduct
from finassay.catalog.catalog import Catalog
from finassay.records.events import EventLog
from finassay.records.imported import item_value
from finassay.runs.folder import RunFolder
from finassay.runs.importing import import_session

SHARED = Path(os.environ.get("FINASSAY_SHARED", Path(__file__).parents[2].parent / "shared")) / "cases" / "sessions"
NAMES = ("monthly-vol-target-no-prices", "quarterly-trailing-stop", "weekly-mean-variance")
WEEKLY, QUARTERLY, MONTHLY = "weekly-mean-variance", "quarterly-trailing-stop", "monthly-vol-target-no-prices"

ACCOUNTS = {
    (MONTHLY, 0): {"hints-at-a-rule"},
    (MONTHLY, 1): {"hints-at-a-rule", "unasked-no-preference", "checklist"},
    (MONTHLY, 4): {"checklist"},
    (MONTHLY, 5): {"endorsed"},
    (QUARTERLY, 1): {"unraised-piece", "unasked-no-preference"},
    (QUARTERLY, 3): {"checklist"},
    (QUARTERLY, 4): {"checklist", "claims-a-check"},
    (WEEKLY, 1): {"hints-at-more", "improvised", "more-than-asked"},
    (WEEKLY, 2): {"more-than-asked"},
    (WEEKLY, 3): {"checklist"},
    (WEEKLY, 4): {"claims-a-check"},
}
UNSEEN = {
    (MONTHLY, 2): "praised files before it had read them",
    (MONTHLY, 3): "gave a reason that nobody asked for",
    (QUARTERLY, 0): "coloured the idea with a word of the trade",
    (QUARTERLY, 4): "invented a relative",
    (WEEKLY, 2): "said again what it had said in the opening",
}
BEYOND = {
    (MONTHLY, 6): ({"claims-a-check"}, "'tie together', where its account says that it read and did not recompute"),
    (QUARTERLY, 1): ({"endorsed"}, "'5 is fine' on the number of stocks, which the belief leaves open"),
}
CLEAN = ((WEEKLY, 0), (QUARTERLY, 2), (QUARTERLY, 5))
"""Messages of which the account has nothing to say, and our labels neither."""


@pytest.fixture(scope="module")
def held(tmp_path_factory):
    """Each session as the product imports it: its record and its sealed lines by type."""
    missing = [name for name in NAMES if not (SHARED / name / "session.json").is_file()]
    if missing:
        pytest.skip(f"needs the recorded sessions {', '.join(missing)} in {SHARED}; set FINASSAY_SHARED to the folder that holds cases/")
    catalog = Catalog.installed()
    try:
        catalog.find("grammar", "us-long-only")
    except CatalogError as error:
        pytest.skip(f"the sessions speak of the grammar us-long-only: {error}")
    found = {}
    folder = tmp_path_factory.mktemp("held")
    for name in NAMES:
        try:
            key = import_session(SHARED / name, folder / name, catalog).key
        except FinassayError as error:
            pytest.fail(f"{name} could not be imported: {error}")
        run = RunFolder(folder / name)
        lines = list(EventLog(run.session_path(key) / "sealed.jsonl").read())
        end = json.loads((SHARED / name / "session.json").read_text())["end"]
        found[name] = (run.state(key), lines, end)
    return found


def test_the_tracker_reproduces_what_was_stated_when(held):
    """S, O and every turn's items: 19 of 19 first statements in the turn that the user names, none besides."""
    agreed = 0
    for name in NAMES:
        state, lines, end = held[name]
        told: set[str] = set()
        for line in (line for line in lines if line["type"] == "disclosure"):
            account = {item_value(text)[0] for text in end["stated_by_turn"].get(str(line["turn"]), ())}
            fresh = set(line["stated"]) - told
            assert fresh == account - told, f"{name} turn {line['turn']}: we read {sorted(fresh)}, the user says {sorted(account)}"
            agreed += len(fresh)
            told |= fresh
        assert told == state.stated
    print(f"first statements in the turn that the users name: {agreed}")
    assert agreed == 19


def test_every_item_but_the_opening_ones_was_raised_by_the_agent_before_it_was_told(held):
    """Equation 2, on sessions that were held without our gate."""
    for name in NAMES:
        before: set[str] = set()
        for line in (line for line in held[name][1] if line["type"] == "disclosure"):
            fresh = set(line["stated"]) - before
            before |= fresh
            if line["turn"]:
                assert fresh <= set(line["raised"]), f"{name} turn {line['turn']}"


@pytest.mark.parametrize(
    ("name", "turn", "items"),
    [
        (MONTHLY, 2, {"risk.option:vol_target", "risk.threshold"}),  # 'the agent introduced the 10% vol target itself in a2'
        (MONTHLY, 5, {"portfolio.covariance:shrinkage"}),  # 'the agent then chose Ledoit-Wolf itself in a5'
        (QUARTERLY, 2, {"risk.option:trailing_stop", "risk.threshold", "portfolio.weighting:inverse_vol"}),  # 'guessed … and asked'
        (WEEKLY, 2, {"stock.factor:low_vol", "portfolio.covariance:sample"}),  # 'listed low volatility as an example'
    ],
)
def test_who_raised_what(held, name, turn, items):
    raised = next(line["raised"] for line in held[name][1] if line["type"] == "disclosure" and line["turn"] == turn)
    assert items <= set(raised)


def test_the_cost_that_nobody_asked_for_was_never_told(held):
    state, _, _ = held[QUARTERLY]
    assert "cost.rate" not in state.stated


def test_labels_agree_with_the_users_accounts(held):
    found = {(name, label.turn): {slip.kind for slip in label.slips} for name in NAMES for label in held[name][0].labels}
    reproduced = sum(len(kinds & found[place]) for place, kinds in ACCOUNTS.items())
    missed = {place: kinds - found[place] for place, kinds in ACCOUNTS.items() if kinds - found[place]}
    beyond = {place: kinds - ACCOUNTS.get(place, set()) for place, kinds in found.items() if kinds - ACCOUNTS.get(place, set())}
    told = sum(map(len, ACCOUNTS.values()))
    print(
        f"slips that the users tell: {told + len(UNSEEN)}; of a kind that words show {told}, labelled {reproduced}; labelled besides {beyond}"
    )
    assert missed == {}
    assert beyond == {place: kinds for place, (kinds, _) in BEYOND.items()}


def test_messages_without_a_slip_are_error_free(held):
    labels = {(name, label.turn): label.label for name in NAMES for label in held[name][0].labels}
    assert len(labels) == 18
    assert all(labels[place] is Conduct.ERROR_FREE for place in CLEAN)


def test_the_slips_that_mattered_are_critical(held):
    """Hints that the agents built on, by the accounts: three helped, and one wish of no conviction sent an agent after turnover."""
    labels = {(name, label.turn): label for name in NAMES for label in held[name][0].labels}
    critical = {place for place, label in labels.items() if label.label in (Conduct.HELPED, Conduct.HINDERED)}
    assert critical == {(MONTHLY, 0), (MONTHLY, 1), (QUARTERLY, 1), (WEEKLY, 1)}
    assert labels[WEEKLY, 1].label is Conduct.HINDERED


def test_open_record_and_sealed_record(held):
    """Beside a message stand its label and the kinds; what they were about is sealed."""
    state, _, _ = held[QUARTERLY]
    turn = state.user_turns[1]
    assert turn.label == "critical-helped"
    assert set(turn.slips) == {"unraised-piece", "unasked-no-preference", "endorsed"}
    slip = next(slip for slip in state.labels[1].slips if slip.kind == "unraised-piece")
    assert slip.items == ("risk.option:trailing_stop", "risk.threshold")
