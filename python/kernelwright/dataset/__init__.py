"""What of the dataset builder must be Python: each part a process of its own."""
