"""Annual reports of a made-up issuer, worded and laid out as issuers of different trades do it, for tests of whoever reads filings."""

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any, Final

from attrs import frozen

YEARS: Final = (2021, 2020, 2019)
_EPS: Final = {"epsb": ("3.41", "3.17", "2.96"), "epsd": ("3.36", "3.12", "2.91")}
_LINES: Final = {
    "revenue": "rev", "cogs": "cogs", "gross_profit": "gp", "sga": "sga", "rnd": "rnd", "operating_income": "oi", "interest_expense": "int",
    "pretax_income": "pti", "income_tax": "tax", "net_income": "own", "net_income_total": "ni", "cash": "cash", "short_term_investments": "sti",
    "receivables": "rec", "inventory": "inv", "current_assets": "ca", "ppe_net": "ppe", "goodwill": "gw", "intangibles": "intan",
    "total_assets": "ta", "accounts_payable": "ap", "short_term_debt": "std", "current_liabilities": "cl", "long_term_debt": "ltd",
    "total_liabilities": "tl", "equity": "eq", "equity_total": "eqt", "cfo": "cfo", "cfi": "cfi", "cff": "cff", "capex": "capex",
    "depreciation": "dep", "stock_compensation": "sbc", "dividends_paid": "div", "buybacks": "buy", "eps_basic": "epsb", "eps_diluted": "epsd",
}  # fmt: skip


@frozen
class Style:
    """How one issuer writes its statements."""

    name: str
    pages: tuple[str, ...]
    """Cover, income statement, balance sheet, cash flows."""
    figures: Mapping[str, Mapping[int, int | str]]
    """Line to what it comes to in each year, in units, sign left out; text for amounts per share."""
    lines: tuple[str, ...]
    """Lines that must be found."""
    absent: tuple[str, ...]
    """Lines that must not: the statements do not show them."""


@cache
def styles() -> Mapping[str, Style]:
    """The packaged styles by name."""
    raw = tomllib.loads(resources.files("finassay.testing").joinpath("styles.toml").read_text("utf-8"))
    return {name: _style(name, one) for name, one in raw.items()}


def _style(name: str, raw: Mapping[str, Any]) -> Style:
    thousands = raw["scale"].lower().lstrip("(").startswith("in thousands")
    shared = "| minor" in raw["balance"]
    lines = {line: _LINES[line] for line in _LINES}
    if not shared:
        lines |= {"equity": "eqt"}
    if not re.search(r"\bown\b", raw["income"]):
        lines |= {"net_income": "ni"}
    figures = {line: {year: _figure(key, n) for n, year in enumerate(YEARS)} for line, key in lines.items()}
    cover = (
        "UNITED STATES SECURITIES AND EXCHANGE COMMISSION\nFORM 10-K\nFor the fiscal year ended December 31, 2021\nNorthgate Holdings, Inc.\n"
        "(Exact name of registrant as specified in its charter)"
    )
    pages = tuple(_page(raw, kind, 1_000 if thousands else 1) for kind in ("income", "balance", "cash"))
    return Style(name, (cover, *pages), figures, tuple(raw["lines"].split()), tuple(raw.get("absent", "").split()))


def _figure(key: str, place: int) -> int | str:
    return _EPS[key][place] if key in _EPS else _amounts(place)[key] * 1_000_000


def _page(raw: Mapping[str, Any], kind: str, factor: int) -> str:
    columns = 2 if kind == "balance" else 3
    title = raw["titles"][("income", "balance", "cash").index(kind)]
    made = ["Northgate Holdings, Inc.", title, raw["scale"], raw["balance_head" if kind == "balance" else "flow_head"]]
    for line in raw[kind].strip().splitlines():
        label, bar, key = line.partition(" | ") if not line.startswith("|") else ("", "|", line[1:])
        shown = _shown(key.strip(), columns, factor) if bar else ""
        made.append(f"{label} {shown}".strip().replace(" // ", "\n"))
    return "\n".join(
        [*(line for line in made if line), "The accompanying notes are an integral part of these consolidated financial statements."]
    )


def _shown(key: str, columns: int, factor: int) -> str:
    if key in _EPS:
        return " ".join(f"$ {text}" for text in _EPS[key][:columns])
    if key == "none":
        return " ".join("—" for _ in range(columns))
    name = key.lstrip("-$")
    cells = [f"{_amounts(place)[name] * factor:,}" for place in range(columns)]
    cells = [f"({cell})" for cell in cells] if "-" in key else cells
    return " ".join(f"$ {cell}" for cell in cells) if "$" in key else " ".join(cells)


@cache
def _amounts(place: int) -> Mapping[str, int]:
    """Figures in millions that keep every sum, so many years before the latest."""
    f = 100 - 7 * place
    base = {
        "r1": 913, "r2": 417, "c1": 431, "c2": 214, "sell": 91, "ga": 40, "rnd": 61, "amort": 12, "restr": 4, "int": 15, "inc": 4, "nci": 2, "dep": 69, "sbc": 21,
        "cash": 221, "sti": 113, "rec": 178, "inv": 142, "oca": 51, "gross": 990, "acc": 366, "gw": 305, "intan": 131, "lti": 90, "onca": 48, "ap": 161, "std": 53,
        "cur": 17, "accr": 124, "defr": 62, "ltd": 415, "oncl": 113, "minor": 31, "stock": 190, "aoci": 33, "wc": 13, "defer": 6, "capex": 88, "acq": 24,
        "buyinv": 170, "sellinv": 152, "div": 54, "buy": 61, "newdebt": 40, "repay": 47, "fx": 1,
    }  # fmt: skip
    v = {name: number * f // 5 for name, number in base.items()}
    v |= {
        "rev": v["r1"] + v["r2"],
        "cogs": v["c1"] + v["c2"],
        "sga": v["sell"] + v["ga"],
        "netint": v["int"] - v["inc"],
        "ppe": v["gross"] - v["acc"],
    }
    v |= {"gp": v["rev"] - v["cogs"], "opx": v["rnd"] + v["sga"] + v["amort"] + v["restr"]}
    v |= {"costs": v["cogs"] + v["opx"], "oi": v["gp"] - v["opx"]}
    v["pti"] = v["oi"] - v["netint"]
    v["tax"] = v["pti"] * 21 // 100
    v["ni"] = v["pti"] - v["tax"]
    v["own"] = v["ni"] - v["nci"]
    v["ca"] = v["cash"] + v["sti"] + v["rec"] + v["inv"] + v["oca"]
    v["nca"] = v["ppe"] + v["gw"] + v["intan"] + v["lti"] + v["onca"]
    v["ta"] = v["ca"] + v["nca"]
    v["short"] = v["std"] - v["cur"]
    v["cl"] = v["ap"] + v["std"] + v["accr"] + v["defr"]
    v["ncl"] = v["ltd"] + v["oncl"]
    v["tl"] = v["cl"] + v["ncl"]
    v["eqt"] = v["ta"] - v["tl"]
    v["eq"] = v["eqt"] - v["minor"]
    v |= {"re": v["eq"] - v["stock"] + v["aoci"], "reall": v["eqt"] - v["stock"] + v["aoci"]}
    v["cfo"] = v["ni"] + v["dep"] + v["sbc"] + v["defer"] - v["wc"]
    v["cfi"] = v["capex"] + v["acq"] + v["buyinv"] - v["sellinv"]
    v["cff"] = v["div"] + v["buy"] + v["repay"] - v["newdebt"]
    v["chg"] = v["cfo"] - v["cfi"] - v["cff"] - v["fx"]
    v["begin"] = v["cash"] - v["chg"]
    return v
