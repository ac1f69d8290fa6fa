"""Stochastic models pi_theta(a | x) that a search can improve."""

from elfair.policies.softmax import PolicyInputs, SoftmaxPolicy

__all__ = ["PolicyInputs", "SoftmaxPolicy"]
