#!/usr/bin/env python3
"""Stands in for Codex CLI: the lines are those of a run of 0.171.0 (shortened), the behaviour what the adapter relies on.

Words in the message choose what happens: OVERLOADED, LOGGED-OUT, NO-MODEL, BAD, MUTE, HANG.
"""

import json
import os
import pathlib
import sys
import time
import uuid


def say(kind, **more):
    print(json.dumps({"type": kind, **more}), flush=True)


def fail(message):
    say("error", message=message)
    say("turn.failed", error={"message": message})
    sys.exit(1)


def item(kind, id, what, **more):
    say(f"item.{kind}", item={"id": id, "type": what, **more})


if "--version" in sys.argv:
    print("codex-cli " + os.environ.get("FAKE_VERSION", "0.171.0"))
    sys.exit(0)

home = pathlib.Path(os.environ["CODEX_HOME"])
if not home.is_dir():
    print(f"Error finding codex home: CODEX_HOME points to {str(home)!r}, but that path does not exist", file=sys.stderr)
    sys.exit(1)
heard = sys.stdin.buffer.read().decode()
assert sys.argv[1] == "exec"
assert sys.argv[-1] == "-"
thread = sys.argv[sys.argv.index("resume") + 1] if "resume" in sys.argv else str(uuid.uuid4())
rollout = home / "sessions" / f"rollout-{thread}.jsonl"
if "resume" in sys.argv and not rollout.exists():
    print(f"Error: thread/resume: thread/resume failed: no rollout found for thread id {thread} (code -32600)", file=sys.stderr)
    sys.exit(1)
rollout.parent.mkdir(exist_ok=True)
with rollout.open("a") as file:
    file.write(json.dumps(heard) + "\n")
turns = len(rollout.read_text().splitlines())

say("thread.started", thread_id=thread)
item("completed", "item_0", "error", message="Model metadata for `m` not found. Defaulting to fallback metadata.")
say("turn.started")
if "HANG" in heard:
    item("completed", "item_1", "agent_message", text="Still at it.")
    time.sleep(60)
if "MUTE" in heard:
    sys.exit(0)
if "OVERLOADED" in heard:
    say("error", message="Reconnecting... 1/1 (We're currently experiencing high demand, which may cause temporary errors.)")
    fail("We're currently experiencing high demand, which may cause temporary errors.")
if "LOGGED-OUT" in heard:
    fail("unexpected status 401 Unauthorized: Scripted error 401., url: http://127.0.0.1:45251/v1/responses")
if "NO-MODEL" in heard:
    fail("The model 'm' does not exist.")
if "BAD" in heard:
    fail('{"error": {"message": "Scripted error 400.", "type": "invalid_request_error"}}')
item("completed", "item_1", "agent_message", text="I write it down.")
shell = {"command": "/bin/bash -c 'echo note > deliver/note.md; false'"}
item("started", "item_2", "command_execution", **shell, aggregated_output="", exit_code=None, status="in_progress")
pathlib.Path("deliver/note.md").write_text("note")
item("completed", "item_2", "command_execution", **shell, aggregated_output="oops\n", exit_code=1, status="failed")
call = {"server": "price", "tool": "get_price", "arguments": {"symbol": "AAA"}}
item("started", "item_3", "mcp_tool_call", **call, result=None, error=None, status="in_progress")
found = {"content": [{"type": "text", "text": '{"close": 1.5}'}], "structured_content": None}
item("completed", "item_3", "mcp_tool_call", **call, result=found, error=None, status="completed")
item("completed", "item_4", "mcp_tool_call", **call, result=None, error={"message": "user cancelled"}, status="failed")
item("completed", "item_5", "agent_message", text=f"Turn {turns}: {len(heard)} characters, key {os.environ.get('FINASSAY_TOKEN', 'none')}.")
counts = {"input_tokens": 100 * turns, "cached_input_tokens": 40 * turns, "output_tokens": 9 * turns, "reasoning_output_tokens": 3 * turns}
say("turn.completed", usage=counts)
