"""Sessions: what a caller's cluster is between two rounds, so that only what changes is sent.

``content`` and ``record`` are pure values, ``store`` is where they outlive the process, ``registry`` ties the
two together and knows neither the wire nor gRPC.
"""
