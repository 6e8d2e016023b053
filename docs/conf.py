# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""How the documentation becomes a site: ``make docs``."""

import pathlib
import re
from xml.etree import ElementTree

manifest = ElementTree.parse(pathlib.Path(__file__).parents[1] / 'package.xml').getroot()

project = 'masticator_dynamics'
author = 'The masticator_dynamics authors'
copyright = f'2026, {author}'
version = release = manifest.findtext('version')

extensions = [
    'myst_parser',
    'sphinx.ext.autodoc',
    'sphinx.ext.napoleon',
    'sphinx.ext.viewcode',
    'sphinx_gallery.gen_gallery',
]
exclude_patterns = ['_build']
html_theme = 'furo'
html_title = f'{project.replace("_", " ")} {version}'  # can be broken in two lines

# The scripts of the gallery run while the site is built; their pages are written to docs/gallery.
sphinx_gallery_conf = {
    'examples_dirs': '../examples/gallery',
    'gallery_dirs': 'gallery',
    'within_subsection_order': 'FileNameSortKey',
    'abort_on_example_error': True,
    'download_all_examples': False,
    'min_reported_time': 1000,
    'show_memory': False,
    'show_signature': False,
    'write_computation_times': False,
}

myst_heading_anchors = 4
# Pages link folders and files of the repository, which a site does not have.
suppress_warnings = ['myst.xref_missing']

autodoc_member_order = 'bysource'
autodoc_typehints = 'signature'
# Unions of numpy's typing, several lines each, under the names that the sources give them.
autodoc_type_aliases = {
    'FloatArray': 'FloatArray',
    'npt.ArrayLike': 'ArrayLike',
    'ArrayLike': 'ArrayLike',
    'LinkWrenches': 'LinkWrenches',
    'Goal': 'Goal',
}
python_maximum_signature_line_length = 88
autodoc_default_options = {'members': True, 'inherited-members': 'ValueError'}
napoleon_google_docstring = False
# Attributes stand in the class's own table; autodoc would list them a second time.
napoleon_use_ivar = True


def attributes_one_by_one(app, what, name, thing, options, lines):
    """Give attributes that share a line of a docstring a line each, as napoleon wants them."""
    for k in reversed(range(len(lines))):
        found = re.fullmatch(r'(\w+(?:, \w+)+)( : .*)', lines[k])
        heads = [j for j in range(k) if set(lines[j + 1]) == {'-'}] if found else []
        if heads and lines[heads[-1]] == 'Attributes':
            lines[k : k + 1] = [own + found[2] for own in found[1].split(', ')]


def setup(app):
    """Run before napoleon, whose priority is 500."""
    app.connect('autodoc-process-docstring', attributes_one_by_one, priority=400)
