"""What the README shows works as it stands."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from finassay.api.model import ChatMessage, ChatRequest
from finassay_models_mailbox.model import MailboxModel, MailboxOptions

README = (Path(__file__).parents[1] / "README.md").read_text("utf-8")
PROGRAM = "#!/bin/sh\nprintf 'I have read: '\ngrep -c 'What do you want' -\n"


def block(language):
    return re.search(rf"```{language}\n(.*?)```", README, re.DOTALL)[1]


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (["sh", "-c", block("sh").replace("sleep 1", "sleep 0.1")], "I have read: 1"),
        ([sys.executable, "-c", block("python").replace("sleep(1)", "sleep(0.1)")], "You said: What do you want?"),
    ],
    ids=["shell", "python"],
)
def test_programs_that_answer(tmp_path, command, expected):
    for name in ("requests", "answers"):
        (tmp_path / "mailbox" / "investor" / name).mkdir(parents=True)
    program = tmp_path / "bin" / "my-model"
    program.parent.mkdir()
    program.write_text(PROGRAM)
    program.chmod(0o755)
    environment = {**os.environ, "PATH": f"{program.parent}:{os.environ['PATH']}"}
    answering = subprocess.Popen(command, cwd=tmp_path, env=environment, start_new_session=True, stderr=subprocess.DEVNULL)
    try:
        model = MailboxModel(MailboxOptions(name="investor", folder=str(tmp_path / "mailbox"), timeout=20, poll=0.02))
        for number in range(2):
            request = ChatRequest((ChatMessage("user", "What do you want?"),), repeat=number)
            assert model.complete(request).text == expected
    finally:
        os.killpg(answering.pid, signal.SIGKILL)
        answering.wait(10)
