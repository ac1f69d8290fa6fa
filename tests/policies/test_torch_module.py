"""torch modules as policies: the same probabilities and derivatives as their definition says."""

from __future__ import annotations

import pickle
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from elfair import ELFClassifier, LoggedData, accuracy
from elfair.errors import InputError
from elfair.policies import SoftmaxPolicy
from elfair.policies.torch_module import TorchPolicy, load_torch

N, WIDTH = 40, 3
KINDS = ["plain", "mixed", "masked"]
CASES = [(k, kind) for k in (2, 3) for kind in KINDS]
CUDA = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")


def network(n_classes=2, hidden=5, seed=0):
    torch.manual_seed(seed)
    layers = nn.Linear(WIDTH, hidden), nn.Tanh(), nn.Dropout(), nn.Linear(hidden, n_classes)
    return nn.Sequential(*layers).double()


def make(n_classes, kind, module=None, seed=0, exploration=2e-4):
    rng = np.random.default_rng(seed)
    X = rng.normal(2.0, 3.0, size=(N, WIDTH))
    behavior = None
    if kind != "plain":
        behavior = rng.dirichlet(np.ones(n_classes), size=N)
        if kind == "masked":
            behavior[:6, 0], behavior[6:12, -1] = 0, 0
            behavior /= behavior.sum(axis=1, keepdims=True)
    module = network(n_classes, seed=seed) if module is None else module
    policy = TorchPolicy.over(module, X, n_classes, mixed=kind != "plain")
    policy = replace(policy, exploration=exploration)
    theta = rng.normal(size=policy.n_parameters)
    if policy.mixed:
        theta[-1] = 0.3
    return policy, policy.inputs(X, behavior), theta, X, behavior


@pytest.mark.parametrize("exploration", [2e-4, 0.2])
@pytest.mark.parametrize(("n_classes", "kind"), CASES)
def test_probabilities_are_those_of_the_definition(n_classes, kind, exploration):
    policy, inputs, theta, X, behavior = make(n_classes, kind, exploration=exploration)
    module = network(n_classes).eval()
    used = 0
    with torch.no_grad():
        for value in module.parameters():
            piece = theta[used : used + value.numel()].reshape(value.shape)
            value.copy_(torch.tensor(piece))
            used += value.numel()
        logits = module(torch.tensor((X - X.mean(axis=0)) / X.std(axis=0))).numpy()
    odds = np.exp(logits)
    possible = np.ones_like(odds) if behavior is None else behavior > 0
    odds = odds * possible
    expected = (1 - exploration) * odds / odds.sum(axis=1, keepdims=True)
    expected += exploration * possible / possible.sum(axis=1, keepdims=True)
    if behavior is not None:
        expected = (1 - theta[-1]) * behavior + theta[-1] * expected
    assert used == theta.size - policy.mixed
    np.testing.assert_allclose(policy.free(theta, inputs), expected.T[1:], atol=1e-12)
    np.testing.assert_allclose(policy.probabilities(theta, X, behavior), expected, atol=1e-12)


@pytest.mark.parametrize("exploration", [2e-4, 0.2])
@pytest.mark.parametrize(("n_classes", "kind"), CASES)
def test_pull_back_against_finite_differences(n_classes, kind, exploration):
    policy, inputs, theta, *_ = make(n_classes, kind, seed=1, exploration=exploration)
    weights = np.random.default_rng(2).normal(size=(3, n_classes - 1, N))
    gradients = policy.pull_back(theta, inputs, policy.free(theta, inputs), weights)
    assert gradients.shape == (3, theta.size)
    step = 1e-6
    for i in range(theta.size):
        ahead, behind = theta.copy(), theta.copy()
        ahead[i] += step
        behind[i] -= step
        change = policy.free(ahead, inputs) - policy.free(behind, inputs)
        numeric = np.einsum("jkn,kn->j", weights, change) / (2 * step)
        np.testing.assert_allclose(gradients[:, i], numeric, rtol=1e-5, atol=1e-6)


