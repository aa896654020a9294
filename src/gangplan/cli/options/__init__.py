"""Options and arguments that several verbs have, each declared once: one name, one help text, one type.

A file for each kind of verb that has them. What differs between two verbs by one word is a function of it.
"""
