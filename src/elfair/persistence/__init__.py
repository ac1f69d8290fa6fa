"""Saving and loading fitted estimators: one file, no pickle, and no code that runs on loading.

The file (``.elfair``) is a zip container of ``model.json``, the certificate, and arrays; skops
writes any scikit-learn object inside. The file holds every model of the ladder, in order, so anyone
with the data can repeat the test.
"""

from elfair.persistence.model_file import load, save