def test_a_linear_module_is_the_softmax_policy():
    policy, inputs, theta, X, _ = make(3, "plain", nn.Linear(WIDTH, 3).double())
    linear = SoftmaxPolicy.standardised(X, 3)
    weights, bias = theta[:9].reshape(3, 3), theta[9:]
    own = np.column_stack([bias - bias[0], weights - weights[0]])[1:].ravel()
    np.testing.assert_allclose(policy.free(theta, inputs), linear.free(own, linear.inputs(X)))


def test_a_population_of_policies():
    policy, inputs, theta, *_ = make(3, "mixed")
    several = np.stack([theta, theta + 0.1])
    several[:, -1] = 0.3
    each = [policy.free(one, inputs) for one in several]
    np.testing.assert_array_equal(policy.free(several, inputs), each)


def test_the_start_is_the_module_as_it_came_and_that_is_left_alone():
    module = network().train()
    before = {name: value.clone() for name, value in module.state_dict().items()}
    policy, inputs, theta, *_ = make(2, "plain", module)
    flat = np.concatenate([value.detach().numpy().ravel() for value in module.parameters()])
    np.testing.assert_array_equal(policy.start, flat)
    policy.pull_back(theta, inputs, policy.free(theta, inputs), np.ones((1, 1, N)))
    assert module.training
    assert policy.module is not module
    for name, value in module.state_dict().items():
        assert torch.equal(value, before[name])
    assert all(value.grad is None for value in module.parameters())


def test_frozen_layers_and_shared_weights():
    module = network()
    module[0].requires_grad_(False)
    policy, inputs, theta, *_ = make(2, "plain", module)
    assert policy.n_parameters == 5 * 2 + 2
    tied = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.Tanh(), nn.Linear(WIDTH, WIDTH)).double()
    tied[2].weight = tied[0].weight
    policy, inputs, theta, *_ = make(3, "plain", tied)
    assert policy.n_parameters == 9 + 3 + 3
    weights = np.ones((1, 2, N)) * np.array([1.0, 2.0])[:, None]
    gradient = policy.pull_back(theta, inputs, policy.free(theta, inputs), weights)[0, 0]
    ahead = theta + 1e-6 * (np.arange(theta.size) == 0)
    change = (policy.free(ahead, inputs) - policy.free(theta, inputs)) / 1e-6
    assert gradient == pytest.approx(float((weights[0] * change).sum()), rel=1e-4)


def test_single_precision_stays_single_and_probabilities_are_double():
    policy, inputs, theta, X, _ = make(3, "plain", network(3).float())
    assert inputs.rows.dtype == torch.float32
    free = policy.free(theta, inputs)
    assert free.dtype == np.float64
    every = policy.probabilities(theta, X, None)
    np.testing.assert_allclose(every.sum(axis=1), 1, rtol=0, atol=1e-14)
    exact, inputs, *_ = make(3, "plain", network(3))
    np.testing.assert_allclose(free, exact.free(theta, inputs), atol=1e-5)


def test_a_policy_survives_a_pickle():
    policy, _, theta, X, _ = make(3, "plain")
    again = pickle.loads(pickle.dumps(policy))
    expected = policy.probabilities(theta, X, None)
    np.testing.assert_array_equal(again.probabilities(theta, X, None), expected)


class Odd(nn.Module):
    """A module that does one thing wrong."""

    def __init__(self, wrong):
        super().__init__()
        self.layer, self.wrong = nn.Linear(WIDTH, 2), wrong

    def forward(self, x):
        return self.wrong(self.layer(x))


LAZY_WARNING = "ignore:Lazy modules are a new feature"


