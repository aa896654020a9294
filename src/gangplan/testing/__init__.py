"""For tests, the product's own and its users': builders, strategies of whole rounds, and the raw enumerator.

Nothing here is imported by the product itself. :mod:`gangplan.testing.strategies` needs hypothesis (the extra
``testing``); the rest needs nothing.
"""
