"""The service on many GPUs: what the applications for Ray and Modal share."""
