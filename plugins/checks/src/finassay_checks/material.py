"""The standard reader: D as a judge reads it."""

from typing import ClassVar

from finassay.api.delivery import Package
from finassay.api.grading import Document, Material, TableView
from finassay_checks.options import NoOptions

HEAD_ROWS = 8
HEAD_CHARACTERS = 1_500
MAX_TABLES = 60
MAX_REPORT = 200_000
MAX_CODE = 60_000


class StandardReader:
    """The whole conversation, the last report and the version before it, current tables with their first rows, and current code;
    all bounded."""

    api_version: ClassVar[int] = 1
    description: ClassVar[str] = "The conversation, the last two reports, tables with their first rows, and code."
    Options: ClassVar[type[NoOptions]] = NoOptions
    id = "standard"

    def __init__(self, options: NoOptions) -> None:
        self.options = options

    def read(self, package: Package) -> Material:
        from finassay_checks.delivered import read_delivery

        delivered = package.fact(read_delivery)
        reports = [Document(d.where, d.text[:MAX_REPORT]) for d in delivered.reports]
        if delivered.earlier_report is not None:
            earlier = delivered.earlier_report
            reports.append(Document(f"{earlier.where} (turn {earlier.turn})", earlier.text[:MAX_REPORT]))
        roles: dict[int, list[str]] = {}
        for candidate in delivered.role_tables:
            roles.setdefault(id(candidate.table), []).append(candidate.role)
        current = [t for t in delivered.tables if t.current][:MAX_TABLES]
        return Material(
            messages=tuple(Document(m.id, m.text) for m in package.conversation.messages),
            reports=tuple(reports),
            tables=tuple(
                TableView(
                    t.where,
                    ", ".join(dict.fromkeys(roles.get(id(t), ["unknown"]))),
                    tuple(str(c) for c in t.frame.columns[:200]),
                    len(t.frame),
                    t.frame.iloc[:HEAD_ROWS, :60].to_csv(index=False)[:HEAD_CHARACTERS],
                )
                for t in current
            ),
            code=tuple(Document(c.where, c.text[:MAX_CODE]) for c in delivered.code),
        )
