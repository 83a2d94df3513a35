"""Report sections that observers may contribute."""

from attrs import frozen


@frozen
class ReportSection:
    """An extra section of a run's page. `text` is shown escaped, as paragraphs."""

    title: str
    text: str
