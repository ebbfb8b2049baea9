"""The Python parts of the dataset builder, each a process of its own."""
