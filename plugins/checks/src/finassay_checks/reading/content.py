"""What reading one file gives."""

import pandas as pd
from attrs import Factory, field, frozen


@frozen(eq=False)
class RawTable:
    """One table of a file: `label` is the sheet or key it came from, empty for a file that is one table."""

    frame: pd.DataFrame = field(repr=False)
    label: str = ""
    notes: tuple[str, ...] = ()


@frozen(eq=False)
class Content:
    """Tables, prose and code of one file; `problems` are (finding kind, message)."""

    tables: tuple[RawTable, ...] = ()
    prose: str = ""
    code: str = ""
    problems: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = Factory(tuple)
