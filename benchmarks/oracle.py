"""How accurate could a returned model be? The limit that no search can beat.

An oracle knows the foster-care-like population and the fairness test uses all n rows. Among
logistic policies of the five features, the oracle takes the most accurate one that passes each
constraint with probability 0.95, in the normal approximation:

    mean_j + (t_{1 - delta, n_j - 1} + z_{0.95}) s_j / sqrt(n_j) <= 0,

with the exact mean and standard deviation of the rows of constraint j, n_j = n P(T = j) for an
impact and n_j = n for the accuracy. A search on real data has to learn all this from a part of
the n rows, and lands below.

Two forms of the impact rows are compared, where w = pi(D | x) / beta(D | x):

* paired: (1 - w) (I - k), with k the mean logged impact of the group;
* doubly robust: sum_a (beta(a) - pi(a)) q(a) + (1 - w) (I - q(D)), with the best q, the true
  expected impact of each decision, and the behaviour probabilities of both decisions.

Run as ``python benchmarks/oracle.py``; it takes a few minutes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import NonlinearConstraint, minimize
from scipy.special import expit, ndtri, stdtrit

from elfair.populations import FosterCare
from elfair.populations import foster_care as law
from pages import stamp, write_into
from paper_page import Cell, Results, table

Floats = NDArray[np.float64]

DELTA = 0.1
PASS_RATE = 0.95
ACCURACY_FLOOR = 0.75
STEEPEST = 60.0  # largest coefficient: beyond it accuracy grows by about 3e-4
PANELS = 4  # accuracy good to 1e-4 for the policies met here
SIZES = {
    0.9: (125, 250, 500, 1_000, 2_048, 4_096),
    0.5: (250, 500, 1_000, 2_048, 4_096),
    0.2: (2_048, 4_096, 8_192, 16_384, 32_768),
}
#: The sizes of the experiments.
STUDIED = (256, 512, 1_024, 2_048, 4_096, 8_192, 16_384, 32_768)


@dataclass(frozen=True)
class Value:
    """A number and its gradient in the parameters of the policy."""

    value: float
    gradient: Floats


@dataclass(frozen=True, eq=False)
class Oracle:
    """The constrained problem for one population, one sample size and one form of the rows."""

    population: FosterCare
    n: int
    doubly_robust: bool
    grid: law.Grid

    @cached_property
    def design(self) -> Floats:
        """The grid's points with a leading column for the intercept."""
        return np.column_stack([np.ones(len(self.grid.points)), self.grid.points])

    @cached_property
    def behavior(self) -> Floats:
        """The behaviour model's probability of decision 1 at each point."""
        return self.population.behavior.predict_proba(self.grid.points)[:, 1]

    @cached_property
    def cost_of_departure(self) -> Floats:
        """E[row^2 | x, T] / (beta - pi)^2 by group: what leaving the behaviour model costs.

        Given x, the row is (1 - w)(alpha (D - r) + noise) in the paired form, where r is the
        group's logged rate, and alpha (beta - pi) + (1 - w) noise in the doubly robust one. The
        noise is centred and independent of D, and (1 - w)^2 = (beta - pi)^2 / beta(D)^2.
        """
        alpha, one, zero = self.population.alpha, self.behavior, 1 - self.behavior
        rate = (self.grid.weight @ one)[:, None]
        noise = ((1 - alpha) * law.NOISE_SD[:, None]) ** 2 * (1 / one + 1 / zero)
        if self.doubly_robust:
            return noise + alpha**2
        return noise + alpha**2 * ((1 - rate) ** 2 / one + rate**2 / zero)

    def accuracy(self, theta: Floats) -> Value:
        """P(decision == Y)."""
        p = expit(self.design @ theta)
        gain = self.grid.accuracy_gain
        return Value(
            self.grid.accuracy_of_zero + float(gain @ p),
            (gain * p * (1 - p)) @ self.design,
        )

    def impact_bound(self, theta: Floats, group: int) -> Value:
        """The upper bound that 95 % of the fairness tests stay below, for one group's impact."""
        p = expit(self.design @ theta)
        weight, departure = self.grid.weight[group], self.behavior - p
        alpha, cost = self.population.alpha, self.cost_of_departure[group]
        return self._bound(
            mean=alpha * float(weight @ departure),
            second=float(weight @ (cost * departure**2)),
            mean_slope=-alpha * weight,
            second_slope=-2 * weight * cost * departure,
            p=p,
            rows=self.n * law.GROUP_PROBABILITY[group],
        )

    def accuracy_bound(self, theta: Floats) -> Value:
        """The same for the accuracy constraint, whose row is 0.75 - pi(Y | x)."""
        p = expit(self.design @ theta)
        ones = law.GROUP_PROBABILITY @ (self.grid.weight * self.grid.label)
        zeros = law.GROUP_PROBABILITY @ (self.grid.weight * (1 - self.grid.label))
        right, right_squared = ones @ p + zeros @ (1 - p), ones @ p**2 + zeros @ (1 - p) ** 2
        floor = ACCURACY_FLOOR
        return self._bound(
            mean=floor - float(right),
            second=float(floor**2 - 2 * floor * right + right_squared),
            mean_slope=zeros - ones,
            second_slope=2 * (ones * (p - floor) - zeros * (1 - p - floor)),
            p=p,
            rows=self.n,
        )

    def _bound(
        self,
        mean: float,
        second: float,
        mean_slope: Floats,
        second_slope: Floats,
        p: Floats,
        rows: float,
    ) -> Value:
        """Mean plus margin; the slopes are derivatives in p at each point."""
        sd = np.sqrt(second - mean**2)
        margin = (stdtrit(rows - 1, 1 - DELTA) + ndtri(PASS_RATE)) / np.sqrt(rows)
        slope = mean_slope + margin * (second_slope - 2 * mean * mean_slope) / (2 * sd)
        return Value(float(mean + margin * sd), (slope * p * (1 - p)) @ self.design)

    def bounds(self, theta: Floats) -> list[Value]:
        """The bound of each constraint; the policy is within the constraints if none is above 0."""
        return [*(self.impact_bound(theta, t) for t in law.GROUPS), self.accuracy_bound(theta)]

    def best(self, starts: Sequence[Floats]) -> tuple[float, Floats]:
        """The largest accuracy within the constraints, and the policy that has it."""

        def loss(theta: Floats) -> tuple[float, Floats]:
            accuracy = self.accuracy(theta)
            return -accuracy.value, -accuracy.gradient

        constraint = NonlinearConstraint(
            lambda theta: np.array([bound.value for bound in self.bounds(theta)]),
            -np.inf,
            0.0,
            jac=lambda theta: np.array([bound.gradient for bound in self.bounds(theta)]),
        )
        found = (float("nan"), starts[0])
        for start in starts:
            result = minimize(
                loss,
                start,
                jac=True,
                method="SLSQP",
                bounds=[(-STEEPEST, STEEPEST)] * start.size,
                constraints=constraint,
                options={"maxiter": 300, "ftol": 1e-9},
            )
            feasible = max(bound.value for bound in self.bounds(result.x)) <= 1e-6
            if feasible and not -result.fun <= found[0]:
                found = (-float(result.fun), result.x)
        return found


