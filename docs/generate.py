"""Writes docs/reference/ from the code. `--check` says what is out of date and changes nothing."""

import importlib.util
import sys
from pathlib import Path

import click

from finassay.api import errors
from finassay.catalog.kinds import COMMANDS_GROUP, KINDS
from finassay.cli.main import BUILTIN, cli
from finassay.grading.dimensions import DIMENSIONS
from finassay.grading.outcomes import OUTCOMES
from finassay.hooks import specs
from finassay.session.disclosure import RULES as GATE
from finassay.session.slips import KINDS as SLIPS
from finassay.session.speech import SOFT_TRIES
from finassay.session.validation import MAX_REGENERATIONS, RULES

HERE = Path(__file__).parent / "reference"
NOTE = "<!-- Written by docs/generate.py; change the code instead. -->\n\n"


def dimensions() -> str:
    """The 45 dimensions with their anchors."""
    lines = ["# The 45 dimensions\n", "| id | dimension | category | judged by | veto below |", "|---|---|---|---|---|"]
    lines += [f"| {d.id} | {d.title} | {d.category} | {d.judged_by.value} | {'' if d.veto is None else d.veto} |" for d in DIMENSIONS]
    for dimension in DIMENSIONS:
        lines += [f"\n## {dimension.id} {dimension.title}\n", dimension.looks_at, ""]
        lines += [f"{level}. {text}" for level, text in enumerate(dimension.anchors)]
        lines += ["", f"To pass the veto: {dimension.to_pass}"] if dimension.to_pass else []
    return "\n".join(lines)


def kinds() -> str:
    lines = [
        "# Kinds of components\n",
        "A component is an entry point of its kind's group; its name is the public id.\n",
        "| kind | group | what it is | members |",
        "|---|---|---|---|",
    ]
    lines += [f"| {k.name} | `{k.group}` | {k.summary} | {', '.join(f'`{m}`' for m in k.members)} |" for k in KINDS.values()]
    lines.append(f"\nCommands of plugins: group `{COMMANDS_GROUP}`. Observers: group `{specs.GROUP}`.")
    return "\n".join(lines)


def hooks() -> str:
    lines = [
        "# Hooks\n",
        "Observers are told or asked; taking one away never changes a grade. One that raises is muted for the run and named in its record.\n",
    ]
    for name in sorted(n for n in dir(specs) if n.startswith("finassay_")):
        hook = getattr(specs, name)
        arguments = ", ".join(hook.__code__.co_varnames[: hook.__code__.co_argcount])
        lines += [f"## `{name}({arguments})`\n", (hook.__doc__ or "").strip(), ""]
    return "\n".join(lines)


def exit_codes() -> str:
    from finassay.catalog.catalog import BrokenComponentError

    found = {
        0: "success",
        1: "a failure that has no code of its own",
        2: "a wrong option or name",
        errors.FILE_REFUSED: "the system refused a file (no space, no permission, a folder in the way); the message names it and the reason",
        130: "stopped by hand",
        141: "the reader of the output went away",
    }
    classes = [c for c in vars(errors).values() if isinstance(c, type) and issubclass(c, errors.FinassayError)]
    for error in (*classes, BrokenComponentError):
        if error.exit_code > 2:
            found[error.exit_code] = (error.__doc__ or "").split("\n")[0].rstrip(".")
    return "\n".join(["# Exit codes\n", "| code | when |", "|---|---|", *(f"| {code} | {text} |" for code, text in sorted(found.items()))])


def endings() -> str:
    lines = [
        "# How sessions end\n",
        "Exactly one reason per session.\n",
        "| reason | graded | can be accepted | counts | meaning |",
        "|---|---|---|---|---|",
    ]
    for reason, outcome in OUTCOMES.items():
        yes = {True: "yes", False: "no"}
        lines.append(f"| `{reason}` | {outcome.graded} | {yes[outcome.can_be_accepted]} | {yes[outcome.valid]} | {outcome.meaning} |")
    return "\n".join(lines)


