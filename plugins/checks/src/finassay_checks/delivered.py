"""`read_delivery`: a package's files and messages as tables in roles, documents, code and reported figures. Every check starts here."""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from attrs import define, evolve, field

from finassay.api.delivery import DeliveredFile, Package
from finassay_checks.figures import disagreements, headline_figures
from finassay_checks.model import Choice, Delivered, Document, Finding, Role, RoleTable, Table
from finassay_checks.reading.cache import CONTENTS
from finassay_checks.reading.content import Content
from finassay_checks.reading.files import read_file, suffix_of
from finassay_checks.reading.limits import DEFAULT_LIMITS, ReadLimits, Unreadable
from finassay_checks.reading.markdown import text_tables
from finassay_checks.reading.text import plain, shown
from finassay_checks.reports import is_report_file, last_report
from finassay_checks.roles.choose import Selector
from finassay_checks.roles.context import Context
from finassay_checks.roles.families import combined_files
from finassay_checks.roles.plain import plain_roles
from finassay_checks.roles.shape import Shape, shape_of
from finassay_checks.roles.twins import drop_twins
from finassay_checks.roles.wide import role_tables
from finassay_checks.versions import superseded

T = TypeVar("T")
MAX_MESSAGES = 1_000


def read_delivery(package: Package) -> Delivered:
    """Everything delivered up to the package's last turn, read with the default limits. Use as `package.fact(read_delivery)`."""
    return Reading(package, DEFAULT_LIMITS).delivered()


