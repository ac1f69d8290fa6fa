"""Saving and loading fitted estimators: one file, no pickle, and no code that runs on loading.

The file (``.elfair``) is a zip container of ``model.json``, the certificate, and arrays; where a
scikit-learn object is inside, skops writes it. It holds every model that was lined up for the test,
in order, so that whoever has the data can test them again.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from elfair.errors import InputError
from elfair.records.files import unreadable, write_whole

if TYPE_CHECKING:
    from elfair.estimators.base import ELFEstimator
    from elfair.estimators.classifier import ELFClassifier
    from elfair.estimators.regressor import ELFRegressor

__all__ = ["load", "save"]

SUFFIX = ".elfair"


def save(
    estimator: ELFEstimator,
    path: str | os.PathLike[str],
    *,
    encoding: Mapping[str, Any] | None = None,
) -> None:
    """Write a fitted estimator to a file; `ELFEstimator.save` is its public name."""
    from elfair.persistence.model_file import to_bytes

    if Path(path).suffix != SUFFIX:
        raise InputError(
            f"the name of a model's file must end with {SUFFIX}. Got '{path}' instead.",
            hint=f"write '{Path(path).with_suffix('')}{SUFFIX}'.",
        )
    write_whole(path, to_bytes(estimator, encoding))


def load(
    path: str | os.PathLike[str], *, trusted: Sequence[str] = (), module: Any = None
) -> ELFClassifier | ELFRegressor:
    """The estimator that ``save`` wrote to a file.

    Nothing in the file is run. A file that was changed in any byte, cut short, or written by a
    newer version is refused. Who wrote it no file can say: compare the digest of the model with
    that of a certificate that you trust.

    Parameters
    ----------
    path : str or path-like
        The file.
    trusted : sequence of str, default ()
        Full names of types that may be built, beyond those of scikit-learn that skops knows as
        harmless; where there are others in the file, the error names them.
    module : torch.nn.Module, optional
        The architecture, where the model is a torch module: only its tensors are in the file. It is
        not changed.

    Returns
    -------
    ELFClassifier or ELFRegressor
        Fitted. After "no solution found" it still has nothing to predict with. A parameter that is
        not plain, such as ``scorer``, is replaced by a note that it was not saved.

    Examples
    --------
    >>> import tempfile
    >>> from elfair import ELFClassifier, load
    >>> clf = ELFClassifier().fit([[0.0], [1.0], [2.0], [3.0]], ["no", "no", "yes", "yes"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     clf.save(f"{folder}/model.elfair")
    ...     loaded = load(f"{folder}/model.elfair")
    >>> (loaded.predict_proba([[2.5]]) == clf.predict_proba([[2.5]])).all()
    np.True_
    """
    from elfair.persistence.model_file import from_bytes

    if isinstance(trusted, str):
        raise InputError(
            f"trusted must be a list of names. Got {trusted!r} instead.",
            hint=f"write trusted=[{trusted!r}].",
        )
    try:
        data = Path(path).read_bytes()
    except (OSError, ValueError) as error:
        raise unreadable(path, error, hint="is this the right name?") from None
    try:
        return from_bytes(data, trusted=trusted, module=module)
    except InputError as error:
        raise InputError(f"'{path}' cannot be loaded: {error.message}", hint=error.hint) from None
