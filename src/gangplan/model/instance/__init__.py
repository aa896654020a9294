"""The round as arrays: names become indices here, and nowhere else."""
