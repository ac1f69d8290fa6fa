"""Policies as a record, arrays and objects, and back."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from elfair.errors import InputError, listed
from elfair.persistence.contents import damaged, from_npy, to_npy
from elfair.persistence.document import PolicyKind, PolicyRecord
from elfair.persistence.objects import from_skops, to_skops
from elfair.policies import GaussianPolicy, SoftmaxPolicy
from elfair.policies.scored import ScoredPolicy
from elfair.policies.torch_module import TorchPolicy, load_torch
from elfair.types import Array, Floats

Members = dict[str, bytes]


def write_policy(policy: Any, folder: str, members: Members) -> PolicyRecord:
    """The record of a policy, whose arrays and objects become members of the file.

    Parameters
    ----------
    policy : SoftmaxPolicy or GaussianPolicy
        The policy of a model.
    folder : str
        Where its members go.
    members : dict
        The members of the file; those of the policy are added.
    """
    members[f"{folder}/center.npy"] = to_npy(policy.center)
    members[f"{folder}/scale.npy"] = to_npy(policy.scale)
    kind: PolicyKind = policy.digest_tag
    if kind == "gaussian":
        numbers = (policy.level, policy.unit, policy.smallest, policy.largest)
        return PolicyRecord(kind, False, tuple(map(float, numbers)), {})
    tensors: dict[str, bool] = {}
    if kind == "module":
        state = _state(policy.module)
        for place, array in enumerate(state.values()):
            members[f"{folder}/state/{place}.npy"] = to_npy(array)
        trained = {name for name, p in policy.module.named_parameters() if p.requires_grad}
        tensors = {name: name in trained for name in state}
    elif kind == "scored":
        members[f"{folder}/scorer.skops"] = to_skops(policy.scorer)
    return PolicyRecord(kind, policy.mixed, (float(policy.exploration),), tensors)


@dataclass(frozen=True)
class Reading:
    """What a policy must fit, and what the caller gave to read it with.

    Parameters
    ----------
    n_features : int
        The number of features.
    classes : ndarray
        The decisions.
    trusted : sequence of str
        Types that may be built.
    module : torch.nn.Module, optional
        The architecture of a module.
    """

    n_features: int
    classes: Array
    trusted: Sequence[str]
    module: Any


def read_policy(
    record: PolicyRecord, members: Mapping[str, bytes], folder: str, reading: Reading
) -> Any:
    """The policy of a record."""
    n = reading.classes.size
    width = reading.n_features + (n - 1 if record.kind == "scored" else 0)
    center = read_floats(members, f"{folder}/center.npy", (width,))
    scale = read_floats(members, f"{folder}/scale.npy", (width,))
    needed = 4 if record.kind == "gaussian" else 1
    if len(record.numbers) != needed:
        raise _does_not_fit(f"{len(record.numbers)} numbers", str(needed))
    if record.kind == "gaussian":
        return GaussianPolicy(center, scale, *record.numbers)
    (blind,) = record.numbers
    if not 0 < blind < 1:
        raise _does_not_fit(f"{blind:g} of the decisions taken blindly", "a number in (0, 1)")
    own = (n, center, scale, record.mixed, blind)
    if record.kind == "module":
        module = _rebuilt(record.tensors, members, folder, reading.module)
        return TorchPolicy(*own, module=module)
    if record.kind == "scored":
        scorer = from_skops(member(members, f"{folder}/scorer.skops"), reading.trusted)
        check_model(scorer, "scorer")
        return ScoredPolicy(*own, scorer=scorer, classes=reading.classes)
    return SoftmaxPolicy(*own)


def member(members: Mapping[str, bytes], name: str) -> bytes:
    """A member of the file.

    Examples
    --------
    >>> member({"model.json": b"{}"}, "model.json")
    b'{}'
    """
    if name not in members:
        raise damaged(f"its part {name!r} is missing.")
    return members[name]


def read_floats(members: Mapping[str, bytes], name: str, shape: tuple[int, ...]) -> Floats:
    """A member that holds finite numbers in a given shape."""
    array = from_npy(member(members, name))
    if array.dtype != np.float64 or array.shape != shape or not np.isfinite(array).all():
        raise _does_not_fit(
            f"{array.dtype} of shape {array.shape} in {name!r}", f"finite float64 of shape {shape}"
        )
    return array


def check_model(value: Any, what: str) -> None:
    """Raise unless a value is a fitted classifier."""
    if not (hasattr(value, "predict_proba") and hasattr(value, "classes_")):
        raise _does_not_fit(f"{type(value).__name__} as its {what}", "a fitted classifier")


def _state(module: Any) -> dict[str, Array]:
    """A module's tensors as arrays."""
    arrays = {}
    for name, tensor in module.state_dict().items():
        try:
            arrays[name] = tensor.detach().cpu().numpy()
        except (AttributeError, TypeError, RuntimeError) as error:
            raise InputError(
                f"{type(module).__name__} cannot be saved: {name!r} in its state is not a plain "
                f"array ({error}).",
                hint="keep only dense tensors of ordinary numbers in the state of a module.",
            ) from None
    return arrays


def _rebuilt(
    tensors: Mapping[str, bool], members: Mapping[str, bytes], folder: str, module: Any
) -> Any:
    """A copy of the caller's module with the saved state."""
    if module is None:
        raise InputError(
            "its model is a torch module: the file holds the tensors, but not the code.",
            hint="pass module=, an object of the class that was trained, such as module=Net().",
        )
    torch, own = load_torch(), copy.deepcopy(module).eval()
    state = own.state_dict()
    if list(state) != list(tensors):
        raise InputError(
            f"module= must have the tensors {listed(tensors)}. Got {listed(state)} instead.",
            hint="pass an object of the class that was trained, made in the same way.",
        )
    for place, name in enumerate(tensors):
        saved = torch.from_numpy(from_npy(member(members, f"{folder}/state/{place}.npy")).copy())
        if saved.shape != state[name].shape or saved.dtype != state[name].dtype:
            raise InputError(
                f"{name!r} of module= must be {saved.dtype} of shape {tuple(saved.shape)}. Got "
                f"{state[name].dtype} of shape {tuple(state[name].shape)}.",
                hint="pass an object of the class that was trained, made in the same way.",
            )
        state[name] = saved
    own.load_state_dict(state)
    for name, parameter in own.named_parameters():
        parameter.requires_grad_(tensors.get(name, False))
    return own


def _does_not_fit(got: str, allowed: str) -> InputError:
    return damaged(f"its parts do not fit together: {got}, where {allowed} is needed.")
