# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Reports as one HTML file: a page, its tables and pictures."""

from __future__ import annotations

import base64
import html
import io
from collections.abc import Sequence
from typing import Any

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; margin: 1rem 0; font-size: 13px; }
td, th { padding: 0.2rem 0.6rem; border-bottom: 1px solid #ddd; text-align: right; }
td:first-child, th:first-child { text-align: left; }
img { max-width: 100%; } pre { background: #f5f5f5; padding: 1rem; overflow-x: auto; }
.fault { color: #b00020; }
"""


def page(title: str, parts: Sequence[str]) -> str:
    """A page of parts that are HTML, below its title, which is text."""
    title = html.escape(title)
    head = f'<meta charset="utf-8"><title>{title}</title><style>{_STYLE}</style>'
    body = '\n'.join([f'<h1>{title}</h1>', *parts])
    return f'<!doctype html>\n<html lang="en"><head>{head}</head>\n<body>\n{body}\n</body></html>\n'


def table(columns: Sequence[object], rows: Sequence[Sequence[object]]) -> str:
    """A table; cells are text."""
    head = ''.join(f'<th>{html.escape(str(column))}</th>' for column in columns)
    body = '\n'.join(
        '<tr>' + ''.join(f'<td>{html.escape(str(cell))}</td>' for cell in row) + '</tr>'
        for row in rows
    )
    return f'<table><tr>{head}</tr>\n{body}</table>'


def image(figure: Any, text: str) -> str:
    """A figure of matplotlib inside the page, sharp enough to print.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
    text : str
        What it shows, for readers who cannot see it.
    """
    stream = io.BytesIO()
    figure.savefig(stream, format='png', dpi=160)
    content = base64.b64encode(stream.getvalue()).decode()
    return f'<p><img alt="{html.escape(text)}" src="data:image/png;base64,{content}"></p>'
