"""Pages of simulations, comparisons, studies and fronts: each one file that needs nothing else.

* ``frame``: the page as HTML: the answer first, then pictures, tables, settings and the command. The bench's
  report has the same frame.
* ``drawing``: figures as SVG text in the page's own colours, light or dark.
* ``recording``: what of a played history is drawn, as JSON can keep it.
* ``pictures``: one kind of picture a file.
* ``simulation``, ``comparison``, ``study``, ``front``: what is on which page.

Needs the extra ``report``; nothing is loaded from anywhere when a page is opened.
"""
