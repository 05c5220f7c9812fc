"""Data for the tests of AspectBernoulli."""

import numpy as np
import pandas as pd

from latentbits import simulate

NAN = np.nan
TRUTH = simulate.aspect_bernoulli(300, 20, 3, white_phantom=True, sharpness=0.2, missing=0.05, random_state=0)
X = TRUTH.X
NAMES = [f"c{j}" for j in range(20)]
FRAME = pd.DataFrame(X, index=[f"r{i}" for i in range(300)], columns=NAMES)
