#!/usr/bin/env python3
"""Stands in for Kimi Code: the lines are those of a run of 2.1.0 (shortened), the behaviour what the adapter relies on.

Words in the message choose what happens: OVERLOADED, LOGGED-OUT, NO-MODEL, BAD, STEPS, MUTE, HANG.
"""

import json
import os
import pathlib
import sys
import time
import uuid

if "--version" in sys.argv:
    print(os.environ.get("FAKE_VERSION", "2.1.0"))
    sys.exit(0)


def say(role, **more):
    print(json.dumps({"role": role, **more}), flush=True)


def keep(path, **entry):
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        file.write(json.dumps(entry) + "\n")


def fail(message):
    print(f"error: failed to run prompt: {message}", file=sys.stderr)
    sys.exit(1)


home = pathlib.Path(os.environ["KIMI_CODE_HOME"])
assert "mcpServers" in json.loads((home / "mcp.json").read_text())
heard = sys.argv[1].removeprefix("--prompt=")
session = sys.argv[sys.argv.index("-S") + 1] if "-S" in sys.argv else f"session_{uuid.uuid4()}"
folder = home / "sessions" / "wd_x" / session
wire = folder / "agents" / "main" / "wire.jsonl"
if "-S" in sys.argv and not folder.exists():
    print(f'error: failed to run prompt: Session "{session}" not found.', file=sys.stderr)
    sys.exit(1)
if "-S" not in sys.argv:
    keep(home / "session_index.jsonl", sessionId=session, sessionDir=str(folder), workDir=os.getcwd())
keep(wire, type="turn.prompt", text=heard)
turns = sum('"turn.prompt"' in line for line in wire.read_text().splitlines())

say("meta", type="system.version", version="2.1.0")
if "MUTE" in heard:
    sys.exit(0)
if "OVERLOADED" in heard:
    say("meta", type="turn.step.retrying", failed_attempt=1, max_attempts=2, delay_ms=5, status_code=529, error_name="APIStatusError")
    fail("provider.overloaded: 529 The model is overloaded.")
if "NOWHERE" in heard:
    fail("provider.connection_error: Connection error.")
if "LOGGED-OUT" in heard:
    fail("provider.auth_error: 401 Scripted error 401.")
if "NO-MODEL" in heard:
    fail("provider.api_error: 404 The model does not exist.")
if "BAD" in heard:
    fail("provider.api_error: 400 Scripted error 400.")
if "STEPS" in heard:
    fail("loop.max_steps_exceeded: the turn took more than 3 steps")
if "RETRIED" in heard:
    broken = {"type": "content.part", "stepUuid": "u0", "part": {"type": "text", "text": "This is bro"}}
    keep(wire, type="context.append_loop_event", event=broken)
used = {"inputOther": 50, "inputCacheRead": 40, "inputCacheCreation": 10, "output": 5}
keep(wire, type="usage.record", model="m", usage=used)
write = {"name": "Write", "arguments": json.dumps({"path": "deliver/note.md", "content": "note"})}
said = {"type": "content.part", "stepUuid": "u1", "part": {"type": "text", "text": "I write it down."}}
keep(wire, type="context.append_loop_event", event=said)
call = {"type": "tool.call", "stepUuid": "u1", "toolCallId": "c1", "name": "Write", "args": {"path": "deliver/note.md"}}
keep(wire, type="context.append_loop_event", event=call)
if "HANG" in heard:  # a step is told on standard output only at its end
    pathlib.Path("hanging").touch()
    time.sleep(60)
say("assistant", content="I write it down.", tool_calls=[{"type": "function", "id": "c1", "function": write}])
pathlib.Path("deliver/note.md").write_text("note")
say("tool", tool_call_id="c1", content="Wrote 4 bytes to deliver/note.md")
shell = {"name": "Bash", "arguments": "not json"}
price = {"name": "mcp__price__get_price", "arguments": '{"symbol": "AAA"}'}
say("assistant", tool_calls=[{"id": "c2", "function": shell}, {"id": "c3", "function": price}])
say("tool", tool_call_id="c2", content=[{"type": "text", "text": "oops"}, {"type": "image"}])
say("tool", tool_call_id="c3", content='{"close": 1.5}')
keep(wire, type="usage.record", model="m", usage=used)
long = len((home / "prompt.md").read_text()) if heard.startswith("Read the whole file") else len(heard)
say("assistant", content=f"Turn {turns}: {long} characters, key {os.environ.get('KIMI_MODEL_API_KEY', 'none')}.")
say("meta", type="session.resume_hint", session_id=session, command=f"kimi -r {session}", content="To resume this session: …")
