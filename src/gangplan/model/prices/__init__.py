"""Prices of places, and the bounds that they prove."""
