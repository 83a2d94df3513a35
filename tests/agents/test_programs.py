"""The programs by themselves, without an adapter."""

import json
from pathlib import Path

import pytest

PACKAGES = {
    "claude": "@anthropic-ai/claude-code",
    "codex": "@openai/codex",
    "gemini": "@google/gemini-cli",
    "kimi": "@moonshot-ai/kimi-code",
}
PINNED = json.loads((Path(__file__).parent / "package.json").read_text("utf-8"))["dependencies"]


@pytest.mark.parametrize("name", PACKAGES)
def test_the_pinned_version_starts(name, program, home):
    done = program(name).run(["--version"], home=home)
    assert done.returncode == 0, done.stderr
    assert PINNED[PACKAGES[name]] in done.stdout
