"""From the ids of voiced items back to the choices that voice them: how a session held elsewhere names its strategy."""

from collections.abc import Mapping

from finassay_us_long_only.options import FACTORS, SLOTS
from finassay_us_long_only.sampler import Choices

_SLOT_OF = {
    "stock.combination": "combination",
    "timing.option": "timing",
    "portfolio.weighting": "weighting",
    "portfolio.covariance": "covariance",
    "risk.option": "risk",
    "execution.schedule": "schedule",
}
"""The part of an id before the colon to the slot that it decides."""


def choices_of(items: Mapping[str, float | None]) -> tuple[Choices, dict[str, float]]:
    """(choices, voiced values) of item ids with their values, such as `{"risk.option:vol_target": None, "risk.threshold": 10}`.

    Slots that nothing names take the option that is not voiced. Raises `ValueError` for an unknown id and for a value that is missing.
    """
    found: dict[str, list[str]] = {}
    for item in items:
        part, _, option = item.partition(":")
        if part == "stock.factor" and option in FACTORS:
            found.setdefault("factor", []).append(option)
        elif part in _SLOT_OF and option in {o.id for o in SLOTS[_SLOT_OF[part]]}:
            found.setdefault(_SLOT_OF[part], []).append(option)
        elif item == "cost.rate":
            found.setdefault("cost", []).append("fixed_bps")
        elif item != "risk.threshold":
            raise ValueError(f"unknown item {item!r}")
    for slot in ("factor", "weighting", "schedule"):
        if slot not in found:
            raise ValueError(f"no item decides the {slot}")
    for slot, options in found.items():
        if slot != "factor" and len(options) > 1:
            raise ValueError(f"two items decide the {slot}")
    choices: Choices = {"factor": tuple(found["factor"])}
    for slot in SLOTS:
        if slot in found:
            choices[slot] = tuple(found[slot])
        elif slot != "combination":
            choices[slot] = ("none",)
    return choices, _values(items, choices)


def _values(items: Mapping[str, float | None], choices: Choices) -> dict[str, float]:
    values: dict[str, float] = {}
    for option, item in ((choices["risk"][0], "risk.threshold"), (choices["cost"][0], "cost.rate")):
        if option == "none":
            if item in items:
                raise ValueError(f"{item!r} has nothing that it is the value of")
            continue
        value = items.get(item)
        if value is None:
            raise ValueError(f"{item!r} needs a value, such as {item}(10)")
        values[option] = value
    return values
