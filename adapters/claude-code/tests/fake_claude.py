#!/usr/bin/env python3
"""Stands in for Claude Code: the lines are those of a run of 2.1.332 (shortened), the behaviour what the adapter relies on.

Words in the message choose what happens: OVERLOADED, LOGGED-OUT, OFFLINE, LIMIT, DENIED, MUTE, HANG.
"""

import json
import os
import pathlib
import sys
import time

USAGE = {"input_tokens": 100, "cache_creation_input_tokens": 20, "cache_read_input_tokens": 30, "output_tokens": 7}
COST = 0.25


def say(**line):
    print(json.dumps(line), flush=True)


def assistant(number, block, usage=None):
    message = {"id": f"msg_{number:06}", "role": "assistant", "content": [block], "usage": {**USAGE, "output_tokens": 1, **(usage or {})}}
    say(type="assistant", message=message, parent_tool_use_id=None)


def result(**more):
    base = {"type": "result", "subtype": "success", "is_error": False, "usage": USAGE, "permission_denials": [], "api_error_status": None}
    say(**{**base, "modelUsage": {"m": {"costUSD": COST, "costBasis": "list"}}, **more})
    sys.exit(1 if more.get("is_error") else 0)


def after(flag):
    return sys.argv[sys.argv.index(flag) + 1] if flag in sys.argv else None


if "--version" in sys.argv:
    print(os.environ.get("FAKE_VERSION", "2.1.332") + " (Claude Code)")
    sys.exit(0)

config = pathlib.Path(os.environ["CLAUDE_CONFIG_DIR"])
servers = json.loads(pathlib.Path(after("--mcp-config")).read_text())["mcpServers"]
heard = sys.stdin.buffer.read().decode()
known, new = after("--resume"), after("--session-id")
history = config / "projects" / f"{known or new}.jsonl"
if known and not history.exists():
    print(f"No conversation found with session ID: {known}", file=sys.stderr)
    sys.exit(1)
history.parent.mkdir(parents=True, exist_ok=True)
with history.open("a") as file:
    file.write(json.dumps(heard) + "\n")
turns = len(history.read_text().splitlines())

listed = [{"name": name, "status": "connected"} for name in servers]
say(type="system", subtype="init", session_id=known or new, model=after("--model"), mcp_servers=listed, claude_code_version="2.1.332")
if "HANG" in heard:
    assistant(1, {"type": "text", "text": "Still at it."})
    time.sleep(60)
if "MUTE" in heard:
    sys.exit(0)
if "OVERLOADED" in heard:
    say(type="system", subtype="api_retry", attempt=1, max_retries=1, retry_delay_ms=567, error_status=529)
    result(is_error=True, result="API Error: 529 Overloaded.", api_error_status=529, total_cost_usd=0.0)
if "LOGGED-OUT" in heard:
    result(is_error=True, result="Failed to authenticate. API Error: 401.", api_error_status=401)
if "OFFLINE" in heard:
    result(is_error=True, result="API Error: Connection dropped (ECONNRESET).")
if "LIMIT" in heard:
    result(subtype="error_max_turns", is_error=True, errors=["Reached maximum number of turns (1)"])
denials = [{"tool_name": "Bash", "tool_input": {"command": "ls"}}] if "DENIED" in heard else []
assistant(1, {"type": "text", "text": "I write it down."})
assistant(1, {"type": "tool_use", "id": "toolu_1", "name": "Write", "input": {"file_path": "deliver/note.md", "content": "# Note"}})
pathlib.Path("deliver/note.md").write_text("# Note")
done = {"tool_use_id": "toolu_1", "type": "tool_result", "content": "File created successfully at: deliver/note.md"}
say(type="user", message={"role": "user", "content": [done]}, parent_tool_use_id=None, tool_use_result={})
assistant(2, {"type": "tool_use", "id": "toolu_2", "name": "Bash", "input": {"command": "false"}})
failed = {"type": "tool_result", "content": [{"type": "text", "text": "Exit code 1\ndeliver"}], "is_error": True, "tool_use_id": "toolu_2"}
say(type="user", message={"role": "user", "content": [failed]}, parent_tool_use_id=None)
say(type="assistant", message={"content": [{"type": "text", "text": "of a sub-agent"}]}, parent_tool_use_id="toolu_9")
answer = f"Turn {turns}: {len(heard)} characters, key {os.environ.get('ANTHROPIC_API_KEY', 'none')}."
assistant(3, {"type": "text", "text": answer})
result(result=answer, total_cost_usd=COST * turns, permission_denials=denials, num_turns=3, terminal_reason="completed")
