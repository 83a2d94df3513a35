"""The tools of a researcher, over its desk. What they answer is text for a model; what they show of documents stands between marks."""

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from attrs import define, field
from pydantic import BaseModel

from finassay.api.errors import FinassayError
from finassay.api.research import Desk, ScriptError
from finassay.api.source import Document, Page, SourceItem
from finassay_researcher_model import forms
from finassay_researcher_model.fence import block, flat, shown

MAX_FOUND: Final = 12
MAX_LISTED: Final = 40
MAX_EXTRACT: Final = 700
MAX_PAGES: Final = 160
MAX_LINES: Final = 3
MAX_LINE: Final = 220
MAX_OUTPUT: Final = 6_000


@define
class Toolbox:
    """Tools but for `hand_in`. `allowed` are references of documents that may be used; all if it is empty.

    Documents go by handles in the order in which they were met, so that a model never has to copy a reference. Errors that it can do something
    about are words; what stops everything (a source that is away) is raised.
    """

    desk: Desk
    page_characters: int
    allowed: tuple[str, ...] = ()
    items: dict[str, SourceItem] = field(init=False, factory=dict)

    def handle(self, item: SourceItem) -> str:
        """The handle of a document, a new one for one that was not met."""
        for name, known in self.items.items():
            if (known.source, known.reference) == (item.source, item.reference):
                return name
        name = f"D{len(self.items) + 1}"
        self.items[name] = item
        return name

    def document(self, handle: str) -> Document | str:
        """An opened document, or why there is none."""
        item = self.items.get(handle.strip())
        if item is None:
            return f"there is no document {handle[:20]!r}; documents are D1, D2, … as find_documents and search gave them"
        try:
            return self.desk.open(item.source, item.reference)
        except FinassayError as error:
            if error.retry:
                raise
            return f"{handle} cannot be opened: {flat(str(error))}"

    def call(self, name: str, arguments: Mapping[str, Any]) -> str:
        """What a tool answers. Raises what stops everything."""
        tools: dict[str, tuple[type[BaseModel], Callable[[Any], str]]] = {
            "search": (forms.SearchForm, self._search),
            "find_documents": (forms.FindForm, self._find),
            "pages": (forms.DocumentForm, self._pages),
            "find_in_document": (forms.WithinForm, self._within),
            "read_page": (forms.PageForm, self._page),
            "run_python": (forms.ScriptForm, self._run),
        }
        if name not in tools:
            return f"there is no tool {flat(name, 40)!r}"
        form, answer = tools[name]
        given, problems = forms.read(form, arguments)
        if given is None:
            return f"{name}: {'; '.join(problems)}"
        try:
            return answer(given)
        except FinassayError as error:
            if error.retry:
                raise
            return f"{name}: {flat(str(error))}"

    def _counts(self, item: SourceItem) -> bool:
        return item.published is not None and item.published <= self.desk.cutoff and (not self.allowed or item.reference in self.allowed)

    def listed(self, items: Iterable[SourceItem]) -> str:
        """Documents, a line each, between marks."""
        lines = []
        for item in items:
            facts = [flat(item.title), flat(item.publisher), f"published {item.published}"]
            facts += [f"latest period ends {item.period_end}"] if item.period_end else []
            facts += [f"{item.pages} pages"] if item.pages else []
            lines.append(f"{self.handle(item)} | {' | '.join(facts)}")
        return block("documents", "\n".join(lines))

    def _find(self, form: forms.FindForm) -> str:
        found = [item for item in self.desk.find(form.words, MAX_LISTED) if self._counts(item)][:MAX_LISTED]
        return self.listed(found) if found else f"no document fits, as of {self.desk.cutoff}"

    def _search(self, form: forms.SearchForm) -> str:
        found = [one for one in self.desk.search(form.query, MAX_FOUND) if self._counts(one.item)][:MAX_FOUND]
        if not found:
            return f"nothing fits, as of {self.desk.cutoff}"
        parts = [self.listed(_once(one.item for one in found))]
        parts += [block(f"from page {one.page or 0} of {self.handle(one.item)}", one.text[:MAX_EXTRACT]) for one in found]
        return "\n".join(parts)

    def _pages(self, form: forms.DocumentForm) -> str:
        document = self.document(form.document)
        if isinstance(document, str):
            return document
        lines = [f"{page.number or 0}: {flat(page.text[:400], 110)}" for page in document.pages[:MAX_PAGES]]
        more = (
            f"\nand {len(document.pages) - MAX_PAGES} more; find_in_document finds pages by their words"
            if len(document.pages) > MAX_PAGES
            else ""
        )
        return block(f"pages of {form.document}", "\n".join(lines)) + more

    def _within(self, form: forms.WithinForm) -> str:
        document = self.document(form.document)
        if isinstance(document, str):
            return document
        words = form.words.lower().split()
        holding = [page for page in document.pages if all(word in page.text.lower() for word in words)]
        if not holding:
            return f"no page of {form.document} holds all of these words"
        parts = [f"{len(holding)} pages: {', '.join(str(page.number or 0) for page in holding[:60])}"]
        parts += [block(f"lines of page {page.number or 0} of {form.document}", _lines(page, words)) for page in holding[:MAX_FOUND]]
        return "\n".join(parts)

    def _page(self, form: forms.PageForm) -> str:
        page = self.page(form.document, form.page)
        if isinstance(page, str):
            return page
        text = shown(page.text)
        part = text[form.start : form.start + self.page_characters]
        if not part.strip():
            return f"page {form.page} of {form.document} holds {len(text):,} characters, and none from {form.start} on"
        left = len(text) - form.start - len(part)
        more = f"\n({left:,} more characters: read on with start {form.start + len(part)})" if left > 0 else ""
        return block(f"page {form.page} of {form.document}", part) + more

    def page(self, handle: str, number: int) -> Page | str:
        """A page, or why there is none."""
        document = self.document(handle)
        if isinstance(document, str):
            return document
        found = next((page for page in document.pages if (page.number or 0) == number), None)
        if found is None:
            numbers = [page.number or 0 for page in document.pages]
            return f"{handle} has no page {number}" + (f"; its pages are {min(numbers)} to {max(numbers)}" if numbers else "; it has none")
        return found

    def _run(self, form: forms.ScriptForm) -> str:
        try:
            script = self.desk.run(form.code, {one.name: one.value for one in form.inputs})
        except ScriptError as error:
            return f"run_python: {flat(str(error), 600)}"
        return f"output: {shown(json.dumps(dict(script.output), ensure_ascii=False, default=str))[:MAX_OUTPUT]}"


def _once(items: Iterable[SourceItem]) -> list[SourceItem]:
    found: dict[tuple[str, str], SourceItem] = {}
    for item in items:
        found.setdefault((item.source, item.reference), item)
    return list(found.values())


def _lines(page: Page, words: list[str]) -> str:
    lines = page.text.splitlines()
    ranked = sorted(range(len(lines)), key=lambda n: (-sum(word in lines[n].lower() for word in words), n))
    best = sorted(n for n in ranked[:MAX_LINES] if any(word in lines[n].lower() for word in words))
    return "\n".join(lines[n][:MAX_LINE] for n in best)
