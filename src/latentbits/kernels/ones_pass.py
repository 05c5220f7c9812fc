"""One EM pass over the ones of 0-1 data: zeros are never visited, and nothing of size N x D is stored."""

from math import log

import numba

__all__ = ["ones_pass"]

SMALL, LARGE = 1e-150, 1e150  # a product outside of these is turned into its logarithm: one logarithm for many ones

# Reassociation lets the compiler vectorise sums; there are no missing values, hence no NaN.
_LOOP = {"nogil": True, "fastmath": {"contract", "reassoc", "nsz", "arcp"}, "error_model": "numpy", "cache": True}


@numba.njit(**_LOOP)
def ones_pass(indptr, indices, W, Ht, row_weight, M, G, row_log):
    """Share out each one of the rows among the components: W is n x K, Ht is D x K, both positive where there are ones.

    Row i has its ones in the columns indices[indptr[i]:indptr[i + 1]]. Writes M (n x K) and row_log (n), adds to
    G (D x K). With X the rows as a 0-1 matrix, the same in NumPy::

        R = X / (W @ Ht.T)
        M[:] = W * (R @ Ht)
        G += R.T @ (row_weight[:, None] * W)
        row_log[:] = (X * np.log(W @ Ht.T)).sum(axis=1)
    """
    n_rows, K = W.shape
    for i in range(n_rows):
        w, m = W[i], M[i]
        weight = row_weight[i]
        m[:] = 0.0
        logs = 0.0
        product = 1.0
        for p in range(indptr[i], indptr[i + 1]):
            h, g = Ht[indices[p]], G[indices[p]]
            d = 0.0
            for k in range(K):
                d += w[k] * h[k]
            r = 1.0 / d
            weighted = weight * r
            for k in range(K):
                m[k] += r * h[k]
                g[k] += weighted * w[k]
            product *= d
            if product < SMALL or product > LARGE:
                logs += log(product)
                product = 1.0
        row_log[i] = logs + log(product)
        for k in range(K):
            m[k] *= w[k]
