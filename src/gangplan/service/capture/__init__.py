"""Captured rounds: what a service keeps of the rounds that it plans, and what can be done with them later.

``bundle`` is the file of one round, ``folder`` where files are kept until there are too many, ``wanted``
which rounds are kept, ``recorder`` the thread that writes them beside the calls, ``replay`` plans one again,
and ``differences`` says in what two rounds or answers differ.
"""
