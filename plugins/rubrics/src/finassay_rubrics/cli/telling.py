"""Figures, intervals and rows, as lines or as JSON."""

import json
from typing import Any

import click


def tell(told: dict[str, Any], as_json: bool) -> None:
    """As JSON, or a line a figure and a table for what has rows."""
    if as_json:
        click.echo(json.dumps(told, indent=1, ensure_ascii=False))
        return
    figures = {name: value for name, value in told.items() if isinstance(value, dict) and "low" in value}
    for name, value in told.items():
        if isinstance(value, list):
            for row in value:
                cells = ", ".join(f"{k} {v}" for k, v in row.items()) if isinstance(row, dict) else str(row)
                click.echo(f"  {name.replace('_', ' ')}: {cells}")
        elif name in figures:
            click.echo(f"{name.replace('_', ' ')}: {_short(value['value'])}{_bounds(value)}")
        elif isinstance(value, dict):
            parts = [f"{key.replace('_', ' ')} {_short(cell)}" for key, cell in value.items()]
            click.echo(f"{name.replace('_', ' ')}: {', '.join(parts)}")
        else:
            click.echo(f"{name.replace('_', ' ')}: {_short(value)}")


def _bounds(value: dict[str, Any]) -> str:
    if value["low"] is None:
        return " (no interval: fewer than two queries, or undefined in most draws)"
    return f"  [{_short(value['low'])}, {_short(value['high'])}]"


def _short(value: Any) -> str:
    if isinstance(value, dict):
        return "(" + ", ".join(f"{k} {_short(v)}" for k, v in value.items()) + ")"
    return "undefined" if value is None else f"{value:.4f}" if isinstance(value, float) else str(value)
