"""`finassay conform agent NAME` with the real programs, as a person calls it: through the gateway, here to the scripted model server."""

import json
import os
import subprocess
import sys

import pytest

from finassay.catalog.catalog import Catalog
from finassay_cli_kit.testing import MODEL, ModelServer, Say

PROGRAMS = {"claude-code": "claude", "codex": "codex", "gemini-cli": "gemini", "kimi-code": "kimi"}


@pytest.mark.parametrize("agent", PROGRAMS)
def test_it_conforms_through_the_gateway(agent, program, tmp_path):
    options = {"program": str(program(PROGRAMS[agent]).path), "model": MODEL}
    (upstream,) = Catalog.installed().create("agent", agent, options)[0].capabilities.upstreams
    with ModelServer(lambda request: [Say("I have read it.")]) as server:
        ways = {upstream: {"url": server.url, "key": "FINASSAY_TEST_KEY"}}
        done = subprocess.run(
            [sys.executable, "-m", "finassay.cli.main", "conform", "agent", agent]
            + [part for name, value in options.items() for part in ("-o", f"{name}={value}")]
            + ["-g", f"upstreams={json.dumps(ways)}"],
            env={**os.environ, "FINASSAY_TEST_KEY": server.key},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "ok  agent/second-turn" in done.stdout
    assert "ok  agent/diagnoses" in done.stdout
    assert {call.key for call in server.calls} == {server.key}  # the gateway's, never the token that the program has