def decisions() -> str:
    lines = [
        "# What the simulated user may not do\n",
        "A program checks every decision before it is sent. It is refused if it:\n",
        "| rule | the decision … |",
        "|---|---|",
    ]
    lines += [*(f"| `{rule}` | {text} |" for rule, text in RULES.items()), *(f"| `{rule}` | {text} |" for rule, text in GATE.items())]
    lines += [
        "",
        f"A try that brings no decision at all counts like a refused one. All reasons so far are told with the next try; after {MAX_REGENERATIONS} more tries the",
        "session is void.",
        "",
        "## Labels",
        "",
        "Every message that is sent gets a label by its worst slip: `error-free`, `benign`, `critical-helped` (it gave away what the agent had not asked for) or",
        "`critical-hindered` (it misled the agent, or kept back what it was asked for). Stated rules on words decide; the labels are first labels, for people to confirm.",
        f"A message with a critical label is refused for the first {SOFT_TRIES} tries if its simulator can say something else. The label and the kinds stand beside the",
        "message; what they were about is sealed. `finassay show` and the pages tell the rates.",
        "",
        "| kind | the message … |",
        "|---|---|",
    ]
    return "\n".join([*lines, *(f"| `{kind}` | {text} |" for kind, text in SLIPS.items())])


def commands() -> str:
    lines = ["# Commands\n"]
    context = click.Context(cli, info_name="finassay")
    for name in BUILTIN:
        command = cli.get_command(context, name)
        assert command is not None
        lines += _help(command, click.Context(command, info_name=f"finassay {name}", max_content_width=110, terminal_width=110))
    return "\n".join(lines)


def _help(command: click.Command, context: click.Context) -> list[str]:
    lines = [f"## {context.info_name}\n", "```text", command.get_help(context), "```\n"]
    if isinstance(command, click.Group):
        for name in sorted(command.commands):
            inner = command.commands[name]
            lines += _help(inner, click.Context(inner, info_name=f"{context.info_name} {name}", max_content_width=110, terminal_width=110))
    return lines


def red_team() -> str:
    """The ways of the hostile agents in tests/redteam."""
    spec = importlib.util.spec_from_file_location("red_team_ways", Path(__file__).parents[1] / "tests" / "redteam" / "ways.py")
    assert spec is not None
    assert spec.loader is not None
    ways = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = ways
    spec.loader.exec_module(ways)
    return str(ways.page())


def sandbox_checks() -> str:
    """The self-check of sandboxes."""
    from finassay.testing import sandboxes  # noqa: F401  # declares them
    from finassay.testing.result import checks_of

    checks = checks_of("sandbox")
    lines = [
        "# What every sandbox is checked for\n",
        f"`finassay conform sandboxes NAME` makes these {len(checks)} checks, and so does the conformance test of a sandbox's distribution. Checks of",
        "isolation are made where the sandbox claims that part (`Isolation`), as it was opened on this machine; where it does not, the result says NOT",
        "ISOLATED. What *should* hold and does not is told and does not fail.\n",
        "| check | level | made if | why |",
        "|---|---|---|---|",
    ]
    for check in checks:
        part = check.otherwise.partition("claims to isolate neither ")[2] or check.otherwise.partition("claim to isolate ")[2]
        made = f"{part.replace(' nor ', ' or ')} are isolated".replace("the network are", "the network is") if part else "always"
        lines.append(f"| {check.id.removeprefix('sandbox/')} | {check.level} | {made} | {check.reason.replace('|', chr(92) + '|')} |")
    return "\n".join(lines)


PAGES = {
    "sandbox-checks": sandbox_checks,
    "dimensions": dimensions,
    "kinds": kinds,
    "hooks": hooks,
    "exit-codes": exit_codes,
    "endings": endings,
    "decisions": decisions,
    "commands": commands,
    "red-team": red_team,
}


def main(check: bool) -> int:
    """Write the pages, or with `check` name those that differ; the number of them is the exit code."""
    HERE.mkdir(exist_ok=True)
    stale = 0
    for name, make in PAGES.items():
        path, text = HERE / f"{name}.md", NOTE + make().rstrip() + "\n"
        if not path.exists() or path.read_text("utf-8") != text:
            stale += 1
            if check:
                print(f"out of date: docs/reference/{name}.md (run: make docs)")
            else:
                path.write_text(text, encoding="utf-8")
    return stale if check else 0


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv))
