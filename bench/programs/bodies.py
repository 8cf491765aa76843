"""Moves bodies by their gravity with REBOUND, in a tree after Barnes and Hut that is made anew.  Argument: the steps."""
import random
import sys

import rebound

BODIES = 2000
dice = random.Random(1)
bodies = rebound.Simulation()
bodies.integrator, bodies.gravity, bodies.G, bodies.softening, bodies.dt = "leapfrog", "tree", 1, 0.02, 1e-3
bodies.root_size, bodies.opening_angle2 = 10, 0.5
for _ in range(BODIES):
    bodies.add(m=1 / BODIES, **{axis: dice.gauss(0, 0.5) for axis in "xyz"})
bodies.steps(int(sys.argv[1]))
assert bodies.N == BODIES
