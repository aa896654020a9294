"""What a round is made of: immutable values, standard library only, names and never indices."""
