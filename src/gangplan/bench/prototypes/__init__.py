"""The prototypes' own figures beside ours: ``gangplan bench run --prototypes DIR``.

``process.py`` runs inside the prototypes' interpreter, with nothing of ours; ``side.py`` calls it and makes
rows; ``instances.py`` makes rounds of their instances; ``beside.py`` says which runs stand beside each other.
"""
