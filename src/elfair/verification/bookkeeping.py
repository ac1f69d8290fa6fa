"""Level 2: numbers of rows, models and people that must add up."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import inf, isfinite

from elfair.bounds import get_bound
from elfair.certificate import Certificate, ConstraintResult, GroupPicture
from elfair.fairness_test.evidence import badness
from elfair.fairness_test.issue import joint_delta, joint_statement
from elfair.fairness_test.ladder import fate_of
from elfair.language import EVERYONE, are_disjoint, who
from elfair.records.text import plural
from elfair.statistics.plan import conditions_of
from elfair.verification.checks import RELATIVE, Check, close, make, require
from elfair.verification.premises import claims_of, condition_of


def bookkeeping_checks(record: Certificate) -> list[Check]:
    """What must add up."""
    checks: list[tuple[str, Callable[[Certificate], str | None]]] = [
        ("joint promise", _check_promise),
        ("groups", _check_groups),
        ("numbers of rows", _check_sizes),
        ("models in line", _check_line),
        ("pictures", _check_pictures),
    ]
    return [make("arithmetic", name, partial(look, record)) for name, look in checks]


def _check_promise(record: Certificate) -> str:
    """The order of statements, and what is promised of all of them."""
    worst = [badness(result) for result in record.constraints]
    require(worst == sorted(worst, reverse=True), "the worst statement does not come first")
    delta = joint_delta([result.delta for result in record.constraints], record.split)
    require(
        close(record.joint_delta, delta),
        f"the joint delta is {record.joint_delta}, and should be {delta}",
    )
    kind = get_bound(record.bound).kind if record.constraints else None
    promise = joint_statement(kind, record.joint_delta, record.split, record.candidate)
    require(record.joint_statement == promise, f"the promise should read: {promise}")
    return f"delta {delta:g}"


# -- groups --------------------------------------------------------------------------------------


def _check_groups(record: Certificate) -> str:
    """Sizes and weights of the groups of each statement."""
    for result in record.constraints:
        where = f"'{result.statement}'"
        sizes = dict.fromkeys(
            (part.condition, part.n) for tail in result.tails for part in tail.parts
        )
        found = [(group.condition, group.n) for group in result.groups]
        require(found == list(sizes), f"{where}: groups {found} of parts {list(sizes)}")
        _check_union(result, record.n_fairness, where)
        for group in result.groups:
            weights = (group.ess, group.mean_weight, group.mean_weight_error, group.max_weight)
            known = [weight for weight in weights if weight is not None]
            require(len(known) in (0, 4), f"{where}: '{group.condition}' has half its weights")
            if known:
                _check_weights(known, group.n, f"{where}, '{group.condition}'")
        _check_summary(result, where)
    return plural(sum(len(result.groups) for result in record.constraints), "group")


def _check_weights(weights: list[float], n: int, where: str) -> None:
    """What weights there can be: 0 <= w <= most, so that sum w^2 <= most * sum w."""
    ess, mean, error, most = weights
    require(
        0 <= mean <= most * (1 + RELATIVE) < inf and 0 <= error < inf and ess >= 0,
        f"{where}: weights with mean {mean}, largest {most}, error {error}, effective size {ess}",
    )
    least = n * mean / most if most else 0.0
    require(
        least * (1 - RELATIVE) <= ess <= n * (1 + RELATIVE),
        f"{where}: an effective sample size of {ess} from {n} weights is not possible",
    )


def _check_union(result: ConstraintResult, n_tested: int, where: str) -> None:
    sizes = [group.n for group in result.groups]
    given = [condition_of(group.condition) for group in result.groups]
    least, most = max(sizes), min(sum(sizes), n_tested)
    if all(are_disjoint(a, b) for k, a in enumerate(given) for b in given[:k]):
        least = sum(sizes)
    require(least <= result.n <= most, f"{where}: {result.n} rows took part, of groups {sizes}")


def _check_summary(result: ConstraintResult, where: str) -> None:
    """The smallest sample, the mean weight furthest from 1, the largest weight."""
    groups = [group for group in result.groups if group.mean_weight is not None]
    sizes = [group.ess for group in groups if group.ess is not None]
    means = [group.mean_weight for group in groups if group.mean_weight is not None]
    largest = [group.max_weight for group in groups if group.max_weight is not None]
    found = (
        min(sizes, default=None),
        max(means, key=lambda weight: abs(weight - 1), default=None),
        max(largest, default=None),
    )
    said = (result.ess, result.mean_weight, result.max_weight)
    require(said == found, f"{where}: summary {said} of groups that say {found}")


# -- rows and models -----------------------------------------------------------------------------


def _check_sizes(record: Certificate) -> str:
    n, aside, tested = record.n, record.n_candidate, record.n_fairness
    share, folds = record.terms.candidate_share, record.terms.folds
    require(min(n, aside, tested) >= 0, f"rows: {n}, {aside}, {tested}")
    said = f"{n} rows, {aside} for the search and {tested} for the test"
    if record.split == "crossfit":
        require(
            2 <= folds <= n and tested == n and aside == n - n // folds, f"{said}, {folds} folds"
        )
        require(close(share, 1 - 1 / folds), f"a share of {share} with {folds} folds")
    else:
        require(n == aside + tested and folds == 1, f"{said}, {folds} folds")
        if record.split != "stratified":  # there each stratum is rounded
            require(aside == round(share * n), f"{said}, at a share of {share}")
        require(0 <= share <= 1, f"a share of {share}")
    if not record.terms.claims:
        require(tested == 0 and record.openings == 0, f"{said}, and nothing to test")
    read, left_out = record.provenance.rows_read, record.provenance.left_out
    if read:  # not every table was read by elfair
        missing = sum(each.n for each in left_out)
        require(read == n + missing, f"{read} rows read, {missing} left out, {n} used")
    return said


def _check_line(record: Certificate) -> str | None:
    """A model is let out where all before it passed; the next one failed, or there is none."""
    of = record.candidate
    if of is None:
        require(record.trade_off is None, "there is a line of models, and none was searched for")
        require(record.split == "none", f"split is '{record.split}' for a model from elsewhere")
        return "a model from elsewhere"
    said = f"{of.lined_up} lined up, {of.tested} tested, place {of.place}"
    require(1 <= of.place <= of.tested <= of.lined_up, said)
    chance = of.predicted_pass
    require(0 <= chance <= 1, f"a predicted probability of {chance} to pass")
    require(of.evaluations >= 0, f"{of.evaluations} policies were looked at")
    require(isfinite(of.loss), f"the loss is {of.loss}")
    if record.passed:
        last = of.place == of.tested == of.lined_up
        require(last or of.tested == of.place + 1, f"{said}, and the test went on or stopped early")
    else:
        require(of.place == of.tested == 1, f"{said}, although the first failed")
    require(of.models == record.terms.folds, f"{of.models} models for {record.terms.folds} folds")
    halves = record.split in ("random", "stratified")
    require((record.trade_off is not None) == halves, f"a trade-off where split='{record.split}'")
    if record.trade_off is not None:
        models = record.trade_off.models
        places = [m.place for m in models]
        in_order = places == list(range(1, len(models) + 1))
        require(
            in_order and len(models) == of.lined_up, f"{said}: the trade-off shows places {places}"
        )
        fates = [fate_of(m.place, of.tested, of.place, passed=record.passed) for m in models]
        require([m.fate for m in models] == fates, f"{said}: fates should be {fates}")
        losses = [model.loss for model in models]
        require(all(map(isfinite, losses)), f"the losses in line are {losses}")
        require(losses[of.place - 1] == of.loss, f"the loss of place {of.place} is not it")
        series = len(record.trade_off.series)
        require(all(len(m.impacts) == series for m in models), f"not {series} impacts each")
    return said


# -- pictures ------------------------------------------------------------------------------------


def _check_pictures(record: Certificate) -> str:
    """Groups that were asked for, and histograms that hold each of their rows once."""
    sizes = {group.condition: group.n for r in record.constraints for group in r.groups}
    sizes[EVERYONE] = record.n_fairness
    asked = {EVERYONE, *map(who, conditions_of(claims_of(record.terms)))}
    shown = [picture.condition for picture in record.groups]
    require(
        shown[:1] == [EVERYONE] and sorted(shown) == sorted(asked),
        f"pictures of {shown}, where {sorted(asked)} were asked for",
    )
    for picture in record.groups:
        n = sizes.get(picture.condition, picture.n)
        require(picture.n == n, f"{picture.n} rows of '{picture.condition}', not {n}")
        _check_picture(picture, record.classes)
    return plural(len(shown), "group")


def _check_picture(picture: GroupPicture, classes: tuple[str, ...]) -> None:
    where = f"the picture of '{picture.condition}'"
    for name in ("weights", "propensities", "probabilities"):
        histogram = getattr(picture, name)
        if histogram is not None:
            total, edges = sum(histogram.counts), histogram.edges
            fits = len(edges) == len(histogram.counts) + 1 and list(edges) == sorted(edges)
            require(fits and min(histogram.counts) >= 0, f"{where}: {name} are no histogram")
            require(total == picture.n, f"{where}: {name} of {total} rows, not {picture.n}")
    for impact in picture.impacts:
        for interval in (impact.logged, impact.new):
            ordered = interval.low <= interval.estimate <= interval.high
            middle = close(
                interval.high - interval.estimate,
                interval.estimate - interval.low,
                abs(interval.estimate),
            )
            require(ordered and middle, f"{where}: {interval} of '{impact.impact}'")
    if picture.decisions and classes:
        names = tuple(decision.decision for decision in picture.decisions)
        require(names == classes, f"{where}: decisions {names} of classes {classes}")
        for side in ("logged", "new"):
            total = sum(getattr(decision, side) for decision in picture.decisions)
            require(close(total, 1.0), f"{where}: {side} decisions add up to {total}")
