"""Figures: the files that were asked for, byte for byte the same, with what was found in them."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from types import SimpleNamespace
from unittest.mock import patch

import numpy as np
import pytest
from matplotlib.figure import Figure

from elfair.errors import InputError
from elfair.experiments.figures import ARRANGEMENTS, _methods, draw, method_styles, setting_styles
from elfair.experiments.panels import _even_columns, _marked
from elfair.experiments.summary import summarize
from elfair.experiments.trial import TrialRecord

METHODS = (
    "elfair",
    "elfair-dr",
    "elfair-crossfit",
    "elf-paper",
    "logistic-regression",
    "qsa-demographic-parity",
    "qsa-equalized-odds",
    "qsa-equal-opportunity",
    "qsa-predictive-equality",
    "qsa-disparate-impact",
    "fairlearn-demographic-parity",
    "fairlearn-equalized-odds",
    "fairness-constraints",
)
BANDS = "bands: ± 1 standard error (of rates, Wilson's)"
FEW = ("elfair", "elf-paper", "logistic-regression")


def an_experiment(*arrangements, methods=FEW, efficiency=()):
    return SimpleNamespace(
        title="An experiment",
        population="foster-care",
        methods=methods,
        delta=0.1,
        efficiency=efficiency,
        combinations=(),
        seeds={},
        trials=0,  # all of them were run
        figures=SimpleNamespace(arrangements=arrangements),
    )


def trials(methods=FEW, alphas=(0.9,), sizes=(256, 1024, 4096), seeds=8):
    random = np.random.default_rng(4)
    records = []
    for alpha in alphas:
        settings = json.dumps({"alpha": alpha, "strict": False})
        for index, method in enumerate(methods):
            for n in sizes:
                for seed in range(seeds):
                    where = (method, settings, n, seed)
                    if seed and random.random() < 0.4 / (1 + index):
                        records.append(TrialRecord(*where, "no solution", None, {}, 0.1, None))
                        continue
                    accuracy = 0.7 + 0.01 * np.log2(n) + 0.02 * random.random()
                    violations = {"0": random.random() - 0.8, "1": random.random() - 0.5}
                    records.append(TrialRecord(*where, "returned", accuracy, violations, 0.1, None))
    return records


def drawn(experiment, records, folder, *, png=False):
    """The files by name. Drawing a PNG takes long, so there is one only if a test looks at it."""
    summary = summarize(experiment, records, {"elfair": "ELF", "elf-paper": "ELF (paper)"})
    save = Figure.savefig

    def save_svg(self, to, **options):
        if png or options["format"] == "svg":
            save(self, to, **options)

    with patch.object(Figure, "savefig", save_svg):
        return {path.name: path for path in draw(experiment, summary, folder)}


def texts(path):
    return re.findall(r"<text[^>]*>([^<]*)</text>", path.read_text())


def test_one_setting_gives_figures_1_and_2_and_the_row(tmp_path):
    files = drawn(an_experiment("methods"), trials(), tmp_path / "made" / "here", png=True)
    stems = ["figure-1-failure-rates", "figure-2-accuracy-and-solutions", "methods"]
    assert list(files) == [f"{stem}.{kind}" for stem in stems for kind in ("png", "svg")]
    first = texts(files["figure-1-failure-rates.svg"])
    assert {"Failure rate, group 0", "Failure rate, group 1"} <= set(first)
    assert {"ELF", "ELF (paper)", "logistic-regression"} <= set(first)
    assert "admissible failure rate, delta = 0.1" in first
    assert f"8 trials a point; {BANDS}" in first
    assert {"256", "1,024", "4,096"} <= set(first)
    second = texts(files["figure-2-accuracy-and-solutions.svg"])
    assert {"Accuracy", "Probability of a solution"} <= set(second)
    assert "admissible failure rate, delta = 0.1" not in second
    from PIL import Image

    with Image.open(files["methods.png"]) as image:
        assert image.size[0] > 1500
        assert image.info["dpi"] == pytest.approx((150, 150), abs=0.1)


def test_eleven_settings_are_split_into_five_and_six():
    alphas = [round(0.1 * k, 1) for k in range(11)]
    summary = summarize(an_experiment("methods"), trials(("elfair",), alphas, (256,), 2), {})
    figures = dict(_methods(summary))
    assert list(figures) == ["methods-1-of-2", "methods-2-of-2"]
    rows = [[ax.get_ylabel() for ax in figure.axes[::4]] for figure in figures.values()]
    assert rows[0] == [f"alpha = {alpha}" for alpha in alphas[:5]]
    assert rows[1] == [f"alpha = {alpha}" for alpha in alphas[5:]]


def test_settings_are_one_file_for_each_elf_method(tmp_path):
    files = drawn(an_experiment("settings"), trials(alphas=(0.2, 0.5, 0.9)), tmp_path)
    assert list(files)[1::2] == ["settings-elfair.svg", "settings-elf-paper.svg"]
    shown = texts(files["settings-elfair.svg"])
    assert {"alpha = 0.2", "alpha = 0.5", "alpha = 0.9", "ELF"} <= set(shown)
    assert "Failure rate, any group" in shown
    assert f"8 trials a point; {BANDS}; strict = false" in shown


def test_a_experiment_without_elf_shows_its_own_methods(tmp_path):
    methods = ("my.module:method", "logistic-regression")
    files = drawn(an_experiment("settings", methods=methods), trials(methods), tmp_path)
    assert "settings-my.module-method.svg" in files


def test_the_comparison_shows_the_ratio_as_an_arrow(tmp_path):
    def asked(n):
        settings = {"alpha": 0.9}
        return (SimpleNamespace(method="elfair", against="elf-paper", n=n, settings=settings),)

    experiment = an_experiment("comparison", efficiency=asked(4096))
    records = [
        TrialRecord(method, '{"alpha": 0.9}', n, seed, "returned", value, {"0": 0.0}, 0.1, None)
        for method, n, value in [
            ("elf-paper", 4096, 0.8),
            ("elfair", 256, 0.7),
            ("elfair", 512, 0.8),
        ]
        for seed in range(4)
    ]
    shown = texts(drawn(experiment, records, tmp_path)["comparison.svg"])
    assert shown.count("8.0×") == 2  # in the panels of the rate and of the accuracy
    assert "arrows: times fewer rows" in " ".join(shown)
    # Labels stand within the axes.
    figure = dict(ARRANGEMENTS["comparison"](summarize(experiment, records, {})))["comparison"]
    figure.draw_without_rendering()
    for ax in figure.axes[:2]:
        [label] = [text for text in ax.texts if text.get_text() == "8.0×"]
        box, frame = label.get_window_extent(), ax.get_window_extent()
        assert frame.x0 < box.x0 < box.x1 < frame.x1
        assert frame.y0 < box.y0 < box.y1 < frame.y1
        assert label.get_color() != "black"
    without = drawn(an_experiment("comparison"), records, tmp_path / "without")
    assert not [t for t in texts(without["comparison.svg"]) if "×" in t or "arrows" in t]
    assert "logistic-regression" not in texts(without["comparison.svg"])


def test_files_are_the_same_byte_for_byte(tmp_path):
    experiment = an_experiment("methods", "settings")
    records = trials(FEW[1:], sizes=(256, 1024))
    once = drawn(experiment, records, tmp_path / "once", png=True)
    again = drawn(experiment, records[::-1], tmp_path / "again", png=True)
    assert once.keys() == again.keys()
    for name in once:
        assert once[name].read_bytes() == again[name].read_bytes(), name


def test_lines_bands_and_delta_lie_where_the_numbers_are():
    summary = summarize(an_experiment("methods"), trials(), {})
    figures = dict(_methods(summary))
    axes = figures["methods"].axes
    for index, method in enumerate(FEW):
        cells = summary.line(summary.settings[0], method)
        expected = [
            [cell.failures["0"].value for cell in cells],
            [cell.failures["1"].value for cell in cells],
            [cell.returned.value for cell in cells],
            [cell.accuracy.value for cell in cells],
        ]
        bands = [cell.failures["1"].band for cell in cells]
        for ax, values in zip(axes, expected, strict=True):
            line = ax.lines[2 * index]
            np.testing.assert_array_equal(line.get_xdata(), [256, 1024, 4096])
            np.testing.assert_allclose(line.get_ydata(), values)
        band = axes[1].collections[index].get_paths()[0].vertices
        for n, (low, high) in zip((256, 1024, 4096), bands, strict=True):
            at = band[band[:, 0] == n, 1]
            assert at.max() == pytest.approx(high)
            assert at.min() == pytest.approx(low)
    for ax in axes[:2]:
        assert list(ax.lines[-1].get_ydata()) == [0.1, 0.1]
        assert ax.lines[-1].get_color() == "black"
    for ax in axes:
        assert ax.get_xscale() == "log"
        assert list(ax.get_xticks()) == [256, 1024, 4096]


def test_the_accuracy_of_a_single_model_is_a_marker_apart(tmp_path):
    records = [record for record in trials(sizes=(256, 1024)) if record.n > 256 or not record.seed]
    summary = summarize(an_experiment("methods"), records, {})
    *_, accuracy = dict(_methods(summary))["methods"].axes
    assert summary.cells[0].accuracy.count == 1
    drawn_at = [np.isfinite(line.get_ydata()).tolist() for line in accuracy.lines[::2]]
    assert drawn_at == [[False, True]] * 3
    for line, method in zip(accuracy.lines[1::2], FEW, strict=True):
        first = summary.line(summary.settings[0], method)[0]
        assert line.get_ydata()[0] == first.accuracy.value
    note = "markers without a line: accuracy of a single model"
    files = drawn(an_experiment("methods"), records, tmp_path)
    assert note in " ".join(texts(files["figure-2-accuracy-and-solutions.svg"]))
    assert note not in " ".join(texts(files["figure-1-failure-rates.svg"]))


def test_a_method_that_crashed_in_every_trial_is_named_and_not_drawn(tmp_path):
    records = trials(FEW[:2], alphas=(0.5, 0.9))
    crashes = [
        TrialRecord(FEW[2], each.settings, each.n, each.seed, "failed", None, {}, 0.1, "boom")
        for each in records
        if each.method == "elfair"
    ]
    at = {alpha: json.dumps({"alpha": alpha, "strict": False}) for alpha in (0.5, 0.9)}
    files = drawn(an_experiment(*ARRANGEMENTS), records + crashes, tmp_path)
    shown = texts(files["methods.svg"])
    assert "not drawn, since no trial finished: logistic-regression" in shown
    assert "logistic-regression" not in shown  # in the legend
    assert "not drawn" not in " ".join(texts(files["comparison.svg"]))
    # In one row only, and without any trial at all.
    some = [r for r in records if r.method == "elfair" or r.settings == at[0.5]]
    shown = texts(drawn(an_experiment("methods"), some, tmp_path / "some")["methods.svg"])
    note = "not drawn, since no trial finished: logistic-regression; ELF (paper) (alpha = 0.9)"
    assert note in shown
    assert "ELF (paper)" in shown  # in the legend


def test_elf_lies_above_other_methods_and_elfair_above_the_papers():
    summary = summarize(an_experiment("methods", methods=METHODS), trials(METHODS), {})
    failure = dict(_methods(summary))["figure-1-failure-rates"].axes[0]
    order = dict(zip(METHODS, [line.get_zorder() for line in failure.lines[:-1:2]], strict=True))
    others = max(order[method] for method in METHODS[4:])
    assert others < order["elf-paper"] < order["elfair"]
    marks = [line.get_zorder() for line in failure.lines[1:-1:2]]
    assert min(marks) > max(order.values())  # so that methods below ELF's lines still show


@pytest.mark.parametrize("sizes", [(256, 512), (256, 512, 1024, 2048)])
def test_with_few_sizes_every_point_has_a_marker(sizes):
    summary = summarize(an_experiment("methods", methods=METHODS), trials(METHODS, sizes=sizes), {})
    for ax in dict(_methods(summary))["methods"].axes[:3]:
        for markers in ax.lines[1 : 2 * len(METHODS) : 2]:
            assert list(markers.get_xdata()) == list(sizes)


@pytest.mark.parametrize(
    ("entries", "most", "columns"),
    [(4, 3, 2), (12, 3, 3), (13, 4, 4), (5, 4, 3), (2, 4, 2), (0, 3, 1)],
)
def test_the_legend_has_no_column_that_is_nearly_empty(entries, most, columns):
    assert _even_columns(entries, most) == columns


def luminance(color):
    from matplotlib.colors import to_rgb

    return float(np.dot(to_rgb(color), (0.2126, 0.7152, 0.0722)))


def test_methods_are_told_apart_without_colour():
    styles = method_styles(METHODS, sizes=8)
    assert len({(style.marker, style.hollow) for style in styles.values()}) == len(METHODS)
    for family in ("qsa", "fairlearn"):
        assert len({styles[m].color for m in METHODS if m.startswith(family)}) == 1
        mine = [style.dashes for method, style in styles.items() if method.startswith(family)]
        assert len(set(mine)) == len(mine)
    shades = [luminance(color) for color in sorted({style.color for style in styles.values()})]
    assert min(np.diff(sorted(shades))) > 0.01
    assert abs(luminance(styles["elfair"].color) - luminance(styles["elf-paper"].color)) > 0.2
    assert max(shades) < 0.7  # none too pale for white paper


def test_lines_that_coincide_show_their_markers():
    # At one size no two markers of the same size meet, so that none hides another.
    styles = list(method_styles(METHODS[:1] + METHODS[3:], sizes=8).values())
    for start in range(styles[0].every):
        meet = [style.size for style in styles if style.start == start and style.marker not in "x+"]
        assert len(set(meet)) == len(meet)
        assert len(meet) <= 3


def test_settings_run_from_light_to_dark():
    styles = setting_styles(11, sizes=8)
    shades = [luminance(style.color) for style in styles]
    assert shades == sorted(shades, reverse=True)
    assert len({style.marker for style in styles}) == 11


def test_a_point_that_no_line_shows_has_a_marker():
    nan = np.nan
    turn = np.array([True, False, False, False, True])
    marked = _marked(np.array([0.1, 0.2, 0.3, 0.4, 0.5]), turn)
    assert marked.tolist() == turn.tolist()
    marked = _marked(np.array([0.1, 0.2, nan, 0.4, nan]), turn)
    assert marked.tolist() == [True, False, False, True, False]
    marked = _marked(np.array([nan, 0.2, 0.3, nan, nan]), turn)
    assert marked.tolist() == [False, True, True, False, False]


def test_a_experiment_that_is_not_finished_is_drawn(tmp_path):
    records = trials()
    settings = records[0].settings
    part = [r for r in records if r.n == 256 or (r.method == "elfair" and r.seed < 5)]
    part.append(TrialRecord("elf-paper", settings, 512, 0, "failed", None, {}, 0.1, "boom"))
    files = drawn(an_experiment("methods"), part, tmp_path)
    assert f"5 to 8 trials a point; {BANDS}" in texts(files["methods.svg"])
    one = drawn(an_experiment("methods"), records[:1], tmp_path / "one")
    assert f"1 trial a point; {BANDS}; markers without a line: accuracy of a single model" in texts(
        one["methods.svg"]
    )
    none = [TrialRecord("elfair", settings, 256, 0, "no solution", None, {}, 0.1, None)]
    assert (
        len(drawn(an_experiment(*ARRANGEMENTS), none, tmp_path / "none")) == 8
    )  # groups: not known


def test_nothing_to_draw(tmp_path):
    with pytest.raises(InputError, match="'An experiment' has no finished trials"):
        drawn(an_experiment("methods"), [], tmp_path / "empty")
    crash = TrialRecord("elfair", "{}", 256, 0, "failed", None, {}, 0.1, "boom")
    with pytest.raises(InputError, match="all of them crashed"):
        drawn(an_experiment("methods"), [crash], tmp_path / "empty")
    assert not (tmp_path / "empty").exists()


def test_an_unknown_arrangement_names_what_there_is(tmp_path):
    with pytest.raises(
        InputError, match=r"'method'\. There are: methods, settings, comparison"
    ) as e:
        drawn(an_experiment("method"), trials(), tmp_path)
    assert "methods" in e.value.hint


def test_the_users_own_style_neither_matters_nor_changes(tmp_path):
    import matplotlib

    experiment, records = an_experiment("settings"), trials(sizes=(256,))
    plain = drawn(experiment, records, tmp_path / "plain", png=True)
    with matplotlib.rc_context({"font.size": 20.0, "axes.facecolor": "yellow"}):
        styled = drawn(experiment, records, tmp_path / "styled", png=True)
        assert matplotlib.rcParams["font.size"] == 20.0
    for name in plain:
        assert plain[name].read_bytes() == styled[name].read_bytes()


def test_matplotlib_is_imported_only_to_draw_and_pyplot_never():
    code = """
import sys
import elfair.experiments.figures, elfair.experiments.summary
assert "matplotlib" not in sys.modules
from pathlib import Path
from types import SimpleNamespace
from elfair.experiments.trial import TrialRecord
experiment = SimpleNamespace(title="t", population="p", methods=("elfair",), delta=0.1,
                             efficiency=(), combinations=(), seeds={}, trials=0,
                             figures=SimpleNamespace(arrangements=("settings",)))
trial = TrialRecord("elfair", "{}", 256, 0, "returned", 0.9, {"0": 0.0}, 0.1, None)
summary = elfair.experiments.summary.summarize(experiment, [trial], {})
elfair.experiments.figures.draw(experiment, summary, Path(sys.argv[1]))
assert "matplotlib" in sys.modules
assert "matplotlib.pyplot" not in sys.modules
"""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-c", code, folder], check=True)
