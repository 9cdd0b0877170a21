"""Convert graphs for people and other programs: pictures, tables, pages and files. Imported at first use."""

from funcgrad._core.lazy import REPORTS

REPORTS.update(
    {
        "simplify": "funcgrad._core.graph.simplify",
        "to_dot": "funcgrad._report.dot",
        "show": "funcgrad._report.page",
        "in_notebook": "funcgrad._report.page",
        "profile": "funcgrad._report.profile",
        "to_python": "funcgrad._report.python.write",
        "to_stablehlo": "funcgrad._report.stablehlo",
        "to_svg": "funcgrad._report.svg",
    }
)
