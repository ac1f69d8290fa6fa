"""Policies as a record, arrays and objects, and back."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from elfair.errors import InputError, listed
from elfair.persistence.contents import damaged, from_npy, to_npy
from elfair.persistence.document import Kind, PolicyRecord
from elfair.persistence.objects import from_skops, to_skops
from elfair.persistence.preparations import read_sees, write_preparation, write_sees
from elfair.policies import GaussianPolicy, SoftmaxPolicy
from elfair.policies.models import Model
from elfair.policies.scored import ScoredPolicy
from elfair.policies.torch_module import TorchPolicy, load_torch
from elfair.policies.tree import NO_SPLIT, TreePolicy
from elfair.types import Array, Floats

Members = dict[str, bytes]


def write_policy(model: Model, folder: str, members: Members) -> PolicyRecord:
    """The record of a policy, whose arrays and objects become members of the file.

    Parameters
    ----------
    model : Model
        A model of it, for the policy and the preparation of features.
    folder : str
        Where its members go.
    members : dict
        The members of the file; those of the policy are added.
    """
    policy = model.policy
    members[f"{folder}/center.npy"] = to_npy(policy.center)
    members[f"{folder}/scale.npy"] = to_npy(policy.scale)
    form = FORMATS[policy.digest_tag]
    numbers = tuple(float(getattr(policy, name)) for name in form.numbers)
    tensors = form.write(policy, folder, members)
    prepared = write_preparation(model.preparation, folder, members)
    mixed = getattr(policy, "mixed", False)
    sees = write_sees(getattr(policy, "sees", None))
    return PolicyRecord(policy.digest_tag, mixed, numbers, tensors, prepared, sees)


@dataclass(frozen=True)
class Reading:
    """What a policy must fit, and what the caller gave to read it with.

    Parameters
    ----------
    n_features : int
        The number of features, as the policy sees them.
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
    form, n = FORMATS[record.kind], reading.classes.size
    width = reading.n_features + (n - 1 if form.scores else 0)
    center = read_floats(members, f"{folder}/center.npy", (width,))
    scale = read_floats(members, f"{folder}/scale.npy", (width,))
    if len(record.numbers) != len(form.numbers):
        raise _does_not_fit(f"{len(record.numbers)} numbers", str(len(form.numbers)))
    more = form.read(record, members, folder, reading)
    if form.estimator == "regressor":
        return form.policy(center, scale, *record.numbers, **more)
    (blind,) = record.numbers
    if not 0 < blind < 1:
        raise _does_not_fit(f"{blind:g} of the decisions taken blindly", "a number in (0, 1)")
    return form.policy(n, center, scale, record.mixed, blind, **more)


def _nothing(*_: object) -> dict[str, Any]:
    return {}


def _write_scorer(policy: ScoredPolicy, folder: str, members: Members) -> dict[str, bool]:
    members[f"{folder}/scorer.skops"] = to_skops(policy.scorer)
    return {}


def _read_scorer(
    record: PolicyRecord, members: Mapping[str, bytes], folder: str, reading: Reading
) -> dict[str, Any]:
    scorer = from_skops(member(members, f"{folder}/scorer.skops"), reading.trusted)
    check_model(scorer, "scorer")
    return {"scorer": scorer, "classes": reading.classes, "sees": read_sees(record.sees)}


def _write_module(policy: TorchPolicy, folder: str, members: Members) -> dict[str, bool]:
    state = _state(policy.module)
    for place, array in enumerate(state.values()):
        members[f"{folder}/state/{place}.npy"] = to_npy(array)
    trained = {name for name, p in policy.module.named_parameters() if p.requires_grad}
    return {name: name in trained for name in state}


def _read_module(
    record: PolicyRecord, members: Mapping[str, bytes], folder: str, reading: Reading
) -> dict[str, Any]:
    return {"module": _rebuilt(record.tensors, members, folder, reading.module)}


def _write_usual(policy: GaussianPolicy, folder: str, members: Members) -> dict[str, bool]:
    members[f"{folder}/usual.npy"] = to_npy(policy.usual)
    return {}


def _read_usual(
    record: PolicyRecord, members: Mapping[str, bytes], folder: str, reading: Reading
) -> dict[str, Any]:
    limited = np.isfinite(record.numbers[-1])  # without a reach, nothing is usual
    shape = (reading.n_features + 1,) if limited else (0,)
    return {"usual": read_floats(members, f"{folder}/usual.npy", shape)}


def _write_tree(policy: TreePolicy, folder: str, members: Members) -> dict[str, bool]:
    members[f"{folder}/columns.npy"] = to_npy(policy.columns.astype(np.float64))
    members[f"{folder}/thresholds.npy"] = to_npy(policy.thresholds)
    return {}


def _read_tree(
    record: PolicyRecord, members: Mapping[str, bytes], folder: str, reading: Reading
) -> dict[str, Any]:
    size = from_npy(member(members, f"{folder}/thresholds.npy")).size
    if size not in (1, 3):
        raise _does_not_fit(f"a tree with {size} places", "a tree with 1 or 3")
    columns = read_floats(members, f"{folder}/columns.npy", (size,))
    if not np.isin(columns, np.arange(NO_SPLIT, reading.n_features)).all():
        raise _does_not_fit(f"a tree that asks about columns {columns}", "a column of the table")
    thresholds = read_floats(members, f"{folder}/thresholds.npy", (size,))
    return {"columns": columns.astype(np.intp), "thresholds": thresholds}


#: The attributes of a policy over numbers that are numbers.
GAUSSIAN = ("level", "unit", "smallest", "largest", "reach")


@dataclass(frozen=True)
class Format:
    """How a file holds the policies of one family.

    Parameters
    ----------
    policy : type
        Their class.
    estimator : {"classifier", "regressor"}
        Whose policies they are.
    numbers : tuple of str
        The attributes that are numbers, in the order of the constructor.
    write : callable
        Adds members of its own; returns the names of tensors.
    read : callable
        From these members to arguments of the constructor, by name.
    scores : bool, default False
        Whether the standardisation includes a scorer's log-odds.
    """

    policy: Any
    estimator: Kind = "classifier"
    numbers: tuple[str, ...] = ("exploration",)
    write: Callable[[Any, str, Members], dict[str, bool]] = _nothing
    read: Callable[[PolicyRecord, Mapping[str, bytes], str, Reading], dict[str, Any]] = _nothing
    scores: bool = False


#: How a file holds the policies of each family, by their ``digest_tag``.
FORMATS: dict[str, Format] = {
    form.policy.digest_tag: form
    for form in (
        Format(SoftmaxPolicy),
        Format(ScoredPolicy, write=_write_scorer, read=_read_scorer, scores=True),
        Format(TorchPolicy, write=_write_module, read=_read_module),
        Format(TreePolicy, write=_write_tree, read=_read_tree),
        Format(GaussianPolicy, "regressor", GAUSSIAN, _write_usual, _read_usual),
    )
}


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
