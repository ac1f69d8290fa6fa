"""Renderings of a certificate. Nothing here computes a result."""
