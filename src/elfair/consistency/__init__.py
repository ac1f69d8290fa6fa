"""Whether a certificate agrees with itself, without rows and models.

`load` asks this of the certificate in a model file, `elfair explain` of the one that it shows, and
verification of every one, as its second level.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np

from elfair.certificate import Certificate
from elfair.consistency import arithmetic, bookkeeping
from elfair.consistency.comparison import SkippedError
from elfair.consistency.stated import Stated
from elfair.errors import InputError

#: The checks, in the order in which they are made and shown. Each returns what it found; it raises
#: `MismatchError` if something is wrong, and `SkippedError` if the record alone cannot tell.
CHECKS: dict[str, Callable[[Stated], str]] = {
    "statements": arithmetic.check_statements,
    "moments": arithmetic.check_moments,
    "bounds": arithmetic.check_bounds,
    "formulas": arithmetic.check_formulas,
    "verdicts": arithmetic.check_verdicts,
    "e-values": arithmetic.check_wealth,
    "joint promise": bookkeeping.check_promise,
    "promise in words": bookkeeping.check_words,
    "groups": arithmetic.check_groups,
    "numbers of rows": bookkeeping.check_sizes,
    "places on the ladder": bookkeeping.check_ladder,
    "pictures": bookkeeping.check_pictures,
    "assumptions": bookkeeping.check_assumptions,
    "warnings": bookkeeping.check_warnings,
}


def require_consistent(certificate: Certificate) -> Certificate:
    """Return a certificate that agrees with itself; raise if one of its numbers does not.

    Parameters
    ----------
    certificate : Certificate
        The record.

    Examples
    --------
    >>> from dataclasses import replace
    >>> from elfair import LoggedData, certify
    >>> data = LoggedData([[0.0]] * 400, [0, 1] * 200)
    >>> certificate = certify([0.2, 0.7] * 200, data, "accuracy >= 0.7")
    >>> require_consistent(replace(certificate, passed=False))
    Traceback (most recent call last):
        ...
    elfair.errors.InputError: the certificate contradicts itself (verdicts): passed is False, ...
    Hint: ...
    """
    stated = Stated(certificate)
    for name, check in CHECKS.items():
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")  # the original test raised them
                check(stated)
        except SkippedError:
            continue
        except Exception as error:  # numbers that no test gives can fail anywhere
            raise InputError(
                f"the certificate contradicts itself ({name}): {str(error).splitlines()[0]}",
                hint="somebody changed it: get a new copy from whoever made it.",
            ) from None
    return certificate