@pytest.mark.filterwarnings(LAZY_WARNING)
@pytest.mark.parametrize(
    ("module", "message"),
    [
        (nn.Linear(WIDTH, 1), r"\(40, 3\) to logits of shape \(40, 2\).*Got shape \(40, 1\)"),
        (Odd(lambda out: out.T), r"Got shape \(2, 40\)"),
        (Odd(lambda out: (out, out)), r"Got 'tuple'"),
        (Odd(lambda out: out / 0), r"must be finite. Got NaN or infinity in 40 of 40 rows"),
        (Odd(lambda out: torch.log(out)), r"must be finite. Got NaN or infinity in \d+ of 40"),
        (Odd(lambda out: out + torch.rand(1)), r"the same logits for the same rows"),
        (Odd(lambda out: out - out.mean(dim=0)), r"must judge each person alone"),
        (nn.Sequential(nn.BatchNorm1d(WIDTH, track_running_stats=False), nn.Linear(WIDTH, 2)),
         r"must judge each person alone"),
        (Odd(lambda out: out.detach()), r"do not depend on its parameters"),
        (nn.Linear(5, 2), r"failed on features of shape \(40, 3\), torch.float32 on cpu"),
        (nn.Linear(WIDTH, 2, device="meta"), r"on one device. Got torch.float32 on meta"),
        (nn.Linear(WIDTH, 2).half(), r"Got torch.float16 on cpu"),
        (nn.Sequential(nn.Linear(WIDTH, 2), nn.Linear(2, 2).double()), r"float32 .*, .*float64"),
        (nn.Tanh(), r"no parameters that can be trained"),
        (nn.LazyLinear(2), r"lazy parameters"),
    ],
)  # fmt: skip
def test_modules_that_are_no_policy(module, message):
    with pytest.raises(InputError, match=f"(?s){message}.*Hint"):
        make(2, "plain", module)


def test_without_torch_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)  # importing it now fails
    with pytest.raises(ImportError, match=r"(?s)needs torch.*Hint: install the extra 'torch'"):
        load_torch()


@CUDA
@pytest.mark.filterwarnings("ignore:Attempting to run cuBLAS")  # torch, at its first product
def test_cuda_gives_the_same_probabilities_and_derivatives():
    here, inputs, theta, X, _ = make(3, "plain", network(3))
    there, their_inputs, *_ = make(3, "plain", network(3).to("cuda"))
    assert their_inputs.rows.device.type == "cuda"
    free = here.free(theta, inputs)
    np.testing.assert_allclose(there.free(theta, their_inputs), free, atol=1e-10)
    weights = np.random.default_rng(3).normal(size=(2, 2, N))
    np.testing.assert_allclose(
        there.pull_back(theta, their_inputs, free, weights),
        here.pull_back(theta, inputs, free, weights),
        atol=1e-9,
    )
    again = pickle.loads(pickle.dumps(there))
    assert next(again.module.parameters()).device.type == "cuda"
    np.testing.assert_allclose(again.probabilities(theta, X, None).T[1:], free, atol=1e-10)


@CUDA
def test_cuda_end_to_end():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3_000, WIDTH))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    module = network(hidden=16).float().to("cuda")
    clf = ELFClassifier(accuracy >= 0.7, scorer=module).fit(X, y)
    assert clf.solution_found_
    assert clf.score(X, y) > 0.8
    assert isinstance(clf.predict_proba(X), np.ndarray)


@CUDA
def test_cuda_module_in_two_places_is_refused():
    module = network()
    module[0].to("cuda")
    with pytest.raises(InputError, match=r"(?s)on one device. Got .* on cpu, .* on cuda.*Hint"):
        make(2, "plain", module)


def test_a_module_that_looks_elsewhere_for_its_constants_is_refused():
    class Elsewhere(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(WIDTH, 2)
            self.shift = torch.zeros(2, device="meta")  # no buffer: it does not move along

        def forward(self, x):
            return self.layer(x) + self.shift

    with pytest.raises(InputError, match=r"(?s)module failed on features.*same device.*"):
        make(2, "plain", Elsewhere())


def test_logged_rows():
    policy, inputs, _, X, _ = make(2, "plain")
    logged = policy.logged(LoggedData(X, np.arange(N) % 2))
    assert torch.equal(logged.rows, inputs.rows)
