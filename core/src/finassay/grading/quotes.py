"""Whether what a judge quotes stands in the delivery. A quote that is not found is no evidence (paper, section 3.4)."""

from attrs import evolve, frozen

from finassay.api.delivery import Package
from finassay.api.grading import Answer, Material, Quote
from finassay.api.verdict import Evidence, EvidenceKind

UNQUOTED_LABELS = frozenset({"absent", "missing", "none", "no", "neither", "not applicable", "n/a", "cannot tell", "undecided"})
"""Labels which say that something is not there: they cannot be quoted, so they need no quote."""
MAX_EVIDENCE = 12


def _flat(text: str) -> str:
    return " ".join(text.split())


@frozen
class Corpus:
    """D as quotes are looked up in it: the agent's messages and what was read from delivered files, whitespace-normalised.

    The user's messages are kept apart: quoting them is honest, and it is no evidence about the delivery.
    """

    delivered: tuple[tuple[str, str], ...]
    user: tuple[str, ...]

    @classmethod
    def of(cls, package: Package, material: Material) -> "Corpus":
        agent = {message.id for message in package.conversation.of("agent")}
        documents = [(m.id, m.text) for m in package.conversation.of("agent")]
        documents += [(d.where, d.text) for d in material.messages if d.where in agent]
        documents += [(d.where, d.text) for d in (*material.reports, *material.code)]
        documents += [(t.where, " ".join(t.columns) + "\n" + t.head) for t in material.tables]
        documents += [(t.where, t.head) for t in material.tables]
        return cls(
            delivered=tuple((where, _flat(text)) for where, text in dict.fromkeys(documents)),
            user=tuple(_flat(m.text) for m in package.conversation.of("user")),
        )

    def place(self, quote: str) -> str | None:
        """Where in D a quote stands verbatim, or None. An empty quote is never found."""
        wanted = _flat(quote)
        if not wanted:
            return None
        return next((where for where, text in self.delivered if wanted in text), None)

    def said_by_user(self, quote: str) -> bool:
        wanted = _flat(quote)
        return bool(wanted) and any(wanted in text for text in self.user)


@frozen
class Quoted:
    """A judge's quotes after the look-up."""

    evidence: tuple[Evidence, ...]
    invented: tuple[str, ...]
    """Quotes that stand nowhere."""
    steering: tuple[str, ...] = ()
    """Quotes of passages that try to steer the judge: they stand there, and carry nothing."""

    def bound(self, level: int) -> tuple[int, str]:
        """The level that its quotes can carry, and why it was lowered: above 1 it needs a quote from D and none that is invented."""
        if level <= 1:
            return level, ""
        if self.invented:
            return 1, f"lowered from {level} to 1: a quote is not found in the delivery"
        if not any(e.kind is EvidenceKind.QUOTE for e in self.evidence):
            why = "only what tries to steer the judge is quoted" if self.steering else "nothing of the delivery is quoted"
            return 1, f"lowered from {level} to 1: {why}"
        return level, ""

    def refused(self, level: int) -> tuple[str, ...]:
        """The quotes to blame if the level is not carried, an empty one if there is none to blame; nothing if it is carried."""
        if self.bound(level)[0] == level:
            return ()
        return self.invented or self.steering or ("",)


def look_up(quotes: tuple[Quote, ...], corpus: Corpus, steering: tuple[Quote, ...] = ()) -> Quoted:
    """Quotes found in D become evidence, but for those of passages that try to steer; quotes of the user are kept as notes."""
    evidence, invented, idle = [], [], []
    for quote in quotes:
        place = corpus.place(quote.text)
        if place is not None and _steers(quote, steering):
            evidence.append(Evidence(EvidenceKind.NOTE, f"tries to steer the judge: {quote.text[:2000]}", where=place))
            idle.append(quote.text[:200])
        elif place is not None:
            evidence.append(Evidence(EvidenceKind.QUOTE, quote.text[:2000], where=place))
        elif corpus.said_by_user(quote.text):
            evidence.append(Evidence(EvidenceKind.NOTE, f"the user: {quote.text[:2000]}"))
        else:
            invented.append(quote.text[:200])
    return Quoted(tuple(evidence[:MAX_EVIDENCE]), tuple(invented), tuple(idle))


def _steers(quote: Quote, steering: tuple[Quote, ...]) -> bool:
    text = _flat(quote.text)
    passages = [passage for s in steering if (passage := _flat(s.text))]
    return any(text in passage or passage in text for passage in passages)


def verified_labels(answer: Answer, corpus: Corpus) -> Answer:
    """The answer without the labels whose own quote does not stand in D; labels that say 'not there' need none."""
    kept, quotes = {}, {}
    for case, label in answer.labels.items():
        quote = answer.case_quotes.get(case)
        place = corpus.place(quote.text) if quote and not _steers(quote, answer.steering) else None
        if quote is not None and place is not None:
            kept[case], quotes[case] = label, evolve(quote, where=place)
        elif quote is None and label.casefold() in UNQUOTED_LABELS:
            kept[case] = label
    return evolve(answer, labels=kept, case_quotes=quotes)


def unsupported_labels(answer: Answer, corpus: Corpus) -> dict[str, str]:
    """Case to the quote for want of which `verified_labels` drops its label; empty text where there was no quote."""
    kept = verified_labels(answer, corpus).labels
    return {case: quote.text[:200] if (quote := answer.case_quotes.get(case)) else "" for case in answer.labels if case not in kept}
