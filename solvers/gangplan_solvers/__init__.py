"""Solver backends, one module each: a neutral programme goes in, a solution comes out."""
