"""A frame that displays with its caption and evidence class, as HTML and as plain text, the same on every run."""

from __future__ import annotations

from html import escape

import pandas as pd

from suite.results.texts import aligned, column_texts, markdown


class Table:
    """`frame` is the frame itself, in full precision; `decimals` fixes those of all columns or of some (dict)."""

    def __init__(self, frame: pd.DataFrame, caption: str, decimals: int | dict[str, int] | None = None) -> None:
        self.frame, self.caption = frame, caption
        shown = frame.reset_index() if has_named_index(frame) else frame
        self.head = [" ".join(map(str, c)).strip() if isinstance(c, tuple) else str(c) for c in shown.columns]
        columns = [shown.iloc[:, place] for place in range(shown.shape[1])]
        fixed = [decimals.get(name) if isinstance(decimals, dict) else decimals for name in self.head]
        self.rows = list(zip(*map(column_texts, columns, fixed), strict=True))
        self.right = [column.dtype.kind in "iuf" for column in columns]

    def __len__(self) -> int:
        return len(self.frame)

    def __repr__(self) -> str:
        return "\n".join([self.caption, "", *aligned(self.head, self.rows, self.right)])

    def _repr_html_(self) -> str:
        def line(cells: list[str], tag: str) -> str:
            sides = ["right" if right else "left" for right in self.right]
            filled = (f'<{tag} style="text-align:{s}">{escape(c)}</{tag}>' for c, s in zip(cells, sides, strict=True))
            return f"<tr>{''.join(filled)}</tr>"

        style = "text-align:left;font-weight:bold;white-space:nowrap"
        caption = f'<caption style="{style}">{escape(self.caption)}</caption>'
        rows = [line(row, "td") for row in self.rows]
        head = f"<thead>{line(self.head, 'th')}</thead>"
        return "\n".join(["<table>", caption, head, "<tbody>", *rows, "</tbody>", "</table>"])

    def to_markdown(self) -> str:
        """The table as Markdown, its caption below."""
        return "\n".join([*markdown(self.head, self.rows, self.right), "", self.caption, ""])


def has_named_index(frame: pd.DataFrame) -> bool:
    """Whether the index carries data: a plain 0…n-1 index is not worth a column."""
    return not (isinstance(frame.index, pd.RangeIndex) and frame.index.name is None)
