"""The contract as Python code: generated from `proto/gangplan/v1` by `make proto`, never edited."""
