"""Shows results in notebooks: the charts of `fathom report` in a frame, for `_repr_html_`."""
from __future__ import annotations

import html
import os
import tempfile
from typing import Callable, Optional

from . import _library


def frame(json_text: str, height: int = 600, fallback: Optional[Callable[[], str]] = None) -> str:
    """Returns HTML that shows a document of fathom as `fathom report` does: a description, results
    of the model, or any other document that the report takes.

    json_text: the document, such as ModelResult.to_json()
    height: of the frame, in pixels
    fallback: returns the text to show where there are no charts; default: the document

    The report is a page of its own in a frame, so that its styles do not change the notebook. It
    loads nothing from the network. If the library was built without D3, which draws the charts, or
    the report does not know the document, the HTML has the text instead.
    """
    folder = tempfile.mkdtemp(prefix="fathom-")
    path = os.path.join(folder, "document.json")
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write(json_text)
        page = _library.report_html([path])
    except _library.Error as error:
        return (f"<p>{html.escape(f'No charts: {error}')}</p>"
                f"<pre>{html.escape(fallback() if fallback else json_text)}</pre>")
    finally:
        if os.path.exists(path):
            os.unlink(path)
        os.rmdir(folder)
    return (f'<iframe srcdoc="{html.escape(page)}" width="100%" height="{int(height)}" '
            'sandbox="allow-scripts" style="border: 0"></iframe>')
