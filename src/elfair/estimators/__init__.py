"""ELFClassifier, ELFRegressor and certify: from columns and parameters to a certified model."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from elfair.estimators.certify import certify
from elfair.estimators.classifier import ELFClassifier
from elfair.estimators.deployed import cutoff
from elfair.estimators.regressor import ELFRegressor
from elfair.persistence import load as load_file


def load(
    path: str | os.PathLike[str], *, trusted: Sequence[str] = (), module: Any = None
) -> ELFClassifier | ELFRegressor:
    """Load the estimator that ``save`` wrote to a file.

    Nothing in the file is run. A file is refused if any byte was changed, if it was cut short, or
    if a newer version wrote it. No file can prove who wrote it: compare the digest of the model
    with that of a certificate that you trust.

    Parameters
    ----------
    path : str or path-like
        The file.
    trusted : sequence of str, default ()
        Full names of types that may be built, besides those of scikit-learn that skops knows to be
        harmless. If the file holds others, the error names them.
    module : torch.nn.Module, optional
        The architecture, if the model is a torch module: the file holds only its tensors. The
        module is not changed.

    Returns
    -------
    ELFClassifier or ELFRegressor
        Fitted. After "no solution found" there is still nothing to predict with. A note takes the
        place of any parameter that is not plain, such as ``scorer``, and says that it was not
        saved.

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
    kinds = {kind.digest_tag: kind for kind in (ELFClassifier, ELFRegressor)}
    loaded: ELFClassifier | ELFRegressor = load_file(path, kinds, trusted=trusted, module=module)
    return loaded
