"""Keeps its secret in its environment, its workspace, its home, its delivery and what it says; works for a moment in every turn."""

import json
import os
import time
from pathlib import Path

for place in ("notes.txt", "deliver/report.md", ".home/memory.txt", os.path.join(os.environ["TMPDIR"], "scratch.txt")):
    Path(place).write_text(os.environ["SAYS"])
held = open("notes.txt")  # noqa: SIM115  (open while others look)
time.sleep(3)
for line in ({"type": "message", "text": f"I work on it: {os.environ['SAYS']}"}, {"type": "done"}):
    print(json.dumps(line), flush=True)
