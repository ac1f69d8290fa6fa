"""The language of constraints: text or Python -> tree -> one-sided statements about averages.

Examples
--------
>>> from elfair.language.conjunction import conjuncts
>>> [each.text for each in conjuncts("E[impact | race == 'Black'] >= 0 and accuracy >= 0.75")]
["E[impact | race == 'Black'] >= 0", 'accuracy >= 0.75']
"""
