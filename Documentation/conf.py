# SPDX-License-Identifier: GPL-2.0-or-later
# Sphinx: `make docs` makes build/docs of these files.
project = "Adept"
copyright = "the authors of Adept"
exclude_patterns = ["man"]
html_theme = "alabaster"
html_theme_options = {"page_width": "1100px"}
html_copy_source = False
smartquotes = False