def starts_for(population: FosterCare) -> list[Floats]:
    """The behaviour model made steeper, and towards the label's own score, shifted upwards."""
    behavior = population.behavior
    logged = np.array([behavior.intercept, *behavior.coefficients])
    label = law.LABEL_SLOPE * np.array([law.LABEL_INTERCEPT.mean(), *law.LABEL_COEFFICIENTS])
    shifts = [np.array([shift, 0, 0, 0, 0, 0]) for shift in (0.3, 1.0)]
    bases = [1.5 * logged, 0.5 * (logged + label), label]
    return [base + shift for base in bases for shift in shifts]


def factors(limits: dict[float, list[tuple[int, float]]]) -> str:
    """How many times the oracle's rows each mode needed for its accuracy in the experiments."""
    results = Results("elfair-against-paper")
    rows = []
    for method, label in results.methods.items():
        for alpha, of_oracle in limits.items():
            line = results.line(method, alpha)
            times = [_times(line[n], of_oracle) if n in line else "" for n in STUDIED]
            rows.append([label, f"{alpha:g}", *times])
    return table(["mode", "alpha", *(f"n = {n:,}" for n in STUDIED)], rows)


def _times(cell: Cell, of_oracle: list[tuple[int, float]]) -> str:
    """Empty where the oracle was not asked for so small or so large an accuracy."""
    sizes, reached = np.array([(n, limit) for n, limit in of_oracle if limit == limit]).T
    if cell.accuracy is None or not reached[0] <= cell.accuracy <= reached[-1]:
        return ""
    return f"{cell.n / np.exp(np.interp(cell.accuracy, reached, np.log(sizes))):.1f}"


def main() -> None:
    """Print the limit of both forms of the rows, side by side, and put it into the page."""
    grid = law.grid(PANELS)
    lines = ["| alpha | n | paired | doubly robust |", "|---|---|---|---|"]
    paired: dict[float, list[tuple[int, float]]] = {}
    for alpha, sizes in SIZES.items():
        population = FosterCare(alpha=alpha)
        for n in sizes:
            limits = [
                Oracle(population, n, doubly_robust, grid).best(starts_for(population))[0]
                for doubly_robust in (False, True)
            ]
            paired.setdefault(alpha, []).append((n, limits[0]))
            lines.append(f"| {alpha} | {n:,} | {limits[0]:.4f} | {limits[1]:.4f} |")
            print(lines[-1], flush=True)
    write_into("results.md", "oracle", f"{stamp()}.\n\n" + "\n".join(lines))
    write_into("results.md", "factors", factors(paired))


if __name__ == "__main__":
    main()
