"""What guidance packs add to the grading of sessions: words for the judge, and questions that are reported and count for nothing."""

from collections.abc import Sequence
from typing import Final

from attrs import Factory, frozen

from finassay.api.dimension import Dimension, JudgedBy
from finassay.api.errors import CatalogError
from finassay.api.guidance import Guidance
from finassay.api.verdict import Json

ROLE: Final = "session-judge"
CATEGORY: Final = "guidance"
MAX_WORDS: Final = 8_000
"""Characters that all packs together may add to a judge's prompt."""
MAX_QUESTIONS: Final = 40
ANCHORS: Final = (
    "No: the delivery says and does nothing of it, or the opposite.",
    "It is touched on, without substance.",
    "In part: something of it is there, with gaps that matter to whoever asks.",
    "Largely: only small gaps are left.",
    "Yes, in full, and what is delivered shows it.",
)
"""The levels of every reported question. They are general because a pack asks a question, and states no levels."""


@frozen
class SessionGuidance:
    """Several packs put together, in the order in which they were named."""

    packs: tuple[str, ...] = ()
    """`ID VERSION` of each."""
    words: str = ""
    """What is added to a judge's instructions."""
    questions: tuple[Dimension, ...] = Factory(tuple)

    @classmethod
    def of(cls, packs: Sequence[Guidance]) -> "SessionGuidance":
        """Raises `CatalogError` where two packs ask under one id, or say more than a judge can hold."""
        words = "\n".join(pack.instructions[ROLE].strip() for pack in packs if pack.instructions.get(ROLE, "").strip())
        asked: dict[str, Dimension] = {}
        for pack in packs:
            for name, question in pack.dimensions.items():
                if name in asked:
                    raise CatalogError(
                        f"two guidance packs ask a question {name!r}", hint="Name one of them, or give the question another id."
                    )
                asked[name] = Dimension(name, name, name, CATEGORY, JudgedBy.JUDGE, ANCHORS, scored=False, looks_at=question.strip())
        if len(words) > MAX_WORDS or len(asked) > MAX_QUESTIONS:
            raise CatalogError(
                f"guidance for the judge has {len(words):,} characters and {len(asked)} questions; at most {MAX_WORDS:,} and {MAX_QUESTIONS} fit"
            )
        return cls(tuple(f"{pack.id} {pack.version}" for pack in packs), words, tuple(asked.values()))

    @property
    def identity(self) -> dict[str, Json]:
        """What the judge's answers rest on; nothing where there is no pack, so that such gradings stay what they were."""
        return {"guidance": list(self.packs)} if self.packs else {}


NONE: Final = SessionGuidance()
