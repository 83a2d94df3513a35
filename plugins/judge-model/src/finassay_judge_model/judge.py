"""The entry point of the judge `model`."""

import contextvars
import threading
from collections.abc import Callable, Mapping, Sequence
from queue import Empty, SimpleQueue

from attrs import define, field

from finassay.api.errors import BudgetError, JudgeError, ProviderError, ProviderRefusedError
from finassay.api.grading import Answer, JudgeRequest, Material, Quote
from finassay.api.model import Models
from finassay.api.verdict import Json
from finassay_judge_model.answers import read
from finassay_judge_model.form import wording_digest
from finassay_judge_model.options import ModelJudgeOptions
from finassay_judge_model.panel import Member, decide, members
from finassay_judge_model.profiles import Group, plan
from finassay_judge_model.prompt import chat_request
from finassay_judge_model.selection import Shown, select
from finassay_judge_model.steering import steering

Outcome = dict[int, Answer | JudgeError]


class ModelJudge:
    """Grades with a language model, or with a panel of several families.

    Every call holds the delivery between marks that it cannot imitate, the anchors of the dimensions in question and the facts of the
    programs. An answer that does not fit its form is none: a question of a shared call is then asked alone, once. Raises `UsageError` when
    it is made without a model, or with a panel of one family.
    """

    api_version = 1
    description = "Grades meaning with a language model, or a panel of several families, by anchors and verified quotes."
    Options = ModelJudgeOptions
    takes_models = True
    id = "model"
    version = "1"
    deterministic = False

    def __init__(self, options: ModelJudgeOptions, models: Models) -> None:
        self.options = options
        self.members = members(options, models)

    @property
    def identity(self) -> Mapping[str, Json]:
        """What the answers depend on besides the code."""
        told = self.options.model_dump(exclude={"model", "panel", "parallel", "seconds"}, exclude_defaults=True)
        return {"models": [dict(m.identity) for m in self.members], "options": told, "prompts": wording_digest()}

    def answer(self, request: JudgeRequest) -> Answer:
        found = self.answer_all([request])[0]
        if isinstance(found, JudgeError):
            raise found
        return found

    def answer_all(self, requests: Sequence[JudgeRequest]) -> list[Answer | JudgeError]:
        """Answers in order. Raises `BudgetError`; a provider that fails leaves errors for the questions of its calls."""
        if not requests:
            return []
        calls = _Calls(self.options, self.members)
        groups = [group for number in range(len(self.members)) for group in plan(requests, self.options, number)]
        outcomes = list(zip(groups, calls.make(groups), strict=True))
        alone = [single for group, outcome in outcomes for single in group.singles(_worth_another(group, outcome))]
        by_member: list[Outcome] = [{} for _ in self.members]
        for group, outcome in (*outcomes, *zip(alone, calls.make(alone), strict=True)):
            by_member[group.member] |= outcome
        return [
            decide(request, [(member, found[index]) for member, found in zip(self.members, by_member, strict=True)], self.options.vote)
            for index, request in enumerate(requests)
        ]


def _worth_another(group: Group, outcome: Outcome) -> dict[int, str]:
    """Questions of a shared call that may do better alone: index to what was wrong. Not where the provider is down, or refuses any request."""
    if len(group.places) == 1:
        return {}
    return {index: str(e)[:200] for index, e in outcome.items() if isinstance(e, JudgeError) and _about_the_call(e.__cause__)}


def _about_the_call(cause: BaseException | None) -> bool:
    """Whether a smaller call may get an answer where this one got none."""
    if isinstance(cause, ProviderRefusedError):
        return not cause.any_request
    return not isinstance(cause, ProviderError | OSError)


@define
class _Calls:
    """Makes calls, several at a time. Prepares each material once."""

    options: ModelJudgeOptions
    members: tuple[Member, ...]
    _materials: dict[int, tuple[Shown, tuple[Quote, ...]]] = field(init=False, factory=dict)

    def make(self, groups: Sequence[Group]) -> list[Outcome]:
        """What each call gave. Raises `BudgetError` once the calls that were begun have ended."""
        for group in groups:
            self._prepare(group.places[0].request.material)
        if len(groups) < 2 or self.options.parallel == 1:
            return [self._call(group) for group in groups]
        return _in_threads(self._call, groups, self.options.parallel)

    def _prepare(self, material: Material) -> None:
        if id(material) not in self._materials:
            agents = frozenset(m.where for m in material.messages if not m.where.startswith("u"))
            self._materials[id(material)] = (select(material, self.options.max_characters), steering(material, agents))

    def _call(self, group: Group) -> Outcome:
        shown, found = self._materials[id(group.places[0].request.material)]
        request = chat_request(group, shown, self.options)
        try:
            reply = self.members[group.member].model.complete(request)
        except BudgetError:
            raise
        except Exception as error:  # a provider is somebody else's code
            return {place.index: _unanswered(error) for place in group.places}
        return read(reply, group, shown, found)


def _in_threads(call: Callable[[Group], Outcome], groups: Sequence[Group], parallel: int) -> list[Outcome]:
    """Outcomes in the order of the groups. Each call sees the context of the caller: the ledger reads from it which session is served.

    After an error nothing new begins, and what has begun ends first: it is paid for. Threads are daemons, so that an answer that never
    comes keeps no interrupted program alive.
    """
    waiting: SimpleQueue[tuple[int, Group, contextvars.Context]] = SimpleQueue()
    for number, group in enumerate(groups):
        waiting.put((number, group, contextvars.copy_context()))
    outcomes: dict[int, Outcome] = {}
    failures: list[BaseException] = []
    stop = threading.Event()

    def work() -> None:
        while not stop.is_set():
            try:
                number, group, context = waiting.get_nowait()
            except Empty:
                return
            try:
                outcomes[number] = context.run(call, group)
            except BaseException as error:  # told where the judge was asked
                failures.append(error)
                stop.set()

    threads = [threading.Thread(target=work, name=f"judge-{n}", daemon=True) for n in range(min(parallel, len(groups)))]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        stop.set()
    if failures:
        raise failures[0]
    return [outcomes[number] for number in range(len(groups))]


def _unanswered(error: Exception) -> JudgeError:
    found = JudgeError(str(error)[:500] if isinstance(error, ProviderError) else f"{type(error).__name__}: {error}"[:500])
    found.__cause__ = error
    return found
