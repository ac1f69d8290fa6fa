"""A torch module as the policy: any differentiable function of the features.

torch computes logits and their derivatives, on the device and with the precision that the module
came with; probabilities, mixtures and support are those of every softmax policy, in double
precision. The module is neither moved nor cast: modules may rely on either, and what was tested is
then what is let out, bit for bit.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from elfair.errors import InputError, MissingPackageError
from elfair.policies.softmax import PolicyInputs, SoftmaxPolicy
from elfair.types import Floats

#: How many rows a module is tried on before it is used.
TRIED_ROWS = 100


def load_torch() -> Any:
    """The torch package; it is imported only where a module is used."""
    try:
        import torch
    except ImportError:
        raise MissingPackageError(
            "a torch.nn.Module needs torch, which cannot be imported.",
            hint="pip install 'elfair[torch]'.",
        ) from None
    return torch


@dataclass(frozen=True)
class TorchInputs(PolicyInputs):
    """What a module sees of each row.

    Parameters
    ----------
    design, behavior
        See `PolicyInputs`.
    rows : tensor of shape (n, d)
        The standardised features, where the module is and as precise as it is.
    """

    rows: Any = field(kw_only=True)


@dataclass(frozen=True)
class TorchPolicy(SoftmaxPolicy):
    """pi(a | x) proportional to exp(module(x)_a), on features standardised by candidate rows.

    Theta holds the module's trainable parameters one after the other, and the share of the mixture
    where a behaviour model is known.

    Parameters
    ----------
    n_classes, center, scale, mixed, exploration
        See `SoftmaxPolicy`.
    module : torch.nn.Module
        From a tensor of shape (n, d) to logits of shape (n, n_classes), in evaluation mode.

    Examples
    --------
    >>> import torch
    >>> X = np.array([[0.0], [2.0]])
    >>> policy = TorchPolicy.over(torch.nn.Linear(1, 2), X, n_classes=2)
    >>> policy.n_parameters
    4
    >>> policy.free(np.array([0.0, 1.0, 0.0, 0.0]), policy.inputs(X)).round(3)
    array([[0.269, 0.731]])
    """

    digest_tag: ClassVar[str] = "module"

    module: Any = field(kw_only=True)

    @classmethod
    def over(cls, module: Any, X: Floats, n_classes: int, *, mixed: bool = False) -> TorchPolicy:
        """A policy of a copy of a module, standardised by the given (candidate) rows."""
        plain = SoftmaxPolicy.standardised(X, n_classes)
        _check_parameters(module)
        own = copy.deepcopy(module).eval()  # without dropout: a policy is a function
        policy = cls(n_classes, plain.center, plain.scale, mixed, module=own)
        policy._try(X[:TRIED_ROWS])
        return policy

    @property
    def start(self) -> Floats:
        """The theta of the module as it came."""
        torch = load_torch()
        flat = torch.cat([value.detach().reshape(-1) for value in self._parameters.values()])
        theta: Floats = flat.cpu().double().numpy()
        return np.append(theta, 1.0) if self.mixed else theta

    def inputs(self, X: Floats, behavior: Floats | None = None) -> TorchInputs:
        """People in the form that the module works on."""
        plain = super().inputs(X, behavior)
        rows = self._tensor(plain.design[1:].T)
        return TorchInputs(plain.design, plain.behavior, rows=rows)

    @property
    def _parameters(self) -> dict[str, Any]:
        return {name: p for name, p in self.module.named_parameters() if p.requires_grad}

    @property
    def _n_weights(self) -> int:
        return sum(value.numel() for value in self._parameters.values())

    def _logits(self, theta: Floats, inputs: PolicyInputs) -> Floats:
        assert isinstance(inputs, TorchInputs)
        if theta.ndim > 1:
            return np.stack([self._logits(one, inputs) for one in theta])
        with load_torch().no_grad():
            every = self._output(self._tensor(theta[: self._n_weights]), inputs.rows)
        logits: Floats = every.cpu().double().numpy().T
        return np.asarray(logits[1:] - logits[0])

    def _by_weights(self, theta: Floats, inputs: PolicyInputs, by_logit: Floats) -> Floats:
        assert isinstance(inputs, TorchInputs)
        torch = load_torch()
        flat = self._tensor(theta[: self._n_weights]).requires_grad_()
        output = self._output(flat, inputs.rows)
        # The first logit is subtracted from all the others.
        by_output = np.concatenate([-by_logit.sum(axis=1, keepdims=True), by_logit], axis=1)
        towards = torch.tensor(by_output.swapaxes(1, 2), dtype=output.dtype, device=output.device)
        gradients = [
            torch.autograd.grad(output, flat, one, retain_graph=True)[0] for one in towards
        ]
        return np.asarray(torch.stack(gradients).cpu().double().numpy())

    def _tensor(self, values: Floats) -> Any:
        """Where the module is, and as precise as it is."""
        like = next(iter(self._parameters.values()))
        return load_torch().tensor(values, dtype=like.dtype, device=like.device)

    def _output(self, flat: Any, rows: Any) -> Any:
        """The module's logits under the given parameters."""
        torch, parameters, used = load_torch(), {}, 0
        for name, value in self._parameters.items():
            parameters[name] = flat[used : used + value.numel()].view(value.shape)
            used += value.numel()
        output = torch.func.functional_call(self.module, parameters, (rows,))
        wanted = (len(rows), self.n_classes)
        shape = tuple(getattr(output, "shape", ()))
        if shape != wanted:
            got = f"shape {shape}" if shape else repr(type(output).__name__)
            raise InputError(
                f"the module must map features of shape {tuple(rows.shape)} to logits of "
                f"shape {wanted}: one for each class. Got {got}.",
                hint=f"let the last layer have {self.n_classes} outputs, also for two classes.",
            )
        if not torch.isfinite(output).all():
            wrong = int((~torch.isfinite(output)).any(dim=1).sum())
            raise InputError(
                f"the module's logits must be finite. Got NaN or infinity in {wrong} of "
                f"{wanted[0]} rows.",
                hint="check its weights, and for logarithms or divisions inside it.",
            )
        return output

    def _try(self, X: Floats) -> None:
        """See once that the module is a function of features and parameters."""
        torch, rows = load_torch(), self._tensor((X - self.center) / self.scale)
        flat = self._tensor(self.start[: self._n_weights]).requires_grad_()
        try:
            first, second = self._output(flat, rows), self._output(flat, rows)
            some = self._output(flat, rows[: (len(rows) + 1) // 2])
        except (RuntimeError, TypeError, IndexError) as error:
            raise InputError(
                f"the module failed on features of shape {tuple(rows.shape)}, "
                f"{rows.dtype} on {rows.device}: {error}",
                hint="it is given standardised features, where its parameters are: on the same "
                "device and of the same dtype.",
            ) from error
        if not torch.equal(first, second):
            raise InputError(
                "the module must give the same logits for the same rows. Got two different answers "
                "in evaluation mode.",
                hint="take what is random out of it: decisions are sampled from its logits.",
            )
        if not torch.allclose(some, first[: len(some)], rtol=1e-3, atol=1e-3):
            raise InputError(
                "the module must judge each person alone. Got other logits for the same rows among "
                "fewer others: what is tested would not be what decides.",
                hint="take out what averages over rows, such as a batch norm without running "
                "statistics (track_running_stats=False).",
            )
        if not first.requires_grad:
            raise InputError(
                "the module's logits do not depend on its parameters, so that no gradient says how "
                "to improve it.",
                hint="look for detach(), no_grad() or numpy inside it.",
            )

    def __getstate__(self) -> dict[str, Any]:
        """On the CPU, so that a policy from a GPU can be opened where there is none."""
        device = next(iter(self._parameters.values())).device.type
        return {**vars(self), "module": copy.deepcopy(self.module).cpu(), "device": device}

    def __setstate__(self, state: dict[str, Any]) -> None:
        device = state.pop("device")
        vars(self).update(state)
        if device != "cuda" or load_torch().cuda.is_available():
            self.module.to(device)


def _check_parameters(module: Any) -> None:
    """A module is trained where it is and as precise as it is, which must be the same all over."""
    torch = load_torch()
    every = list(module.parameters())
    if any(isinstance(p, torch.nn.parameter.UninitializedParameter) for p in every):
        raise InputError(
            "the module has lazy parameters, whose shape is not known yet.",
            hint="call it once on some features, so that they get their shape.",
        )
    if not any(p.requires_grad for p in every):
        raise InputError(
            "the module has no parameters that can be trained.",
            hint="give it some, or use requires_grad_(True) where they were frozen.",
        )
    kinds = sorted({f"{p.dtype} on {p.device}" for p in every})
    usable = every[0].dtype in (torch.float32, torch.float64) and every[0].device.type != "meta"
    if len(kinds) > 1 or not usable:
        raise InputError(
            "the module's parameters must all be float32 or all float64, on one device. Got "
            f"{', '.join(kinds)}.",
            hint="use module.to('cpu') or module.to('cuda'), and module.float().",
        )
