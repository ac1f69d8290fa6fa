"""A torch module as the policy: any differentiable function of the features.

torch computes the logits and their derivatives, on the module's own device and in its own
precision. Probabilities, mixtures and support are those of every softmax policy, in double
precision. The module is neither moved nor cast: it may rely on its device or precision, and the
model that is released must be the one that was tested, bit for bit.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from elfair.data.columns import Columns
from elfair.errors import InputError, MissingPackageError, install_extra
from elfair.policies.models import standardisation
from elfair.policies.softmax import PolicyInputs, SoftmaxPolicy
from elfair.types import Floats

#: The number of rows on which a module is tried before it is used.
TRIED_ROWS = 100


def load_torch() -> Any:
    """The torch package, imported only if a module is used."""
    try:
        import torch
    except ImportError:
        raise MissingPackageError(
            "a torch.nn.Module needs torch, which cannot be imported.",
            hint=install_extra("torch"),
        ) from None
    return torch


@dataclass(frozen=True)
class TorchInputs(PolicyInputs):
    """The rows as a module sees them: `PolicyInputs`, and the standardised features as a tensor of
    shape (n, d), on the module's device and in its precision.
    """

    rows: Any = field(kw_only=True)


@dataclass(frozen=True)
class TorchPolicy(SoftmaxPolicy):
    """pi(a | x) proportional to exp(module(x)_a), on features standardised by candidate rows.

    Theta holds the module's trainable parameters one after the other, then the share of the mixture
    if the behaviour model is known.

    Parameters
    ----------
    n_classes, center, scale, mixed, exploration
        See `SoftmaxPolicy`.
    module : torch.nn.Module
        Maps a tensor of shape (n, d) to logits of shape (n, n_classes), in evaluation mode.

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
        """A policy with a copy of a module, standardised by the given (candidate) rows."""
        _check_parameters(module)
        own = copy.deepcopy(module).eval()  # without dropout: a policy is a function
        policy = cls(n_classes, *standardisation(X), mixed, module=own)
        policy._try(X[:TRIED_ROWS])
        return policy

    @property
    def start(self) -> Floats:
        """The theta of the module as it was passed."""
        flat = load_torch().nn.utils.parameters_to_vector(self._parameters.values())
        theta: Floats = flat.detach().cpu().double().numpy()
        return np.append(theta, 1.0) if self.mixed else theta

    def inputs(
        self, X: Floats, behavior: Floats | None = None, columns: Columns | None = None
    ) -> TorchInputs:
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

    def _logits(self, theta: Floats, inputs: Any) -> Floats:
        if theta.ndim > 1:
            return np.stack([self._logits(one, inputs) for one in theta])
        with load_torch().no_grad():
            every = self._output(self._tensor(theta[: self._n_weights]), inputs.rows)
        logits: Floats = every.cpu().double().numpy().T
        return np.asarray(logits[1:] - logits[0])

    def _by_weights(self, theta: Floats, inputs: Any, by_logit: Floats) -> Floats:
        torch = load_torch()
        flat = self._tensor(theta[: self._n_weights]).requires_grad_()
        output = self._output(flat, inputs.rows)
        # The first logit is subtracted from all the others.
        by_output = np.concatenate([-by_logit.sum(axis=1, keepdims=True), by_logit], axis=1)
        towards = torch.tensor(by_output.swapaxes(1, 2), dtype=output.dtype, device=output.device)
        each = [torch.autograd.grad(output, flat, one, retain_graph=True)[0] for one in towards]
        return np.asarray(torch.stack(each).cpu().double().numpy())

    def _tensor(self, values: Floats) -> Any:
        """The values on the module's device and in its precision."""
        like = next(iter(self._parameters.values()))
        return load_torch().tensor(values, dtype=like.dtype, device=like.device)

    def _output(self, flat: Any, rows: Any) -> Any:
        """The module's logits under the given parameters."""
        torch, parameters, used = load_torch(), {}, 0
        for name, value in self._parameters.items():
            parameters[name] = flat[used : used + value.numel()].view(value.shape)
            used += value.numel()
        output = torch.func.functional_call(self.module, parameters, (rows,))
        wanted, shape = (len(rows), self.n_classes), tuple(getattr(output, "shape", ()))
        if shape != wanted:
            got = f"shape {shape}" if shape else repr(type(output).__name__)
            raise InputError(
                f"the module must map features of shape {tuple(rows.shape)} to logits of "
                f"shape {wanted}: one for each class. Got {got}.",
                hint=f"give the last layer {self.n_classes} outputs, even for two classes.",
            )
        if not torch.isfinite(output).all():
            wrong = int((~torch.isfinite(output)).any(dim=1).sum())
            raise InputError(
                f"the module's logits must be finite. Got NaN or infinity in {wrong} of "
                f"{wanted[0]} rows.",
                hint="check its weights, and any logarithms or divisions inside it.",
            )
        return output

    def _try(self, X: Floats) -> None:
        """Check once that the module is a function of features and parameters."""
        torch, rows = load_torch(), self._tensor((X - self.center) / self.scale)
        flat = self._tensor(self.start[: self._n_weights]).requires_grad_()
        try:
            first, second = self._output(flat, rows), self._output(flat, rows)
            some = self._output(flat, rows[: (len(rows) + 1) // 2])
        except (RuntimeError, TypeError, IndexError) as error:
            raise InputError(
                f"the module failed on features of shape {tuple(rows.shape)}, "
                f"{rows.dtype} on {rows.device}: {error}",
                hint="it gets standardised features on the same device, and of the same dtype, as "
                "its parameters.",
            ) from error
        if not torch.equal(first, second):
            raise InputError(
                "the module must give the same logits for the same rows. Got two different answers "
                "in evaluation mode.",
                hint="remove anything random from it: decisions are sampled from its logits.",
            )
        if not torch.allclose(some, first[: len(some)], rtol=1e-3, atol=1e-3):
            raise InputError(
                "the module must judge each person alone. Got other logits for the same rows when "
                "fewer rows were passed: the model that decides would not be the one tested.",
                hint="remove anything that averages over rows, such as a batch norm without "
                "running statistics (track_running_stats=False).",
            )
        if not first.requires_grad:
            raise InputError(
                "the module's logits do not depend on its parameters, so no gradient says how to "
                "improve it.",
                hint="look for detach(), no_grad() or numpy inside it.",
            )

    def __getstate__(self) -> dict[str, Any]:
        """With the module on the CPU, so a policy from a GPU can be opened on a machine without."""
        device = next(iter(self._parameters.values())).device.type
        return {**vars(self), "module": copy.deepcopy(self.module).cpu(), "device": device}

    def __setstate__(self, state: dict[str, Any]) -> None:
        device = state.pop("device")
        vars(self).update(state)
        if device != "cuda" or load_torch().cuda.is_available():
            self.module.to(device)


def _check_parameters(module: Any) -> None:
    """Raise unless all parameters share one device and precision, and some are trainable."""
    torch = load_torch()
    every = list(module.parameters())
    if any(isinstance(p, torch.nn.parameter.UninitializedParameter) for p in every):
        raise InputError(
            "the module has lazy parameters, whose shape is not known yet.",
            hint="call it once on some features: that gives them a shape.",
        )
    if not any(p.requires_grad for p in every):
        raise InputError(
            "the module has no parameters that can be trained.",
            hint="add some, or unfreeze them with requires_grad_(True).",
        )
    kinds = sorted({f"{p.dtype} on {p.device}" for p in every})
    usable = every[0].dtype in (torch.float32, torch.float64) and every[0].device.type != "meta"
    if len(kinds) > 1 or not usable:
        raise InputError(
            "the module's parameters must all be float32 or all float64, on one device. Got "
            f"{', '.join(kinds)}.",
            hint="use module.to('cpu') or module.to('cuda'), and module.float().",
        )
