"""`finassay conform`."""

from collections.abc import Iterable, Sequence
from typing import Any

import click

from finassay.api.errors import FinassayError, UsageError
from finassay.cli.words import one_line


def print_results(results: Iterable[Any]) -> bool:
    """One line a check, and how many there were of each outcome; whether every 'must' holds."""
    counts: dict[str, int] = {"ok": 0, "FAILS": 0, "should": 0, "n/a": 0}
    for result in results:
        word, colour = _outcome(result)
        counts[word] += 1
        click.echo(
            f"{click.style(word, fg=colour)}  {one_line(f'{result.id}: {result.reason}')}"
            + (f"\n      {one_line(result.detail, 2_000)}" if result.detail and word != "ok" else "")
        )
    if not any(counts.values()):
        raise FinassayError("nothing was checked")
    words = {"ok": "hold", "FAILS": "fail", "should": "should hold and do not", "n/a": "do not apply"}
    click.echo(f"{sum(counts.values())} checks: " + ", ".join(f"{n} {words[word]}" for word, n in counts.items() if n))
    return counts["FAILS"] == 0


def _outcome(result: Any) -> tuple[str, str]:
    if not result.applies:
        return "n/a", "blue"
    if result.ok:
        return "ok", "green"
    return ("FAILS", "red") if result.level == "must" else ("should", "yellow")


def named_options(words: Sequence[str], known: Iterable[str]) -> dict[str, str | bool]:
    """`--url X`, `--url=X` and `--careful` for the options of those names, `-` for `_`. Raises `UsageError` for anything else."""
    names, found, waiting = set(known), dict[str, str | bool](), list(words)
    while waiting:
        word, separator, value = waiting.pop(0).partition("=")
        name = word[2:].replace("-", "_")
        if not word.startswith("--") or name not in names:
            listed = ", ".join("--" + n.replace("_", "-") for n in sorted(names)) or "none"
            raise UsageError(f"{word!r} is no option of the component", hint=f"Its options: {listed}.")
        if separator:
            found[name] = value
        else:
            found[name] = waiting.pop(0) if waiting and not waiting[0].startswith("--") else True
    return found


@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("kind")
@click.argument("name")
@click.argument("own", nargs=-1, type=click.UNPROCESSED, metavar="[--OPTION VALUE]...")
@click.option("-o", "--option", "options", multiple=True, help="Option of the component: KEY=VALUE.")
@click.option("-g", "--gateway", multiple=True, help="Option of the gateway that an agent's model calls go through: KEY=VALUE.")
def conform(kind: str, name: str, own: tuple[str, ...], options: tuple[str, ...], gateway: tuple[str, ...]) -> None:
    """Test an installed component of KIND called NAME against what its protocol promises; black box, whatever is installed.

    Every option of the component may also be written as one of this command: --url X for -o url=X.
    A simulator, judge or agent that talks to a model does so here as well, and costs what it costs.
    """
    from finassay.catalog.catalog import Catalog, kind_named
    from finassay.catalog.kinds import KINDS
    from finassay.config.settings import parse_value
    from finassay.models.service import ModelService
    from finassay.testing.conformance import run_conformance

    found = kind_named(kind)
    if found is None:
        raise UsageError(f"no kind {kind!r}", hint=f"Kinds: {', '.join(KINDS)}.")
    values, way = ({key: parse_value(value) for key, _, value in (o.partition("=") for o in given)} for given in (options, gateway))
    catalog = Catalog.installed()
    if own:
        fields = catalog.factory(catalog.find(found.name, name)).Options.model_fields
        written = named_options(own, fields)
        values |= {key: parse_value(value) if isinstance(value, str) else value for key, value in written.items()}
    if not print_results(run_conformance(catalog, found.name, name, values, ModelService(catalog), gateway=way)):
        raise FinassayError(f"{found.name} {name!r} does not conform")
