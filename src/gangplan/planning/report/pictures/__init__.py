"""One kind of picture a file: what a recording or a study has of it in, title and SVG out."""
