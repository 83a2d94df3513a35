"""The opening message: one vague idea with exactly the opening items, the universe, and the last date of data in plain words."""

import re
from collections.abc import Iterator
from datetime import date
from itertools import permutations

from finassay.api.matching import stated
from finassay.api.simulator import Scene
from finassay_simulator_policy.speech import Speech, filled, listed, sayable

_MONTHS = ["January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"]
MAX_ORDERS = 24


def opening(scene: Scene, salt: int = 0) -> str:
    """The first wording that tells the opening items and nothing else, in the persona's voice."""
    belief, voice = scene.task.belief, scene.persona.voice
    wanted = frozenset(belief.opening)
    speech = Speech(belief, scene.persona, wanted, scene.seed, 0, salt)
    clauses = [belief.item(name).opening for name in belief.opening]
    greetings = list(speech.rotated(voice.greetings, "greeting"))
    first = ""
    for idea in _ideas(clauses):
        for template in speech.rotated(voice.opening, "opening"):
            for greeting in greetings:
                text = f"{greeting} {_body(template, idea, scene)}"
                first = first or text
                if speech.sound(text) and stated(sayable(belief), text) == wanted:
                    return text
    return first


def _body(template: str, idea: str, scene: Scene) -> str:
    conditions = scene.task.conditions
    until = until_words(conditions.cutoff)
    if re.search(r"\b(?:up to|until|till|through|to|before|by) \{until\}", template):
        until = until.removeprefix("up to ")
    return filled(template, idea=idea, universe=conditions.universe.text.rstrip(". "), until=until)


def _ideas(clauses: list[str]) -> Iterator[str]:
    """The clauses in one idea; other orders and harder breaks follow for clauses that read on into each other."""
    yield listed(clauses)
    for order in list(permutations(clauses))[:MAX_ORDERS]:
        yield listed(list(order))
        yield "; ".join(order)
        yield ". Also ".join(order)


def until_words(last: date) -> str:
    """`up to the end of 2019` for a year's last day, else `up to 31 March 2018`."""
    if (last.month, last.day) == (12, 31):
        return f"up to the end of {last.year}"
    return f"up to {last.day} {_MONTHS[last.month - 1]} {last.year}"
