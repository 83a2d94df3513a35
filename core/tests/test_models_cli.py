"""What the command line says of models: whether keys are there, a tiny call, what conforms; and that help stays quick."""

import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import pytest
from scripted_models import scripted_catalog

from finassay.api.credentials import credential, credential_source
from finassay.api.errors import ProviderRefusedError
from finassay.api.model import ChatReply
from finassay.api.usage import Usage
from finassay.catalog.catalog import Catalog
from finassay.cli.main import main
from finassay.config.settings import load_settings
from finassay.testing.conformance import run_conformance

KEY = "sk-planted-0123456789abcdef"
READY = ChatReply("ready", "stop", "m-exact", usage=Usage(12, 0, 3))


@pytest.fixture
def finassay(monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)

    def call(catalog: Catalog, *arguments: str) -> tuple[int, str]:
        monkeypatch.setattr(Catalog, "installed", classmethod(lambda cls: catalog))
        code: Any
        try:
            code = main(list(arguments))
        except SystemExit as stop:
            code = stop.code
        out, err = capsys.readouterr()
        return int(code or 0), out + err

    return call


def test_doctor_says_whether_a_key_is_there(finassay, monkeypatch):
    catalog, asked = scripted_catalog(READY, credentials=("ONE_KEY", "OTHER_KEY"))
    code, said = finassay(catalog, "doctor", "--models")
    assert (code, said.splitlines()[0]) == (0, "--  model scripted: no key  (set ONE_KEY or OTHER_KEY, or keep it in a keyring)")
    monkeypatch.setenv("OTHER_KEY", KEY)
    code, said = finassay(catalog, "doctor", "--models")
    assert (code, said) == (0, "ok  model scripted: a key is there: OTHER_KEY in the environment\n1 ok; nothing to mend\n")
    catalog, asked = scripted_catalog(READY)
    assert finassay(catalog, "doctor", "--models") == (0, "ok  model scripted: needs no key\n1 ok; nothing to mend\n")
    assert asked == []
    assert "no provider is installed" in finassay(Catalog([]), "doctor", "--models")[1]


def test_doctor_makes_one_tiny_call(finassay):
    catalog, asked = scripted_catalog(READY)
    code, said = finassay(catalog, "doctor", "--call", "scripted/m", "-o", "effort=low")
    assert code == 0
    assert "answered as m-exact (family scripted)" in said
    assert "stop, 12 tokens in, 3 out, cost unknown" in said
    assert len(asked) == 1


def test_doctor_tells_a_call_that_failed_without_the_key(finassay, monkeypatch):
    monkeypatch.setenv("ONE_KEY", KEY)
    catalog, _ = scripted_catalog(ProviderRefusedError(f"401: wrong key {KEY}", hint="Set ONE_KEY."), credentials=("ONE_KEY",))
    code, said = finassay(catalog, "doctor", "--call", "scripted/m")
    assert code == 1
    assert "wrong key [redacted]" in said
    assert KEY not in said
    code, said = finassay(scripted_catalog(ChatReply("", "refusal", "m"))[0], "doctor", "--call", "scripted/m")
    assert code == 1
    assert "refusal" in said
    assert finassay(catalog, "doctor", "--call", "scripted")[0] == 2
    assert finassay(catalog, "doctor", "--call", "nobody/m")[0] == 4


def test_a_key_may_lie_in_a_keyring(monkeypatch):
    kept = {("finassay", "ONE_KEY"): KEY}
    keyring = types.ModuleType("keyring")
    keyring.get_password = lambda service, name: kept.get((service, name))  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "keyring", keyring)
    assert credential(("NONE_KEY", "ONE_KEY")) == KEY
    assert credential_source(("ONE_KEY",)) == "ONE_KEY in the keyring"
    monkeypatch.setenv("NONE_KEY", "other")
    assert credential(("ONE_KEY", "NONE_KEY")) == "other", "the environment comes first"
    assert credential(("NOBODY_KEY",)) is None

    def locked(service: str, name: str) -> str:
        raise RuntimeError("locked")

    keyring.get_password = locked  # type: ignore[attr-defined]
    assert credential(("ONE_KEY",)) is None


def test_without_a_keyring_there_is_the_environment(monkeypatch):
    monkeypatch.setitem(sys.modules, "keyring", None)
    assert credential(("ONE_KEY",)) is None
    monkeypatch.setenv("ONE_KEY", f"  {KEY}\n")
    assert credential(("ONE_KEY",)) == KEY


def conforms(**more: Any) -> dict[str, bool]:
    catalog, _ = scripted_catalog(READY, **more)
    return {r.id: r.ok for r in run_conformance(catalog, "model", "scripted", {"name": "m"}) if r.id.startswith("model/")}


def test_conformance_of_a_provider(monkeypatch):
    assert set(conforms(credentials=("ONE_KEY",)).values()) == {True}
    assert not conforms(credentials="ONE_KEY")["model/says-where-its-key-is"]
    assert not conforms(family="GPT")["model/names-itself"]
    assert not conforms(capabilities=None)["model/names-itself"]
    monkeypatch.setenv("ONE_KEY", KEY)
    assert not conforms(credentials=("ONE_KEY",), __repr__=lambda self: KEY)["model/hides-its-key"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("budget_usd = 0", "budget_usd"),
        ("budget_usd = inf", "budget_usd"),
        ("[run.models.p]\nconcurrency = 0", "concurrency"),
        ("[run.models.p]\npatience_seconds = -1", "patience_seconds"),
        ("[run.models.p.prices.m]\ninput = 1", "output"),
        ("[run.models.p.prices.m]\ninput = -1\noutput = 1", "input"),
        ("models = 3", "models"),
    ],
)
def test_settings_of_models_are_checked(tmp_path, text, says):
    from finassay.api.errors import UsageError

    (tmp_path / "finassay.toml").write_text(f"[run]\n{text}\n")
    with pytest.raises(UsageError, match=says):
        load_settings({"agents": ["x"]}, folder=tmp_path, environment={})


def test_options_of_a_provider_stand_beside_what_the_core_does(tmp_path: Path):
    (tmp_path / "finassay.toml").write_text("[run.models.p]\nconcurrency = 2\neffort = 'low'\n")
    settings = load_settings({"agents": ["x"], "budget_usd": 2.5}, folder=tmp_path, environment={}).run
    assert settings.models["p"].concurrency == 2
    assert settings.models["p"].options == {"effort": "low"}
    assert settings.budget_usd == 2.5
    again = type(settings).model_validate(settings.model_dump(mode="json"))
    assert again == settings


def test_help_and_runs_without_models_import_none_of_it():
    code = (
        "import sys\nfrom finassay.cli.main import main\ntry:\n    main(['--help'])\nexcept SystemExit:\n    pass\n"
        "import finassay.runs.build, finassay.runs.execute, finassay.runs.view\n"
        "bad = [m for m in ('tenacity', 'jsonschema', 'genai_prices', 'keyring', 'httpx', 'httpx2', 'referencing') if m in sys.modules]\n"
        "assert not bad, bad\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, timeout=60)
