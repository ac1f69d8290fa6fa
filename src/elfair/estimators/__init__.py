"""ELFClassifier, ELFRegressor and certify: from columns and parameters to a certified model."""
