"""What a person sees: domain values in, rich renderables out; no file is read, no service called."""
