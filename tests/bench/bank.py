"""How building a task bank grows with the queries: signatures, embeddings, clusters, criteria, near-duplicates; time and memory.

Each size is measured in a process of its own, so that its peak memory is its own.

python tests/bench/bank.py [QUERIES…]
"""

import json
import math
import random
import resource
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

SIZES = (200, 2_000, 20_000)
TASKS = 200
STEPS = ("signatures", "embeddings", "clusters", "criteria", "near-duplicates")
NAMES = ("Foxglove", "Larkspur", "Tamarind", "Juniper", "Marrow", "Quillwort", "Sorrel", "Yarrow", "Teasel", "Bracken")
KINDS = ("Holdings", "Industries", "Group", "Foods", "Energy", "Networks", "Bank", "Motors", "Labs", "Retail")
FRAMES = (
    "What was the {a} of {x} in FY{y}?",
    "Report {a} and {b} of {x} for FY{y} and FY{z} in USD millions.",
    "How did the {a} of {x} change from FY{z} to FY{y}, and what drove it?",
    "Compare the {a} of {x} with that of {w} for FY{y} in one table.",
    "What is the 3 year average {a} of {x} over FY{z} - FY{y}? Say which line you took.",
    "Compute {a}, {b} and {c} of {x} for fiscal {y} and explain why {a} fell.",
    "Is {x} more leveraged than {w}? Support it with {a} and {b} as of year-end {y}.",
    "Using only the annual report, state {a} of {x} for FY{y} and judge whether {b} is comparable with FY{z}.",
)


def queries(number: int, seed: int = 11) -> list[str]:
    """Made-up queries: frames of analysts' questions over the table of metrics, companies and years; each once."""
    from finassay_rubrics.metrics.table import table

    draw = random.Random(seed)
    metrics = [metric.names[0] for metric in table().metrics.values()]
    issuers = [f"{one} {two}" for one in NAMES for two in KINDS]
    found: dict[str, None] = {}
    while len(found) < number:
        a, b, c = draw.sample(metrics, 3)
        x, w = draw.sample(issuers, 2)
        year = draw.randint(2012, 2024)
        found.setdefault(draw.choice(FRAMES).format(a=a, b=b, c=c, x=x, w=w, y=year, z=year - draw.randint(1, 2)))
    return list(found)


def measured(number: int) -> dict[str, Any]:
    """One build, offline, in a folder that goes away."""
    from finassay_rubrics.bank.build import Builder
    from finassay_rubrics.bank.criteria import writers
    from finassay_rubrics.bank.embed import TfidfEmbedding
    from finassay_rubrics.bank.screen import propose
    from finassay_rubrics.bank.sign import RuleSigner
    from finassay_rubrics.guidance.general import GeneralPack, NoOptions

    spent = [0.0]

    class OnProcessor(Builder):
        """Its steps by CPU time, so that other work on the machine does not count."""

        def _timed(self, name: str, call: Any) -> Any:
            started = time.process_time()
            result = call()
            self.seconds[name] = time.process_time() - started
            return result

    class Timed(TfidfEmbedding):
        def matrix(self, texts: Any) -> Any:
            started = time.process_time()
            vectors = super().matrix(texts)
            spent[0] += time.process_time() - started
            return vectors

    asked, embedding = queries(number), Timed()
    embedding.matrix(["warm up"])  # what scikit-learn costs once to import is no growth
    before, wall = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.perf_counter()
    spent[0] = 0.0
    with tempfile.TemporaryDirectory(prefix="finassay-bench-") as folder:
        guidance = GeneralPack(NoOptions()).guidance
        builder = OnProcessor(Path(folder), asked, RuleSigner(), embedding, writers("templates-a", "templates-b", None), guidance, TASKS)
        tasks = builder.run()
        embedded, started = spent[0], time.process_time()
        propose(Path(folder), embedding)
        screened = time.process_time() - started
        different = sum(len(task.members) for task in tasks)
    seconds = dict(builder.seconds)
    steps = (seconds["signatures"], embedded, seconds["clusters"] - embedded, seconds["criteria"], screened)
    return {
        "queries": number,
        "signatures": different,
        "tasks": len(tasks),
        "steps": dict(zip(STEPS, steps, strict=True)),
        "cpu": sum(steps),
        "seconds": time.perf_counter() - wall,
        "before_mb": before / 1024,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def bench_bank(sizes: tuple[int, ...] = SIZES) -> None:
    """A line for each size, then how each step grows from one to the next: 1 is in proportion, 2 with the square."""
    found = []
    for number in sizes:
        command = [sys.executable, str(Path(__file__)), "measure", str(number)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=3600, check=True)
        one = json.loads(done.stdout.splitlines()[-1])
        found.append(one)
        steps = ", ".join(f"{name} {seconds:.2f} s" for name, seconds in one["steps"].items())
        print(
            f"bank: {one['queries']:,} queries, {one['signatures']:,} signatures, {one['tasks']} tasks: {one['cpu']:.1f} s of CPU "
            f"({steps}), {one['seconds']:.0f} s in all, peak {one['peak_mb']:.0f} MB, {one['before_mb']:.0f} of them before"
        )
    for small, large in pairwise(found):
        ratio = math.log(large["queries"] / small["queries"])
        grown = ", ".join(
            f"{name} {math.log(large['steps'][name] / small['steps'][name]) / ratio:.2f}"
            for name in STEPS
            if small["steps"][name] > 0 and large["steps"][name] > 0
        )
        memory = (large["peak_mb"] - small["peak_mb"]) / (large["queries"] - small["queries"]) * 1000
        print(
            f"bank: {small['queries']:,} -> {large['queries']:,} queries: exponent of time {grown}; {memory:.1f} MB more for 1,000 queries"
        )


if __name__ == "__main__":
    if sys.argv[1:2] == ["measure"]:
        print(json.dumps(measured(int(sys.argv[2]))))
    else:
        bench_bank(tuple(map(int, sys.argv[1:])) or SIZES)
