"""The entry point of the researcher `model`."""

from collections.abc import Callable, Mapping, Sequence
from datetime import date
from typing import Any, ClassVar

from pydantic import BaseModel

from finassay.api.model import ChatModel, Models
from finassay.api.research import Assignment, Derivation, Desk, Draft, Question
from finassay.api.verdict import Json
from finassay_researcher_model import forms, prompts, wording
from finassay_researcher_model.drafting import Drafting
from finassay_researcher_model.grounding import Grounds, UngroundedError, claimed, reasons
from finassay_researcher_model.loop import Answer, GaveUpError, Loop
from finassay_researcher_model.options import ModelResearcherOptions
from finassay_researcher_model.toolbox import Toolbox


class ModelResearcher:
    """Writes criteria and derives values by a chat model with tools; implements `finassay.api.research.Researcher`.

    It keeps no state: what it does rests on what it is given, its model and its options alone, so that a stopped rubric goes on from stored
    replies. Its family is that of its model.
    """

    api_version: ClassVar[int] = 1
    takes_models: ClassVar[bool] = True
    description: ClassVar[str] = "a chat model with search, documents and Python; a program verifies every quote, figure and script"
    Options: ClassVar[type[BaseModel]] = ModelResearcherOptions
    version: ClassVar[str] = "1"

    def __init__(self, options: ModelResearcherOptions, models: Models) -> None:
        self.options = options
        settings = {**options.model_options, **({"effort": options.effort} if options.effort else {})}
        self.model: ChatModel = models.get(options.model, settings)
        self.id = self.model.id
        self.family = self.model.family

    @property
    def identity(self) -> Mapping[str, Json]:
        """What the results rest on besides the code: model, options, prompts."""

        told = self.options.model_dump(mode="json", exclude={"model"}, exclude_defaults=True)
        prompts = {role: wording.digest(role) for role in ("writer", "reviewer")}
        return {"model": self.model.id, "family": self.model.family, "options": told, "prompts": prompts}

    def write(self, assignment: Assignment, desk: Desk) -> Draft:
        """Criteria of one obligation. Raises `GaveUpError` where the model hands in nothing that can be read, and what model and source raise."""

        tools = Toolbox(desk, self.options.page_characters)
        drafting = Drafting(assignment, tools)
        best: list[Draft] = []

        def hand_in(arguments: Mapping[str, Any]) -> Answer:
            form, problems = forms.read(forms.DraftForm, arguments)
            if form is None:
                return Answer(_back(problems), fruitless=True)
            best.append(drafting.draft(form))
            taken = not drafting.problems or len(best) > self.options.repairs
            return Answer("taken" if taken else _back(drafting.problems), done=taken)

        asked = prompts.writing(assignment, tools)
        try:
            self._loop("writer", f"draft:{assignment.obligation}", tools, hand_in, asked)
        except GaveUpError:
            if not best:
                raise
        return best[-1]

    def derive(self, question: Question, desk: Desk) -> Derivation:
        """One value, or None with the reason. Raises what model and source raise."""

        if not question.text.strip():
            return Derivation(None, reason="nothing is asked")
        tools = Toolbox(desk, self.options.page_characters, question.documents)
        found: list[Derivation] = []

        def hand_in(arguments: Mapping[str, Any]) -> Answer:
            form, problems = forms.read(forms.ValueForm, arguments)
            if form is None:
                return Answer(_back(problems), fruitless=True)
            nothing = claimed(form)
            if nothing is not None:
                found.append(Derivation(None, reason=nothing.reason))
                return Answer("taken", done=True)
            try:
                found.append(derived(form, question, tools))
            except UngroundedError as error:
                found.append(Derivation(None, reason=f"not grounded: {reasons(error)}"))
                taken = len(found) > self.options.repairs
                return Answer("taken" if taken else _back([reasons(error)]), done=taken)
            return Answer("taken", done=True)

        try:
            self._loop("reviewer", f"review:{question.id}", tools, hand_in, prompts.deriving(question, desk))
        except GaveUpError as error:
            return found[-1] if found else Derivation(None, reason=str(error))
        return found[-1]

    def _loop(self, role: str, about: str, tools: Toolbox, hand_in: Callable[[Mapping[str, Any]], Answer], asked: str) -> None:
        def call(name: str, arguments: Mapping[str, Any]) -> Answer:
            return hand_in(arguments) if name == wording.HAND_IN else Answer(tools.call(name, arguments))

        Loop(self.model, self.options, wording.tools(role), call, role, about).run(wording.system(role), asked)


def derived(form: Any, question: Question, tools: Toolbox) -> Derivation:
    """The value of a form that claims one: a number where it names a unit, else words. Raises `UngroundedError`."""
    asked = question.period.asked if question.period else ""
    if form.unit.strip():
        return Grounds(tools, form, asked).derivation()
    kind = "date" if _is_day(form.words) else "set" if ";" in form.words else "text"
    return Grounds(tools, form, asked, numeric=False, kind=kind).derivation()


def _is_day(words: str) -> bool:
    try:
        date.fromisoformat(words.strip())
    except ValueError:
        return False
    return True


def _back(problems: Sequence[str]) -> str:
    told = "\n".join(f"- {problem}" for problem in problems[:20])
    return f"Not taken. What does not hold:\n{told}\nHand in everything again, corrected; what cannot be grounded without a value and with the reason."
