"""An MCP server on stdin and stdout without any library, for tests; its first argument says how it behaves."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

how = sys.argv[1] if len(sys.argv) > 1 else "well"
if how == "breaks":
    print("cannot start: no licence for " + os.environ.get("PRICE_KEY", "nobody"), file=sys.stderr)
    sys.exit(3)
if how == "silent":
    time.sleep(600)
if how == "stubborn":
    import signal

    signal.signal(signal.SIGTERM, signal.SIG_IGN)


def call(name, arguments):
    if name == "get_price":
        return json.dumps({arguments["ticker"]: 12.5})
    if name == "environment":
        return " ".join(sorted(os.environ)) + " key=" + os.environ.get("PRICE_KEY", "")
    if name == "leave_child":
        return str(subprocess.Popen(["sleep", "300"], start_new_session=True).pid)
    if name == "die":
        os._exit(1)
    if name == "slow":
        Path(arguments["begun"]).touch()
        time.sleep(arguments["seconds"])
    if name == "long_line":
        sys.stdout.write("x" * (40 * 2**20))
        sys.stdout.flush()
    return str(os.getpid())


NAMES = ["get_price", "environment", "pid", "leave_child", "die", "slow", "long_line"]
VERSION = "2024-11-05"
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    answer = {"jsonrpc": "2.0", "id": asked["id"]}
    match asked["method"]:
        case "initialize":
            info = {"name": "plain", "version": "1"}
            answer["result"] = {"protocolVersion": VERSION, "capabilities": {"tools": {}}, "serverInfo": info}
        case "tools/list":
            start = int((asked.get("params") or {}).get("cursor") or 0)
            page = [{"name": name, "description": name, "inputSchema": {"type": "object"}} for name in NAMES[start : start + 3]]
            answer["result"] = {"tools": page} | ({"nextCursor": str(start + 3)} if start + 3 < len(NAMES) else {})
        case "tools/call":
            text = call(asked["params"]["name"], asked["params"].get("arguments") or {})
            answer["result"] = {"content": [{"type": "text", "text": text}]}
        case _:
            answer["error"] = {"code": -32601, "message": "unknown method"}
    print("this is no JSON", flush=True)  # as careless servers do
    print(json.dumps(answer), flush=True)
if how == "stubborn":
    time.sleep(600)
