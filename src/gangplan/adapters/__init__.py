"""Other systems' words turned into gangplan's."""
