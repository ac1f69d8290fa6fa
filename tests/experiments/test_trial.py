"""Single trials: what is recorded of them, and of those that crash."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from elfair.experiments import trial as trial_module
from elfair.experiments.trial import Batch, module_digest, perform, source_digest, source_of
from elfair.populations import FosterCare

SETTINGS = ('{"alpha": 0.5}', '{"alpha": 0.9}', '{"alpha": 1}')


class Own:
    """A method that counts its fits and does as told."""

    label = "own"

    def __init__(self, does, *, uses_impact=True):
        self.does, self.uses_impact = does, uses_impact
        self.fits = []

    def fit(self, draw, constraints, *, delta, seed):
        self.fits.append((draw, constraints, delta, seed))
        return self.does()


class Model:
    def __init__(self, share):
        self.share = share

    def predict_proba(self, X):
        return np.tile([1 - self.share, self.share], (len(X), 1))


def always():
    return Model(1.0)


def crash():
    raise ZeroDivisionError("of its own")


@pytest.fixture
def own(monkeypatch):
    def use(does, **options):
        method = Own(does, **options)
        monkeypatch.setattr(trial_module, "get_method", lambda name: method)
        return method

    return use


def batch(settings=SETTINGS, **changes):
    return replace(Batch("foster-care", settings, "own", 100, 7, 0.05), **changes)


def test_the_truth_is_recorded(own):
    own(always)
    for record, alpha in zip(perform(batch()), (0.5, 0.9, 1.0), strict=True):
        truth = FosterCare(alpha=alpha).truth(always())
        assert record.outcome == "returned"
        assert record.accuracy == truth.accuracy
        assert record.violations == {"0": truth.violation[0], "1": truth.violation[1]}
        assert record.error is None
        assert (record.method, record.n, record.seed) == ("own", 100, 7)


def test_no_solution_is_a_result(own):
    own(lambda: None)
    for record in perform(batch()):
        assert (record.outcome, record.accuracy, record.violations) == ("no solution", None, {})


def test_the_data_and_the_method_get_the_seed(own):
    method = own(always)
    perform(batch(SETTINGS[1:2]))
    [(draw, constraints, delta, seed)] = method.fits
    expected = FosterCare(alpha=0.9).sample(100, 7)
    np.testing.assert_array_equal(draw.impact, expected.impact)
    np.testing.assert_array_equal(draw.features, expected.features)
    assert constraints == FosterCare(alpha=0.9).constraints
    assert (delta, seed) == (0.05, 7)


def test_a_method_that_looks_at_the_impact_is_fitted_at_each_setting(own):
    method = own(always)
    perform(batch())
    assert len(method.fits) == 3
    assert len({fit[0].impact.sum() for fit in method.fits}) == 3


def test_a_method_that_does_not_is_fitted_once(own):
    method = own(always, uses_impact=False)
    shared = perform(batch())
    assert len(method.fits) == 1
    own(always)
    alone = perform(batch())
    for one, other in zip(shared, alone, strict=True):
        assert replace(one, seconds=0) == replace(other, seconds=0)


def test_and_is_integrated_once(own):
    """Eleven times the same integrals would take longer than the fit."""
    seen = []

    class Watched(Model):
        def predict_proba(self, X):
            seen.append(len(X))
            return super().predict_proba(X)

    own(lambda: Watched(1.0), uses_impact=False)
    perform(batch(SETTINGS[:1]))
    alone = [*seen]
    seen.clear()
    perform(batch())
    assert seen == alone != []


def test_but_again_where_more_than_the_impact_differs(own):
    """Strictness changes logged decisions, which such a method may look at."""
    method = own(always, uses_impact=False)
    settings = [f'{{"alpha": {a}, "strict": {s}}}' for s in ("false", "true") for a in (0.5, 0.9)]
    perform(batch(tuple(settings)))
    assert len(method.fits) == 2
    first, second = (fit[0].decision for fit in method.fits)
    assert not np.array_equal(first, second)


def test_the_time_of_a_shared_fit_is_shared(own):
    def work():
        x = 0
        while trial_module.process_time() < work.until:
            x += 1
        return always()

    own(work, uses_impact=False)
    work.until = trial_module.process_time() + 0.3
    seconds = [record.seconds for record in perform(batch())]
    assert 0.25 < sum(seconds) < 0.4  # less, as drawing comes before the fit
    assert max(seconds) == min(seconds)


def test_only_the_fit_is_timed(own, monkeypatch):
    clock = iter([10.0, 10.5])
    monkeypatch.setattr(trial_module, "process_time", lambda: next(clock))
    own(always)
    assert perform(batch(SETTINGS[:1]))[0].seconds == 0.5


@pytest.mark.parametrize("uses_impact", [True, False])
def test_a_crash_is_a_failure_and_never_no_solution(own, uses_impact):
    own(crash, uses_impact=uses_impact)
    for record in perform(batch()):
        assert (record.outcome, record.accuracy, record.violations) == ("failed", None, {})
        assert record.error.startswith("ZeroDivisionError: of its own\n")
        assert "in crash" in record.error  # where it happened


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (Model(np.nan), "InputError: "),
        (Model(2.0), "InputError: "),
        (object(), "InputError: policy must have predict_proba"),
        (Model, "InputError: policy must be a model. Got the class Model instead."),
    ],
)
def test_a_model_that_cannot_be_scored_is_a_failure(own, model, said):
    own(lambda: model)
    for record in perform(batch()):
        assert (record.outcome, record.accuracy, record.violations) == ("failed", None, {})
        assert record.error.startswith(said)


def test_ctrl_c_is_obeyed(own):
    def end():
        raise KeyboardInterrupt

    own(end)
    with pytest.raises(KeyboardInterrupt):
        perform(batch())


@pytest.mark.parametrize("uses_impact", [True, False])
def test_a_method_or_a_model_that_calls_exit_has_crashed(own, uses_impact):
    class Leaving(Model):
        def predict_proba(self, X):
            raise SystemExit(3)

    own(lambda: __import__("sys").exit("bye"), uses_impact=uses_impact)
    assert {record.error.split("\n")[0] for record in perform(batch())} == {"SystemExit: bye"}
    own(lambda: Leaving(1.0), uses_impact=uses_impact)
    assert {(r.outcome, r.error.split("\n")[0]) for r in perform(batch())} == {
        ("failed", "SystemExit: 3")
    }


def test_a_draw_that_cannot_be_made_is_a_crash_of_the_trial(own, monkeypatch):
    def sample(self, n, seed):
        raise MemoryError(f"no room for {n} people")

    method = own(always)
    monkeypatch.setattr(FosterCare, "sample", sample)
    records = perform(batch())
    assert [record.settings for record in records] == list(SETTINGS)
    for record in records:
        assert (record.outcome, record.accuracy, record.seconds) == ("failed", None, 0.0)
        assert record.error.startswith("MemoryError: no room for 100 people\n")
    assert method.fits == []


def test_a_method_that_says_so_sees_no_impact_and_no_constraints(own):
    method = own(always, uses_impact=False)
    perform(batch())
    [(draw, constraints, _, _)] = method.fits
    expected = FosterCare(alpha=0.5).sample(100, 7)
    assert np.isnan(draw.impact).all()
    assert draw.impact.shape == (100,)
    assert constraints == []
    for name in ("features", "label", "group", "decision", "propensity"):
        np.testing.assert_array_equal(getattr(draw, name), getattr(expected, name))


def test_of_a_deep_crash_both_ends_are_kept(own):
    def ping(levels):
        return pong(levels - 1)

    def pong(levels):
        if levels > 0:
            return ping(levels)
        raise ZeroDivisionError("at the bottom")

    def begin():
        return ping(10)

    own(begin)
    error = perform(batch())[0].error
    assert error.startswith("ZeroDivisionError: at the bottom\n")
    assert "in begin" in error  # which line of one's own it was
    assert "more ..." in error
    assert error.count("File ") == 5
    assert error.endswith('raise ZeroDivisionError("at the bottom")')


def test_numerical_libraries_have_one_thread(own):
    seen = []

    def look():
        seen.extend(pool["num_threads"] for pool in threadpool_info())
        return always()

    own(look)
    with threadpool_limits(2):
        perform(batch())
    assert seen
    assert set(seen) == {1}


def test_warnings_of_methods_are_not_repeated(own):
    def warn():
        __import__("warnings").warn("again and again", stacklevel=1)
        return always()

    own(warn)
    assert perform(batch())[0].outcome == "returned"  # warnings are errors in these tests


def test_the_digest_follows_the_source(tmp_path, monkeypatch):
    package = tmp_path / "elfair"
    (package / "experiments").mkdir(parents=True)
    (package / "a.py").write_text("x = 1\n")
    monkeypatch.setattr(trial_module, "__file__", str(package / "experiments" / "trial.py"))
    undecorated = source_digest.__wrapped__
    first = undecorated()
    assert first == undecorated()
    (package / "a.py").write_text("x = 2\n")
    assert undecorated() != first


def test_the_source_of_a_users_method_covers_its_module(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    module = tmp_path / "own_module_of_a_version.py"
    module.write_text("mine = 1\n")
    first = module_digest("own_module_of_a_version:mine")
    library, _, own = source_of("own_module_of_a_version:mine").partition("+")
    assert (library, own) == (source_digest(), first)
    module.write_text("mine = 2\n")
    assert module_digest("own_module_of_a_version:mine") not in ("", first)
    # What runs here is still what was imported.
    assert source_of("own_module_of_a_version:mine").endswith(first)
    module.unlink()
    assert module_digest("own_module_of_a_version:mine") == ""
    assert source_of("elfair") == source_digest()
