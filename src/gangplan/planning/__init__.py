"""Rounds made and studied offline.

``scenario`` reads what people write; ``generate`` and ``families`` make benchmark rounds, ``histories`` what
happens over many of them. ``rounds`` plays a history round by round, one of ``policies`` decides, and
``metrics`` says what it was worth.
"""
