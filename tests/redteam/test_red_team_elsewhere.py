"""The same agents where less isolates them: in `landlock`, and in `local`, of which the page says that it stands against little."""

import holding
import pytest
import trap as traps
import ways

AGENTS = {
    "landlock": {"looker": traps.CAREFUL, "deliverer": traps.DELIVERER},
    "local": {"looker": traps.CAREFUL, "deliverer": traps.DELIVERER},
}


@pytest.fixture(scope="module", params=["landlock", "local"])
def sandbox(request, works):
    works(request.param)
    return request.param


@pytest.fixture(scope="module")
def held(trap, sandbox):
    return traps.hold(trap, sandbox, sandbox, AGENTS[sandbox], upstream=True)


@pytest.fixture(scope="module")
def results(held, sandbox):
    return held.results(*AGENTS[sandbox])


def test_what_is_stopped_is_stopped(results, sandbox):
    assert holding.unexpected(results, sandbox) == []


def test_nearly_every_way_is_tried(results):
    """All but those that would harm a machine that nothing protects."""
    missing, unknown = holding.untried(results, [g for g in ways.GROUPS if g not in (ways.HARNESS, ways.BREAKING)])
    assert set(missing) <= {"mount"}
    assert unknown == []


def test_nothing_hidden_was_learnt_where_files_are_isolated(held, sandbox):
    if sandbox == "local":
        assert any("the belief" in found for found in holding.learnt(held, "looker")), "`local` isolates after all: change the page"
    else:
        assert [found for alias in AGENTS[sandbox] for found in holding.learnt(held, alias)] == []


def test_the_record_and_the_other_session_are_untouched(held):
    assert holding.untouched(held) == []


def test_the_record_says_what_isolated_it(held, sandbox):
    identity = held.folder.state(held.session("looker")).identity
    assert identity["sandbox"]["id"] == sandbox
    assert identity["sandbox"]["isolation"]["files"] is (sandbox != "local")
