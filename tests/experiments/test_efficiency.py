"""Data efficiency: exact where the truth is known, intervals that cover, censored cases."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field

import numpy as np
import pytest
from scipy.special import ndtr
from sklearn.isotonic import isotonic_regression

from elfair.errors import InputError
from elfair.experiments.efficiency import LEAST_SEEDS, _increasing, data_efficiency
from elfair.experiments.trial import TrialRecord

SIZES = [2**power for power in range(8, 14)]


@dataclass(frozen=True)
class Asked:
    method: str = "new"
    against: str = "old"
    n: int = 4096
    settings: dict = field(default_factory=dict)


def trials(method, n, returned, accuracy, *, settings="{}", first=0):
    """One trial for each entry; `accuracy` only counts where a model was returned."""
    accuracy = np.broadcast_to(accuracy, np.shape(returned))
    return [
        TrialRecord(method, settings, n, first + seed, "returned", float(a), {}, 0.1, None)
        if r
        else TrialRecord(method, settings, n, first + seed, "no solution", None, {}, 0.1, None)
        for seed, (r, a) in enumerate(zip(returned, accuracy, strict=True))
    ]


def exactly(share, seeds=100):
    return np.arange(seeds) < round(share * seeds)


def rate(n, faster=1.0):
    """Linear in log n, so that straight lines between sizes are exact."""
    return 0.1 + 0.1 * np.log2(n * faster / 128)


def accuracy(n, faster=1.0):
    return 0.7 + 0.02 * np.log2(n * faster / 128)


def experiment(faster, rate_faster=None, sizes=SIZES):
    """`new` has the curves of `old`, shifted: no sampling error but rounding of rates."""
    seeds = 1000
    records = trials("old", 4096, exactly(rate(4096), seeds), accuracy(4096))
    for n in sizes:
        returned = exactly(rate(n, rate_faster or faster), seeds)
        records += trials("new", n, returned, accuracy(n, faster))
    return records


@pytest.mark.parametrize("faster", [1.0, 2.0, 3.0, 4.0, 7.3])
def test_curves_that_are_shifted_by_a_factor_give_that_factor(faster):
    answer = data_efficiency(experiment(faster), Asked())
    assert answer.ratio == pytest.approx(faster, rel=0.01)
    assert answer.rows == pytest.approx(4096 / faster, rel=0.01)
    assert answer.low * (1 - 1e-9) <= answer.ratio <= answer.high * (1 + 1e-9)
    assert not answer.at_least
    assert answer.rate == pytest.approx(0.6)
    assert answer.accuracy == pytest.approx(0.8)


@pytest.mark.parametrize(("faster", "rate_faster"), [(8.0, 2.0), (2.0, 8.0)])
def test_both_must_be_reached(faster, rate_faster):
    assert data_efficiency(experiment(faster, rate_faster), Asked()).ratio == pytest.approx(
        2, rel=0.01
    )


def test_a_method_that_needs_more_rows_has_a_ratio_below_one():
    answer = data_efficiency(experiment(0.5), Asked())
    assert answer.ratio == pytest.approx(0.5, rel=0.01)
    assert "a ratio of 0.5" in answer.sentence({}, "here")


def test_the_smallest_size_suffices():
    answer = data_efficiency(experiment(4.0, sizes=[2048, 4096]), Asked())
    assert answer.at_least
    assert answer.rows == 2048
    assert answer.ratio == 2
    assert answer.interval == "2.0 or more"
    assert "2,048 or fewer rows: at least 2.0 times fewer" in answer.sentence({}, "here")


def test_never_reached_within_the_sizes_run():
    answer = data_efficiency(experiment(0.1, sizes=[512, 8192]), Asked())
    assert not answer.reached
    assert answer.ratio == 0
    assert answer.interval == "below 0.5"
    assert "does not reach" in answer.sentence({}, "here")
    assert "up to 8,192 rows" in answer.sentence({}, "here")


def test_an_end_of_the_interval_beyond_the_sizes_is_left_open():
    # At the largest size just about half of all resamples reach the rate.
    records = trials("old", 4096, exactly(0.5), 0.8) + trials("new", 256, exactly(0.2), 0.8)
    records += trials("new", 2048, exactly(0.5)[::-1], 0.8)
    answer = data_efficiency(records, Asked())
    assert answer.ratio == 2
    assert answer.low == 0
    assert answer.interval.startswith("below 2.0 to ")


@pytest.mark.parametrize("seeds", [1, 3, LEAST_SEEDS - 1])
def test_few_seeds_give_no_interval(seeds):
    # At a single size, too: it may be the one that decides.
    records = trials("old", 4096, exactly(1.0), 0.8) + trials("new", 512, exactly(1.0), 0.7)
    records += trials("new", 1024, exactly(1.0, seeds), 0.9)
    answer = data_efficiency(records, Asked())
    assert answer.seeds == seeds
    assert math.isnan(answer.low)
    assert math.isnan(answer.high)
    assert f"{seeds} seed" in answer.interval
    assert answer.interval.endswith("too few; 20 are needed at each size")
    assert "(95 % interval: none, since" in answer.sentence({}, "here")
    missing = trials("new", 1024, exactly(1.0, LEAST_SEEDS - seeds), 0.9, first=seeds)
    assert data_efficiency(records + missing, Asked()).low > 0


def test_no_accuracy_is_made_up_where_nothing_was_returned():
    # Between 256 (no model) and 1024 nothing is known: 1024 rows are needed, not fewer.
    records = trials("old", 4096, exactly(0.5), 0.8) + trials("new", 256, exactly(0.0), 0.0)
    records += trials("new", 1024, exactly(1.0), 0.9)
    assert data_efficiency(records, Asked()).rows == 1024


def test_a_dip_is_evened_out_with_its_neighbours():
    # Rates 0.6 and 0.4 are pooled to 0.5 at 512 and 1024: neither alone decides.
    records = trials("old", 4096, exactly(0.55), 0.8) + trials("new", 256, exactly(0.0), 0.8)
    for n, share in [(512, 0.6), (1024, 0.4), (2048, 0.6)]:
        records += trials("new", n, exactly(share), 0.9)
    answer = data_efficiency(records, Asked())
    assert answer.rows == pytest.approx(1024 * math.sqrt(2), rel=1e-6)


def test_sizes_with_more_trials_weigh_more():
    records = trials("old", 4096, exactly(0.5), 0.8)
    records += trials("new", 512, exactly(0.6, 900), 0.9) + trials("new", 1024, exactly(0.4), 0.9)
    assert data_efficiency(records, Asked()).rows == 512  # pooled: 0.58, not 0.5


def test_isotonic_regression_is_that_of_scikit_learn():
    random = np.random.default_rng(5)
    values, weights = random.normal(size=(40, 8)), random.integers(1, 500, (40, 8)).astype(float)
    expected = [
        isotonic_regression(v, sample_weight=w) for v, w in zip(values, weights, strict=True)
    ]
    np.testing.assert_allclose(_increasing(values, weights), expected, atol=1e-12)


def test_crashed_trials_are_left_out():
    records = experiment(4.0)
    crash = [
        TrialRecord("new", "{}", n, 5000 + i, "failed", None, {}, 0.0, "boom")
        for n in SIZES
        for i in range(50)
    ]
    assert data_efficiency(records + crash, Asked()).rows == data_efficiency(records, Asked()).rows


def simulated(random, seeds, fewer, rate_faster, faster):
    """An experiment with noise that data sets share, and fewer seeds at the larger sizes."""
    records = []
    for n in SIZES:
        count = seeds if n <= 1024 else fewer
        easy, kind = random.normal(size=(2, count))  # of each data set, for all methods
        for method, shift, other in (("old", 1.0, 1.0), ("new", rate_faster, faster)):
            returned = ndtr(0.7 * easy + math.sqrt(0.51) * random.normal(size=count))
            values = accuracy(n, other) + 0.03 * kind + 0.03 * random.normal(size=count)
            records += trials(method, n, returned < rate(n, shift), values)
    return records


@pytest.mark.parametrize(("rate_faster", "faster"), [(4.0, 4.0), (4.0, 12.0), (12.0, 4.0)])
def test_about_95_percent_of_intervals_hold_the_truth(rate_faster, faster):
    # 4 times, whether the rate, the accuracy or both of them are the hard one.
    random = np.random.default_rng(11)
    experiments, hit, widths = 200, 0, []
    for _ in range(experiments):
        records = simulated(random, 120, 80, rate_faster, faster)
        answer = data_efficiency(records, Asked(), resamples=300)
        hit += answer.low <= 4.0 <= answer.high
        widths.append(answer.high / max(answer.low, 0.5))
    assert 0.90 <= hit / experiments <= 0.99
    assert np.median(widths) < 8  # not by holding everything, which would be 32


def test_seeds_are_drawn_with_all_their_trials():
    # Methods that do the same on every data set differ by nothing that a bootstrap could find.
    random = np.random.default_rng(3)
    returned = random.random(200) < 0.6
    records = trials("old", 4096, returned, 0.8) + trials("new", 2048, returned, 0.8)
    records += trials("new", 512, np.zeros(200, bool), 0.8)
    answer = data_efficiency(records, Asked())
    assert answer.low == answer.high == pytest.approx(2)


def test_the_bootstrap_repeats():
    records = simulated(np.random.default_rng(0), 60, 40, 4.0, 4.0)
    assert data_efficiency(records, Asked()) == data_efficiency(records[::-1], Asked())
    other = data_efficiency(records, Asked(), random_state=1)
    assert other.ratio == data_efficiency(records, Asked()).ratio


def test_500_seeds_and_8_sizes_take_less_than_two_seconds():
    random = np.random.default_rng(0)
    records = trials("old", 4096, exactly(0.6, 500), 0.8)
    for n in [2**power for power in range(8, 16)]:
        records += trials("new", n, random.random(500) < min(1, rate(n)), 0.8)
    start = time.process_time()
    data_efficiency(records, Asked())
    assert time.process_time() - start < 2


def test_settings_need_only_tell_which_cell():
    two = '{"alpha": 0.2, "strict": false}', '{"alpha": 0.9, "strict": false}'
    records = []
    for text, share in zip(two, (0.5, 0.6), strict=True):
        records += trials("old", 4096, exactly(share), 0.8, settings=text)
        records += trials("new", 1024, exactly(0.9), 0.9, settings=text)
    answer = data_efficiency(records, Asked(settings={"alpha": 0.9}))
    assert answer.settings == two[1]
    assert answer.rate == pytest.approx(0.6)
    with pytest.raises(InputError, match="match several"):
        data_efficiency(records, Asked(settings={"strict": False}))
    with pytest.raises(InputError, match=r"\"alpha\": 0.3\} match no trial"):
        data_efficiency(records, Asked(settings={"alpha": 0.3}))


def test_questions_without_an_answer():
    records = trials("new", 512, exactly(0.5), 0.8)
    with pytest.raises(InputError, match="old has no trial there that returned a model"):
        data_efficiency(records, Asked())
    records += trials("old", 4096, exactly(0.0), 0.8)
    with pytest.raises(InputError, match="old has no trial there that returned a model"):
        data_efficiency(records, Asked())
    with pytest.raises(InputError, match="new has no trials"):
        data_efficiency(trials("old", 4096, exactly(0.5), 0.8), Asked())
