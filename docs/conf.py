"""How Sphinx builds the documentation: ``make docs``."""

import importlib
import os
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(Path(__file__).parent / "_site")]
# For the kernel that runs the pages with cells.
os.environ["PYTHONPATH"] = os.pathsep.join([*sys.path[:2], os.environ.get("PYTHONPATH", "")])
# On a page a bar of progress would be a hundred lines.
os.environ["TQDM_DISABLE"] = "1"

version = release = importlib.import_module("funcgrad").__version__

project = "funcgrad"
author = "the authors of funcgrad"
copyright = author  # noqa: A001  (Sphinx's name)

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "mathml",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "myst_nb",
    "reference",
    "tidy",
]
exclude_patterns = ["_build", "**/.ipynb_checkpoints", "gallery/**/*.ipynb", "**sg_execution_times.rst"]
templates_path: list[str] = []
html_static_path = ["_static"]
default_role = "py:obj"
highlight_language = "python"
nitpicky = False

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath", "amsmath", "fieldlist"]
myst_heading_anchors = 4
nb_render_markdown_format = "myst"
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 120

autodoc_typehints = "none"
autodoc_member_order = "bysource"
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_ivar = True
napoleon_use_rtype = False
napoleon_preprocess_types = False
python_maximum_signature_line_length = 100
toc_object_entries_show_parents = "hide"

sphinx_gallery_conf = {
    "examples_dirs": "../examples/gallery",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "subsection_order": [
        f"../examples/gallery/{folder}" for folder in ("statistics", "physics", "optimization", "learning")
    ],
    "within_subsection_order": "FileNameSortKey",
    "thumbnail_size": (640, 250),
    "reset_modules": ("matplotlib", "gallery_style.apply"),
    "capture_repr": ("_repr_html_",),
    "remove_config_comments": True,
    "show_signature": False,
    "plot_gallery": "True",
    "min_reported_time": 10,
    "backreferences_dir": "gallery/backreferences",
    "doc_module": ("funcgrad",),
}

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

html_theme = "pydata_sphinx_theme"
html_math_renderer = "mathml"
html_title = "funcgrad"
html_logo = html_favicon = "_static/logo.svg"
html_search_scorer = "_site/scorer.js"
html_theme_options = {
    "logo": {"text": "funcgrad"},
    "icon_links": [
        {"name": "Repository", "url": "https://github.com/funcgrad/funcgrad", "icon": "fa-brands fa-github"},
    ],
    "navbar_align": "left",
    "header_links_before_dropdown": 7,
    "show_toc_level": 2,
    "collapse_navigation": True,
    "navigation_depth": 3,
    "footer_start": ["copyright"],
    "footer_end": ["theme-version"],
    "secondary_sidebar_items": ["page-toc"],
    "pygments_light_style": "tango",
    "pygments_dark_style": "github-dark",
}
html_css_files = ["site.css"]
html_show_sourcelink = False
