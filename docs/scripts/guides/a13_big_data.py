"""
Big data
========

Large tables need no special preparation: pass what you have, and it is stored compactly.

========================================  =====================================================================
what you have                             what happens
========================================  =====================================================================
a SciPy sparse matrix                     it stays sparse; the cost grows with the number of ones
Parquet files, a folder of them           read block by block, one bit per cell (a billion cells are 125 MB)
a memory map, zarr, h5py, a Dask array    likewise
a stream of rows                          ``partial_fit(block)``
a fit that takes hours                    ``checkpoint="folder"``: repeat the call to resume after an interruption
a Dask cluster                            rows stay on their workers; the result is identical to the last bit
========================================  =====================================================================
"""

import tempfile
import time
import warnings

import numpy as np
import scipy.sparse as sp

import latentbits as lb

rng = np.random.default_rng(0)
taste = rng.integers(5, size=20_000)
popular = rng.beta(0.3, 12, (5, 1000))
X = sp.csr_array((rng.random((20_000, 1000)) < popular[taste]).astype(np.int8))
print(f"{X.shape[0]:,} x {X.shape[1]:,} cells, {X.nnz:,} ones")

# %%
# A fit to twenty million cells, with one restart, beginning with steps on small batches of rows.

before = time.process_time()
model = lb.AspectBernoulli(5, n_init=1, max_iter=60, tol=1e-4, batch_size=1000, random_state=0, n_jobs=2).fit(X)
print(f"{time.process_time() - before:.0f} CPU seconds")
model

# %%
# Rows that arrive block by block:

online = lb.AspectBernoulli(5, total_samples=20_000, random_state=0)
for block in range(0, 4000, 1000):
    online.partial_fit(X[block : block + 1000])
online.shares_.round(2)

# %%
# A fit that may be interrupted. Repeating the call resumes from the checkpoint; the result is identical to that of an
# uninterrupted fit, to the last bit.

with tempfile.TemporaryDirectory() as folder:
    settings = {"n_init": 1, "max_iter": 30, "tol": 1e-4, "random_state": 0, "checkpoint": folder}
    first = lb.AspectBernoulli(5, **settings).fit(X[:3000])
    warnings.simplefilter("ignore")  # it says that it resumes from the checkpoint
    again = lb.AspectBernoulli(5, **settings).fit(X[:3000])
print(np.array_equal(first.components_, again.components_))

# %%
# **For lists of recommendations** (ten zeros for each of a million rows) use
# ``FalseZeros(members=["linear_autoencoder"])`` or :class:`~latentbits.LinearAutoencoder`, which has a closed form and
# never makes a dense table.

ranked = lb.FalseZeros(n_folds=None, noise=None, members=["linear_autoencoder"], random_state=0).fit(X[:5000])
ranked.suspects(X[:3], per_row=3, top=None).round(3)
