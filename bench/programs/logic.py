"""Minimises two-level logic with Berkeley's espresso, as PyEDA has it.  Argument: how many functions."""
import random
import sys

from pyeda.boolalg import espresso

INPUTS, OUTPUTS, TERMS = 12, 3, 250
dice = random.Random(1)
for _ in range(int(sys.argv[1])):
    terms = {(tuple(dice.choices((1, 2, 3), k=INPUTS)), tuple(dice.choices((0, 1), k=OUTPUTS))) for _ in range(TERMS)}
    assert 0 < len(espresso.espresso(INPUTS, OUTPUTS, terms, espresso.FTYPE)) <= len(terms)
