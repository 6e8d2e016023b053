# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Reports as one HTML file: a page, its tables and pictures."""

from __future__ import annotations

import base64
import html
import io
from collections.abc import Sequence
from typing import Any

from masticator_dynamics.files.share import config_text


def page(title: str, parts: Sequence[str]) -> str:
    """A page of parts that are HTML, below its title, which is text."""
    title, style = html.escape(title), config_text('view/report.css')
    head = f'<meta charset="utf-8"><title>{title}</title><style>{style}</style>'
    body = '\n'.join([f'<h1>{title}</h1>', *parts])
    return f'<!doctype html>\n<html lang="en"><head>{head}</head>\n<body>\n{body}\n</body></html>\n'


def table(columns: Sequence[object], rows: Sequence[Sequence[object]]) -> str:
    """A table; cells are text, of which lines are kept."""

    def line(kind: str, cells: Sequence[object]) -> str:
        texts = (html.escape(str(cell)).replace('\n', '<br>') for cell in cells)
        return f'<tr>{"".join(f"<{kind}>{text}</{kind}>" for text in texts)}</tr>'

    head = [f'<thead>{line("th", columns)}</thead>'] if columns else []  # again on every page
    return '\n'.join(['<table>', *head, *(line('td', row) for row in rows), '</table>'])


def image(figure: Any, text: str) -> str:
    """A figure of matplotlib inside the page, sharp enough to print.

    Parameters
    ----------
    text : str
        What it shows, for readers who cannot see it.
    """
    stream = io.BytesIO()
    figure.savefig(stream, format='png', dpi=160)
    content = base64.b64encode(stream.getvalue()).decode()
    return f'<p><img alt="{html.escape(text)}" src="data:image/png;base64,{content}"></p>'
