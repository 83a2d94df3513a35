"""The orchestrator: a rubric from its context, stage by stage. What cannot be repaired goes to a person, never through.

freezing.py     before research: the context's rules, 100 points split over the obligations
obligation.py   each obligation: draft, examination, review, repair
whole.py        the whole: rules over all, a global reviewer, obligations that come back
settling.py     what people decided meanwhile
finishing.py    composition of points, the queue, the rubric
"""

from attrs import define

from finassay_rubrics.generate.finishing import finished
from finassay_rubrics.generate.freezing import frozen_obligations
from finassay_rubrics.generate.obligation import made
from finassay_rubrics.generate.settling import settled
from finassay_rubrics.generate.whole import looked_over
from finassay_rubrics.generate.work import Part, Team, Told, Work, silent
from finassay_rubrics.record.rubric import Rubric


@define
class Orchestrator(Work):
    """Makes one rubric in one folder; made again with the same folder it goes on."""

    def make(self) -> Rubric:
        """The rubric, final or queued. Raises what sources and models raise; the same call then goes on."""
        obligations = frozen_obligations(self)
        parts: dict[str, Part] = {}
        for number, one in enumerate(obligations, start=1):
            self.told(f"obligation {number} of {len(obligations)}: {one.what}")
            parts[one.id] = made(self, one)
        parts = looked_over(self, obligations, parts)
        words = {one.id: settled(self.folder, self.team.desk_of_people, one, parts[one.id]) for one in obligations}
        return finished(self, obligations, words)


__all__ = ["Orchestrator", "Team", "Told", "silent"]
