"""Tests of what notebooks show: the report in a frame, or a text where the library has no charts."""
import html
import os
import pathlib
import re
import tempfile
import unittest
from unittest import mock

import fathom
from fathom import _library, notebook

LAUNCH = pathlib.Path(__file__).resolve().parents[1] / "modern/triton/rows/vector_add.json"


def page_of(text):
    """Returns the page in a frame."""
    match = re.fullmatch(r'<iframe srcdoc="([^"]*)" width="100%" height="(\d+)" sandbox="allow-scripts" '
                         r'style="border: 0"></iframe>', text)
    return html.unescape(match[1]), int(match[2])


class Frames(unittest.TestCase):
    def test_page_is_escaped(self):
        page = '<p title="a & b">\'<script>if (1 < 2) {}</script>'
        with mock.patch.object(_library, "report_html", return_value=page) as report:
            text = notebook.frame("{}", height=321)
        self.assertEqual(page_of(text), (page, 321))
        path, = report.call_args[0][0]
        self.assertFalse(os.path.exists(path))
        self.assertFalse(os.path.exists(os.path.dirname(path)))

    def test_document_is_written(self):
        def report(paths):
            with open(paths[0], encoding="utf-8") as file:
                return file.read()

        with mock.patch.object(_library, "report_html", side_effect=report):
            self.assertEqual(page_of(notebook.frame('{"name": "µ"}'))[0], '{"name": "µ"}')

    def test_without_charts(self):
        folders = []

        def report(paths):
            folders.append(os.path.dirname(paths[0]))
            raise _library.Unsupported("built without D3 <5")

        with mock.patch.object(_library, "report_html", side_effect=report):
            self.assertEqual(notebook.frame('{"a": "<b>"}'), "<p>No charts: built without D3 &lt;5</p>"
                             "<pre>{&quot;a&quot;: &quot;&lt;b&gt;&quot;}</pre>")
            self.assertEqual(notebook.frame("{}", fallback=lambda: "a < b"),
                             "<p>No charts: built without D3 &lt;5</p><pre>a &lt; b</pre>")
        self.assertFalse(any(os.path.exists(folder) for folder in folders))

    def test_other_errors_pass(self):
        with mock.patch.object(_library, "report_html", side_effect=KeyError("x")):
            with self.assertRaises(KeyError):
                notebook.frame("{}")


class Charts(unittest.TestCase):
    """The charts of the library, if it was built with D3."""

    def setUp(self):
        try:
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "gpu.json")
                with open(path, "w", encoding="utf-8") as file:
                    file.write(fathom.gpu("h200").to_json())
                _library.report_html([path])
        except _library.Unsupported as error:
            self.skipTest(str(error))

    def test_description(self):
        page, height = page_of(fathom.gpu("h200")._repr_html_())  # pylint: disable=protected-access
        self.assertIn("NVIDIA H200", page)
        self.assertEqual(height, 600)

    def test_model(self):
        result = fathom.model(str(LAUNCH), gpu="h200")
        page, _ = page_of(result._repr_html_())  # pylint: disable=protected-access
        self.assertIn("vector_add", page)


if __name__ == "__main__":
    unittest.main()
