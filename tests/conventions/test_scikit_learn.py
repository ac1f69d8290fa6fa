"""ELFClassifier keeps scikit-learn's conventions, except where they assume that predict repeats,
or that weights count repeated rows.
"""

from __future__ import annotations

from sklearn.utils.estimator_checks import parametrize_with_checks

from elfair import ELFClassifier

SAMPLES = "predict samples with fresh entropy, so that two calls (or predict and argmax) may differ"
# A weight says how many people a row stands for, not how often it was seen: two identical rows are
# twice the evidence, one row of weight 2 is not. And a row that stands for nobody is refused.
WEIGHTS = "a row of weight 2 is not two rows, and rows of weight zero are refused"
WEIGHTED = {
    "check_sample_weight_equivalence_on_dense_data": WEIGHTS,
    "check_classifiers_one_label_sample_weights": WEIGHTS,
}
# All the checks that compare two calls of predict, or predict with the argmax of predict_proba.
EXPECTED_FAILURES = {
    "check_classifier_data_not_an_array": SAMPLES,
    "check_classifiers_train": SAMPLES,
    "check_estimators_pickle": SAMPLES,
    "check_fit_idempotent": SAMPLES,
    "check_supervised_y_2d": SAMPLES,
    **WEIGHTED,
}


# Whether two samples differ is chance, so that an expected failure may pass: not strict.
@parametrize_with_checks(
    [ELFClassifier()],
    expected_failed_checks=lambda estimator: EXPECTED_FAILURES,
    xfail_strict=False,
)
def test_convention(estimator, check):
    check(estimator)


class MostLikely(ELFClassifier):
    """The same classifier with a `predict` that does not sample: sampling and weights are all
    that fails.
    """

    def predict(self, X):
        likeliest = self.predict_proba(X).argmax(axis=1)
        return self.classes_[likeliest]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.non_deterministic = False
        return tags


@parametrize_with_checks([MostLikely()], expected_failed_checks=lambda estimator: WEIGHTED)
def test_every_convention_holds_without_sampling(estimator, check):
    check(estimator)
