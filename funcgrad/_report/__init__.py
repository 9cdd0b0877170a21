"""What graphs are made into for people and other programs: pictures, tables, pages, files. Imported when asked for."""

from funcgrad._core.graph.program import REPORTS

REPORTS.update(
    {
        "simplify": "funcgrad._core.graph.simplify",
        "to_dot": "funcgrad._report.dot",
    }
)
