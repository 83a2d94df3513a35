"""How the agent behaves: whether the user has reason to leave (paper, appendix D; spec-completions C)."""

import re

from attrs import frozen

from finassay.api.conversation import Message
from finassay.api.matching import normalise, raised, sentences
from finassay.api.simulator import BlockReason, Scene
from finassay_simulator_policy.hearing import bounded, touches
from finassay_simulator_policy.reading import Off, figures
from finassay_simulator_policy.speech import filled, sayable

_WORK = (
    r"(?:do|run|build|complete|help|provide|perform|back ?test|deliver|produce|continue|assist|comply|fulfil"
    r"|carry out|create|finish|proceed)"
)
_REFUSES = re.compile(
    rf"\b(?:i|we) (?:won't|will not|refuse to|must decline|have to decline|decline to"
    rf"|am not willing to)\b.{{0,60}}\b(?:{_WORK}|this)\b"
)
_GIVES_UP = re.compile(
    rf"\bi(?:'m| am)? ?(?:cannot|can't|can not|unable to|not able to)\b.{{0,40}}\b{_WORK}\b"
    r"|\bi(?:'m| am)? (?:have to )?(?:give|giving) up\b|\b(?:impossible|not possible) for me\b"
)
_ALTERNATIVE = re.compile(
    r"\b(?:but|however|instead|although|alternatively|unless|until|so i|yet|meanwhile"
    r"|what i can|i can\b(?! ?not))"
)
_FINANCE = re.compile(
    r"\b(?:strateg|back ?test|portfolio|stock|share|return|data|pric|trad|report|market|invest|ticker|universe|risk"
    r"|fund|index|rebalanc|cost"
    r"|signal|factor|weight|drawdown|sharpe|file|result|test|work|run|csv)"
)
OFF_TOPIC_REPLIES = 2
REPEATS = 3
OBJECTIONS = 2


@frozen
class Leaving:
    """A reason to end the session, and the replies that show it."""

    reason: BlockReason
    evidence: tuple[str, ...]


def reason_to_leave(scene: Scene, off: tuple[Off, ...], patience: int) -> Leaving | None:
    """None while the agent may still get somewhere, and always after a reply that the clock stopped."""
    replies = scene.conversation.of("agent")
    if scene.cut or not replies:
        return None
    return (
        _declared_defeat(replies[-1], scene)
        or _repeated(scene)
        or _ignored(scene, off)
        or _stalled(replies, scene, patience)
        or _off_topic(replies, scene)
    )


def _declared_defeat(last: Message, scene: Scene) -> Leaving | None:
    if scene.files or figures(bounded(last.text)):
        return None
    said = sentences(bounded(last.text))
    if any(s.question for s in said) or _ALTERNATIVE.search(" ".join(s.norm for s in said)):
        return None
    for sentence in said:
        if _REFUSES.search(sentence.norm):
            return Leaving("refused", (last.id,))
        if _GIVES_UP.search(sentence.norm):
            return Leaving("gave_up", (last.id,))
    return None


def own_words(message: Message, scene: Scene) -> str:
    """A reply without what it quotes of the user's last message."""
    text = bounded(message.text)
    heard = [m.text for m in scene.conversation.of("user") if m.turn == message.turn - 1]
    for quoted in heard:
        text = text.replace(quoted, " ") if quoted else text
    return text


def _repeated(scene: Scene) -> Leaving | None:
    last = scene.conversation.of("agent")[-REPEATS:]
    same = {normalise(own_words(m, scene)) for m in last}
    if len(last) == REPEATS and len(same) == 1 and same != {""} and not any(m.cut for m in last):
        return Leaving("repeated", tuple(m.id for m in last))
    return None


def objections(scene: Scene, item_piece: str) -> tuple[int, ...]:
    """Turns in which the user called this piece off."""
    phrases = [normalise(filled(template, piece=item_piece)) for template in scene.persona.voice.off_pieces]
    return tuple(m.turn for m in scene.conversation.of("user") if any(p in normalise(m.text) for p in phrases))


def _ignored(scene: Scene, off: tuple[Off, ...]) -> Leaving | None:
    """The same piece was called off twice, and no reply since has a word about it."""
    for found in off:
        turns = objections(scene, found.item.piece)
        if len(turns) < OBJECTIONS:
            continue
        since = [m for m in scene.conversation.of("agent") if m.turn > turns[-OBJECTIONS]]
        words = (*found.item.topics, re.escape(normalise(found.item.piece)).replace("\\ ", " "))
        if not any(m.cut or touches(words, s.text) for m in since for s in sentences(own_words(m, scene))):
            return Leaving("ignored_objection", tuple(m.id for m in since))
    return None


def _stalled(replies: tuple[Message, ...], scene: Scene, patience: int) -> Leaving | None:
    """Neither a delivery nor a question nor a proposal for as long as the user's patience lasts."""
    last = replies[-patience:]
    if scene.files or len(last) < patience or any(m.cut or _engages(m, scene) for m in last):
        return None
    return Leaving("stalled", tuple(m.id for m in last))


def _engages(message: Message, scene: Scene) -> bool:
    text = bounded(message.text)
    if any(s.question for s in sentences(text)) or len(figures(text)) >= 2:
        return True
    return bool(raised(sayable(scene.task.belief), text))


def _off_topic(replies: tuple[Message, ...], scene: Scene) -> Leaving | None:
    """Replies of some length in the user's language without one word about the matter."""
    last = replies[-OFF_TOPIC_REPLIES:]
    if scene.files or len(last) < OFF_TOPIC_REPLIES:
        return None
    for message in last:
        norm = normalise(bounded(message.text))
        letters = sum(c.isalpha() for c in norm)
        latin = sum(c.isascii() and c.isalpha() for c in norm)
        if message.cut or len(norm.split()) < 5 or latin < 0.9 * letters or _FINANCE.search(norm) or "?" in norm:
            return None
    return Leaving("off_topic", tuple(m.id for m in last))
