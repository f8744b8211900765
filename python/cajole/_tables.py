"""Results as dicts, Arrow tables and data frames."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cajole._native import Result


def to_dicts(results: Iterable[Result]) -> list[dict[str, Any]]:
    """Every record as a dict."""
    return [result.to_dict() for result in results]


def _rows(results: Iterable[Result]) -> list[dict[str, Any]]:
    """One flat row for each answer; a line without answers has a row, too."""
    rows: list[dict[str, Any]] = []
    for result in results:
        record = result.to_dict()
        answers = record.pop("answers", None)
        rows.extend([record] if answers is None else [{**record, **a} for a in answers])
    return rows


def to_arrow(results: Iterable[Result]) -> Any:
    """A table with a row for each answer."""
    import pyarrow

    rows = _rows(results)
    # A column of ids may mix texts and numbers, or have numbers of more than 64 bits, which Arrow
    # cannot; such a column becomes text.
    names = dict.fromkeys(name for row in rows for name in row)
    columns = {}
    for name in names:
        values = [row.get(name) for row in rows]
        try:
            columns[name] = pyarrow.array(values)
        except (pyarrow.ArrowInvalid, pyarrow.ArrowTypeError, OverflowError):
            columns[name] = pyarrow.array([None if v is None else str(v) for v in values])
    return pyarrow.table(columns)


def to_pandas(results: Iterable[Result]) -> Any:
    """A data frame with a row for each answer."""
    import pandas

    return pandas.DataFrame.from_records(_rows(results))
