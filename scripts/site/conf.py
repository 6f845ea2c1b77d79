"""Sphinx configuration of the site; `scripts/build_site.py` prepares the pages and calls it."""

import os

project = "Tollgate"
author = "Tollgate maintainers"
release = version = os.environ["TOLLGATE_SITE_VERSION"]
extensions = ["myst_parser"]
root_doc = "index"

# Headings have the anchors that links between pages use, as on Markdown hosts.
myst_heading_anchors = 6
myst_enable_extensions: list[str] = []

# A block may contain a fragment of a language, such as JSON with an ellipsis.
suppress_warnings = ["misc.highlighting_failure"]
highlight_language = "none"
nitpicky = True

html_theme = "furo"
html_title = f"Tollgate {version}"
html_copy_source = False
html_show_sourcelink = False
html_show_copyright = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#0b6e5f", "color-brand-content": "#0b6e5f"},
    "dark_css_variables": {"color-brand-primary": "#5ecbb8", "color-brand-content": "#5ecbb8"},
}
