"""The service on many GPUs: the common parts of the applications for Ray and Modal."""
