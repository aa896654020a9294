"""Rows as tables and pictures: Markdown with nothing extra, one self-contained page with the extra `report`.

No mean or median of ratios is taken anywhere: a ratio is of two figures of the same table.
"""
