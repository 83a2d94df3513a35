"""Chat models in the roles that rules take by default, as commands name them."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from attrs import frozen

from finassay.api.errors import UsageError
from finassay.api.verdict import Json

if TYPE_CHECKING:
    from finassay.api.guidance import Guidance
    from finassay.api.model import ChatModel
    from finassay.models.service import ModelService
    from finassay_rubrics.context.reading import Contextualizer
    from finassay_rubrics.generate.compose import Composer
    from finassay_rubrics.generate.looks import GlobalReviewer

RULES: Final = "rules"
NAMES: Final = ("contextualizer", "composer", "global-reviewer")


@frozen
class Roles:
    """Who reads the query, who moves points, who looks at the whole; None where rules do."""

    contextualizer: "Contextualizer | None" = None
    composer: "Composer | None" = None
    global_reviewer: "GlobalReviewer | None" = None

    @property
    def besides(self) -> dict[str, Json]:
        """For the manifest: what a rubric rests on besides its researchers."""
        own = dict(zip(NAMES, (self.contextualizer, self.composer, self.global_reviewer), strict=True))
        return {name: dict(getattr(one, "identity", {})) for name, one in own.items() if one is not None}


def roles_of(
    models: "ModelService", guidance: "Guidance", names: Mapping[str, str], options: Mapping[str, Mapping[str, Any]] | None = None
) -> Roles:
    """The roles by `rules` or `PROVIDER/NAME`. Raises `UsageError` and what making a model raises; contacts nobody."""
    made: dict[str, Any] = {}
    for role in NAMES:
        name = names.get(role, RULES)
        if name == RULES:
            continue
        if "/" not in name:
            raise UsageError(
                f"--{role} {name!r}: expected rules or PROVIDER/NAME", hint="For the installed providers: finassay plugins model"
            )
        made[role.replace("-", "_")] = _role(role, models.to(role).get(name, dict((options or {}).get(role, {}))), guidance)
    return Roles(**made)


def refuse_one_family(
    models: "ModelService",
    first: str,
    others: Mapping[str, str],
    options: Mapping[str, Mapping[str, Any]] | None = None,
    role: str = "writer",
) -> None:
    """Refuse models of one family by their names alone, so that nobody is asked for a key that would not help.

    `first` has the `role`; `others` is role to name. Only what is a model by `PROVIDER/NAME` and tells its family is compared; who makes them
    compares what they are. Raises `UsageError`.
    """
    given = options or {}
    family = _family(models, first, given.get(role, {}))
    for other, name in others.items():
        if family and family == _family(models, name, given.get(other, {})):
            raise UsageError(f"{role} and {other} are of one family, {family}", hint="Take one of another: what neither sees, nobody sees.")


def _family(models: "ModelService", name: str, options: Mapping[str, Any]) -> str:
    inner = options.get("model_options")  # what a researcher that is a model gives its model
    own = inner if isinstance(inner, Mapping) else options
    family = models.family(name, own) if "/" in name else ""
    return "" if family == "unknown" else family


def _role(role: str, model: "ChatModel", guidance: "Guidance") -> Any:
    if role == "contextualizer":
        from finassay_rubrics.roles.contextualizer import ModelContextualizer

        return ModelContextualizer(model, guidance)
    if role == "composer":
        from finassay_rubrics.roles.composer import ModelComposer

        return ModelComposer(model, guidance)
    from finassay_rubrics.roles.global_reviewer import ModelGlobalReviewer

    return ModelGlobalReviewer(model, guidance)
