"""Who may call what, how often and with how much.

``scopes`` says what each method needs, ``callers`` reads who there is, ``certificates`` reads what TLS
needs, ``rates`` counts, ``exposure`` refuses a set-up that would let anybody in, and ``guard`` stands before
every call.
"""
