"""How the documentation is built: `make docs`, offline, every warning an error.

`LATENTBITS_DOCS=quick` shows the code of guides and gallery without running it.
"""

import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "_ext"))

from latentbits.version import __version__  # noqa: E402

QUICK = os.environ.get("LATENTBITS_DOCS") == "quick"

project = "latentbits"
author = "The latentbits developers"
copyright = author
version = release = __version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
    "sphinx_click",
    "measured",
    "mathml",
    "own_members",
    "commands",
]
source_suffix = {".rst": "restructuredtext", ".md": "markdown"}
exclude_patterns = ["_build", "scripts/**", "api/backreferences/**", "**/sg_execution_times.rst", "**/*.ipynb"]
templates_path = ["_templates"]
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath", "attrs_block", "attrs_inline"]
myst_heading_anchors = 3
smartquotes = False  # options such as --top are copied from pages
nitpicky = True
nitpick_ignore_regex = [("py:.*", r"^(?!latentbits).*")]  # names of other libraries: their pages are on the network

autosummary_generate = True
autodoc_typehints = "none"
add_module_names = False
toc_object_entries_show_parents = "hide"
default_role = "literal"  # `name` in docstrings
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

html_math_renderer = "mathml"

# ---- guides and gallery: scripts that are run, their output and pictures shown -------------------------------------

sphinx_gallery_conf = {
    "examples_dirs": ["scripts/guides", "scripts/gallery"],
    "gallery_dirs": ["guides", "gallery"],
    "filename_pattern": r"\.py$",
    "plot_gallery": not QUICK,
    "abort_on_example_error": True,
    "image_scrapers": ("returned_figures",),
    "image_srcset": ["2x"],
    "ignore_repr_types": r"NotebookFigure|NoneType",
    "reset_modules": (),
    "within_subsection_order": "FileNameSortKey",
    "backreferences_dir": "api/backreferences",
    "doc_module": ("latentbits",),
    "remove_config_comments": True,
    "first_notebook_cell": "%matplotlib inline",  # without it notebooks show figures of matplotlib's own class as text
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 10_000,
    "write_computation_times": False,
    "parallel": 1 if QUICK else int(os.environ.get("LATENTBITS_DOCS_JOBS", "2")),
    "default_thumb_file": str(HERE / "_static" / "no-picture.png"),
}

# ---- the pages -----------------------------------------------------------------------------------------------------

html_theme = "pydata_sphinx_theme"
html_title = f"latentbits {__version__}"
html_static_path = ["_static"]
html_extra_path = ["llms.txt"]
html_css_files = ["site.css"]
html_js_files = ["names.js"]
html_favicon = "_static/favicon.svg"
html_copy_source = False
html_show_sourcelink = False
html_show_search_summary = False  # summaries are fetched, which a page opened from a file can't do
html_sidebars = {"index": [], "which-model": [], "coming-from": [], "questions": []}
html_context = {"default_mode": "auto"}  # light or dark as the reader has it
html_theme_options = {
    "logo": {"text": "latentbits", "image_light": "_static/logo.svg", "image_dark": "_static/logo.svg"},
    "navbar_align": "left",
    "header_links_before_dropdown": 8,
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "secondary_sidebar_items": {"**": ["page-toc"], "index": []},
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
