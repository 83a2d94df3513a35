"""Files of one layout, one a ticker, are one table (spec D.0.2)."""

from collections import defaultdict

import pandas as pd
from attrs import evolve

from finassay_checks.model import RoleTable


def combined_files(found: list[RoleTable]) -> list[RoleTable]:
    """Price tables of one ticker each in one folder or workbook, with equal columns and different tickers, become one candidate."""
    groups: dict[tuple[str, bool, tuple[str, ...]], list[RoleTable]] = defaultdict(list)
    for candidate in found:
        if candidate.role == "prices" and candidate.frame["ticker"].nunique() == 1:
            folder, _, label = candidate.table.where.partition("#")
            if not label or folder.endswith(".json"):
                folder = f"{folder.rpartition('/')[0]}#{label}" if label else folder.rpartition("/")[0]
            groups[(folder, candidate.table.current, tuple(candidate.columns))].append(candidate)
    merged: dict[int, RoleTable] = {}
    gone: set[int] = set()
    for (folder, _, _), members in groups.items():
        tickers = [m.frame["ticker"].iloc[0] for m in members]
        if len(members) > 1 and len(set(tickers)) == len(members):
            frame = (
                pd.concat([m.frame for m in members], ignore_index=True)
                .sort_values(["date", "ticker"], kind="stable")
                .reset_index(drop=True)
            )
            merged[id(members[0])] = evolve(
                members[0],
                frame=frame,
                reasons=(*members[0].reasons, f"{len(members)} files of one layout in '{folder.partition('#')[0]}'"),
            )
            gone |= {id(m) for m in members[1:]}
    return [merged.get(id(r), r) for r in found if id(r) not in gone]
