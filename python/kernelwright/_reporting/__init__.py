"""Passes the figures of a training or a run to TensorBoard and trackio."""