@define(eq=False)
class Reading:
    """One pass over a package: read files, find roles, decide versions, choose, collect figures."""

    package: Package
    limits: ReadLimits
    findings: list[Finding] = field(factory=list)
    _bytes: int = 0

    def delivered(self) -> Delivered:
        contents = self._contents()
        tables, documents, code = self._split(contents)
        messages = self._messages()
        tables = self._bounded(tables + self._message_tables(messages))
        found = self._role_tables(tables)
        tables, found, rules = self._versions(tables, found)
        documents = [evolve(d, current=d.current and d.where not in rules) for d in documents]
        current = [d for d in documents if d.current]
        reports = last_report(current, self.package.deliveries, messages[-1].text if messages else "")
        named = "\n".join(d.text for d in (*reports, *messages[-1:]))
        found = combined_files(drop_twins(found, named, self.findings))
        choices, figures = self._choose(found, reports, messages)
        self.findings += disagreements(figures)
        return Delivered(
            tables=tuple(tables),
            role_tables=tuple(found),
            choices=choices,
            reports=reports,
            earlier_report=_earlier(reports, documents),
            last_message=messages[-1] if messages else None,
            messages=messages,
            documents=tuple(current),
            code=tuple(c for c in code if c.current and c.where not in rules),
            figures=figures,
            findings=tuple(self.findings),
            superseded=rules,
        )

    def _files(self) -> Iterable[tuple[int, DeliveredFile]]:
        """(turn, file): the last tree first, then what earlier turns held with other bytes or at other paths, newest first."""
        seen: set[tuple[str, str]] = set()
        count = 0
        for delivery in reversed(self.package.deliveries):
            for file in delivery.files:
                if (file.path, file.sha256) in seen:
                    continue
                seen.add((file.path, file.sha256))
                count += 1
                if count > self.limits.files:
                    self.findings.append(
                        Finding("too-many-files", f"more than {self.limits.files:,} files over all turns; the rest was not read")
                    )
                    return
                yield delivery.turn, file

    def _contents(self) -> list[tuple[int, DeliveredFile, Content]]:
        for delivery in self.package.deliveries:
            for rejected in delivery.rejected[:200]:
                self.findings.append(Finding("not-taken", f"was not taken: {shown(rejected.reason)}", shown(rejected.path)))
        found, by_hash = [], {}
        for turn, file in self._files():
            key = (file.sha256, suffix_of(file.path))
            if key not in by_hash:
                by_hash[key] = self._read(file)
            content = by_hash[key]
            if content is not None:
                found.append((turn, file, content))
        return found

    def _read(self, file: DeliveredFile) -> Content | None:
        try:
            self._bytes += file.size
            if self._bytes > self.limits.delivery_bytes:
                raise Unreadable(f"was not read: the delivery exceeds {self.limits.delivery_bytes:,} bytes in all", "too-large")
            path = self.package.path(file)
            key = (file.sha256, suffix_of(file.path), repr(self.limits))
            content = CONTENTS.get(key)
            if content is None:
                content = read_file(path, file.path, self.limits)
                CONTENTS.put(key, content)
        except KeyError:
            self.findings.append(Finding("unreadable-file", "its bytes are not stored", shown(file.path)))
            return None
        except Unreadable as error:
            self.findings.append(Finding(error.check, shown(str(error)), shown(file.path)))
            return None
        for check, message in content.problems:
            self.findings.append(Finding(check, shown(message), shown(file.path)))
        return content

    def _split(self, contents: list[tuple[int, DeliveredFile, Content]]) -> tuple[list[Table], list[Document], list[Document]]:
        tables, documents, code = [], [], []
        for turn, file, content in contents:
            for raw in content.tables:
                where = f"{file.path}#{shown(raw.label, 120)}" if raw.label else file.path
                tables.append(Table(where, file.path, turn, self._in_tree(file), raw.frame, tuple(shown(n) for n in raw.notes)))
            if content.prose:
                documents.append(Document(file.path, content.prose, turn, self._in_tree(file)))
            if content.code:
                code.append(Document(file.path, content.code, turn, self._in_tree(file)))
        return tables, documents, code

    def _in_tree(self, file: DeliveredFile) -> bool:
        held = self.package.tree.file(file.path)
        return held is not None and held.sha256 == file.sha256

    def _messages(self) -> tuple[Document, ...]:
        said = self.package.conversation.of("agent")[-MAX_MESSAGES:]
        return tuple(Document(m.id, plain(m.text[: self.limits.text_bytes]), m.turn, True) for m in said)

    def _message_tables(self, messages: tuple[Document, ...]) -> list[Table]:
        made = []
        for message in messages:
            for number, table in enumerate(text_tables(message.text), start=1):
                raw = table.raw("")
                made.append(
                    Table(f"{message.where}#table{number}", message.where, message.turn, message is messages[-1], raw.frame, raw.notes)
                )
        return made

    def _bounded(self, tables: list[Table]) -> list[Table]:
        if len(tables) > self.limits.tables:
            self.findings.append(
                Finding("too-many-tables", f"{len(tables):,} tables; only the first {self.limits.tables:,} were interpreted")
            )
        return tables[: self.limits.tables]

    def _role_tables(self, tables: list[Table]) -> list[RoleTable]:
        conditions = self.package.task.conditions
        known = self._known_tickers(tables)
        context = Context(conditions.timezone, known)
        found: list[RoleTable] = []
        for table in tables:
            if not len(table.frame.columns) or not len(table.frame):
                continue
            shape = self._guarded(table.where, shape_of, table, known, conditions.timezone, otherwise=None)
            if shape is None:
                continue
            dated: list[RoleTable] = self._guarded(table.where, role_tables, shape, context, otherwise=[])
            plain_found: list[RoleTable] = self._guarded(table.where, plain_roles, shape, otherwise=[])
            found += _reconciled(shape, dated, plain_found)
        return found

    def _known_tickers(self, tables: list[Table]) -> frozenset[str]:
        from finassay_checks.roles.cells import canonical_ticker
        from finassay_checks.roles.names import looks_like_ticker

        found = {canonical_ticker(t) for t in self.package.task.conditions.universe.tickers}
        for table in tables:
            for name in table.frame.columns:
                if str(name).lower() in ("ticker", "symbol") and len(found) < 20_000:
                    cells = table.frame[name].iloc[:20_000].dropna().unique()[:5_000]
                    found |= {t for c in cells if looks_like_ticker(t := canonical_ticker(str(c)))}
        return frozenset(found)

    def _guarded(self, where: str, compute: Callable[..., T], *arguments: object, otherwise: T) -> T:
        """Cells of any type and size reach pandas: what cannot be interpreted is a finding, and the table plays no role."""
        try:
            return compute(*arguments)
        except Exception as error:  # the point is that no table takes the whole grading down
            self.findings.append(
                Finding("no-role", f"could not be interpreted: {type(error).__name__}: {shown(str(error), 120)}", shown(where))
            )
            return otherwise

    def _versions(self, tables: list[Table], found: list[RoleTable]) -> tuple[list[Table], list[RoleTable], Mapping[str, str]]:
        ledgers = {r.table.path for r in found if r.role in ("equity", "trades") and r.table.current}
        rules = superseded(self.package.deliveries, lambda path: path in ledgers)
        renewed = {id(t): evolve(t, current=False) if t.current and t.path in rules else t for t in tables}
        return list(renewed.values()), [evolve(r, table=renewed[id(r.table)]) for r in found], rules

    def _choose(
        self, found: list[RoleTable], reports: tuple[Document, ...], messages: tuple[Document, ...]
    ) -> tuple[Mapping[Role, Choice], tuple]:  # type: ignore[type-arg]
        by_role: OrderedDict[Role, list[RoleTable]] = OrderedDict()
        for candidate in found:
            by_role.setdefault(candidate.role, []).append(candidate)
        grouped = {role: tuple(tables) for role, tables in by_role.items()}
        last = messages[-1] if messages else None
        metrics = [c for c in grouped.get("metrics", ()) if c.table.current]
        said = headline_figures(reports, last, metrics, None)
        named = "\n".join(d.text for d in (*reports, *([last] if last else [])))
        choices = Selector(grouped, said, named).choose()
        chosen = choices["metrics"].chosen
        files = (
            chosen
            if chosen is not None and not _in_text(chosen, reports, last)
            else next((m for m in metrics if not _in_text(m, reports, last)), None)
        )
        return choices, headline_figures(reports, last, metrics, files)


def _in_text(candidate: RoleTable, reports: tuple[Document, ...], message: Document | None) -> bool:
    return is_report_file(candidate.table.path) or (message is not None and candidate.table.path == message.where)


def _reconciled(shape: Shape, dated: list[RoleTable], plain_found: list[RoleTable]) -> list[RoleTable]:
    """A table that reads as metrics by setting or period plays no dated role, and a log or price table is no metrics table."""
    if any(r.role in ("trades", "prices", "round_trips", "positions", "signals", "weights") for r in dated):
        return dated
    if any(r.role in ("variants", "periods", "checks", "metrics") for r in plain_found):
        return plain_found
    both = [*dated, *plain_found]
    return both or [RoleTable("unknown", shape.table, {}, ("no role fits",), shape.table.frame)]


def _earlier(reports: tuple[Document, ...], documents: list[Document]) -> Document | None:
    """The newest earlier version of the last report with other bytes: at its path, else another report document of an earlier turn."""
    if not reports:
        return None
    lead = reports[0]
    older = [d for d in documents if d.turn < lead.turn or not d.current]
    same = [d for d in older if d.where == lead.where and d.text != lead.text]
    others = [
        d
        for d in older
        if is_report_file(d.where) and d.where not in {r.where for r in reports} and d.text != lead.text and "report" in d.where.lower()
    ]
    return max(same or others, key=lambda d: d.turn, default=None)
