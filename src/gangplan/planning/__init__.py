"""Rounds made and studied offline.

``scenario`` reads what people write; ``generate`` and ``families`` make benchmark rounds, ``histories`` what
happens over many of them. ``rounds`` plays a history round by round, one of ``policies`` decides, ``predict``
learns how long jobs run from those that have ended, and ``metrics`` says what it was worth.
"""
