"""Stochastic models pi_theta(a | x) that a search can improve."""

from elfair.policies.gaussian import GaussianPolicy
from elfair.policies.models import ClassPolicy, Policy
from elfair.policies.softmax import PolicyInputs, SoftmaxPolicy
