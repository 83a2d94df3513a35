"""Servers on this machine, and sessions with them."""

import contextlib
import os
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
import uvicorn

from finassay.api.agent import Setting, TurnContext
from finassay.api.conversation import Conversation
from finassay.api.task import Brief
from finassay_remote.agent import RemoteAgent
from finassay_remote.options import RemoteOptions

SECONDS = 30


@contextlib.contextmanager
def served(app):
    """An ASGI app on a free port; its address."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(64)
        server = uvicorn.Server(uvicorn.Config(app, log_level="critical", lifespan="off", ws="none", timeout_graceful_shutdown=1))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        try:
            until = time.monotonic() + SECONDS
            while not server.started and time.monotonic() < until:
                time.sleep(0.01)
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(SECONDS)


@contextlib.contextmanager
def example_server(*arguments, environment=()):
    """The example as people start it."""
    process = subprocess.Popen(
        [sys.executable, "-m", "finassay_remote.example", *arguments],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **dict(environment)},
    )
    try:
        line = process.stderr.readline()
        assert line.startswith("listening on "), line
        yield line.split()[-1]
    finally:
        process.terminate()
        process.communicate(timeout=SECONDS)


class Box:
    """All that a remote agent wants of a box."""

    def __init__(self, workspace: Path) -> None:
        self.workspace, self.inside = workspace, str(workspace)

    def stop(self) -> None: ...


class Session:
    """One remote agent in one workspace."""

    def __init__(self, url, workspace, history=Conversation(), **options) -> None:
        (workspace / "deliver").mkdir(parents=True, exist_ok=True)
        self.workspace, self.log = workspace, []
        self.agent = RemoteAgent(RemoteOptions(url=url, **options))
        self.agent.start(Setting(Brief("s1", "Work well.", 6, 30, ("prices",), False), Box(workspace), history))

    def send(self, text, turn=1, cut=lambda: False, seconds=20.0):
        return self.agent.send(text, TurnContext(turn, seconds, self.log.append, cut))

    @property
    def notes(self):
        return [str(e.data.get("text")) for e in self.log if e.kind == "note"]

    def files(self):
        root = self.workspace / "deliver"
        return {str(p.relative_to(root)): p.read_bytes() for p in root.rglob("*") if p.is_file()}


@pytest.fixture
def session(tmp_path):
    """Makes sessions that are finalized at the end."""
    made = []

    def make(url, name="w", **more):
        made.append(Session(url, tmp_path / name, **more))
        return made[-1]

    yield make
    for one in made:
        one.agent.finalize()


@pytest.fixture
def example():
    return example_server


@pytest.fixture
def serve():
    return served
