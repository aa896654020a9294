"""All the maths: no I/O, no solver library.

The model proper (options, instance, program, bind) never imports the verifier (outcome, facts, verify),
nor the other way round: they meet only in ``terms/`` and ``constraints/``, where a formula and its
independent evaluation stand side by side.
"""
