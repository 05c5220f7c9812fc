"""Slow twins of the Beta-source model: the bounds term by term, the exact evidence by enumeration, in plain loops.

X is a table of 0, 1 and NaN (missing). Nothing of latentbits is imported, so a mistake can't be shared. Q is a
dictionary: cell (i, j) -> the K probabilities of its causes, for observed cells only. Equations are the paper's.
"""

from itertools import product
from math import exp, isnan, log

import numpy as np
from scipy import stats
from scipy.special import betaln, digamma, gammaln


def log_beta_means(alpha, beta):
    """<log b> and <log(1 - b)> of every b (below eq. 9)."""
    return digamma(alpha) - digamma(alpha + beta), digamma(beta) - digamma(alpha + beta)


def log_dirichlet_means(gamma):
    """<log a> of every row."""
    return np.array([[digamma(g) - digamma(sum(row)) for g in row] for row in gamma])


def responsibilities(X, log_w, alpha, beta):
    """The optimal Q (eq. 9; B.3): log_w is log a for variational EM, <log a> for variational Bayes."""
    log_b, log_not_b = log_beta_means(alpha, beta)
    Q = {}
    for i, j in _observed(X):
        side = log_b if X[i][j] == 1 else log_not_b
        logs = [log_w[i][k] + side[k][j] for k in range(len(alpha))]
        joint = [exp(value - max(logs)) for value in logs]
        Q[i, j] = [part / sum(joint) for part in joint]
    return Q


def common_terms(X, Q, log_w, alpha, beta, prior, row_weight):
    """The first two lines of B.1, which with log_w = log a are eq. 6."""
    log_b, log_not_b = log_beta_means(alpha, beta)
    total = 0.0
    for (i, j), q in Q.items():
        side = log_b if X[i][j] == 1 else log_not_b
        for k, share in enumerate(q):
            if share > 0:
                total += row_weight[i] * share * (log_w[i][k] + side[k][j] - log(share))
    for k, j in product(*map(range, alpha.shape)):
        expected = (prior.alpha - 1) * log_b[k][j] + (prior.beta - 1) * log_not_b[k][j]
        total += expected - betaln(prior.alpha, prior.beta) + stats.beta.entropy(alpha[k, j], beta[k, j])
    return float(total)


def em_bound(X, Q, W, alpha, beta, prior, row_weight):
    """Eq. 6 for all columns: point weights."""
    return common_terms(X, Q, np.log(W), alpha, beta, prior, row_weight)


def vb_bound(X, Q, gamma, alpha, beta, prior, row_weight):
    """Eq. B.1: Dirichlet weights."""
    log_a = log_dirichlet_means(gamma)
    K = len(gamma[0])
    total = common_terms(X, Q, log_a, alpha, beta, prior, row_weight)
    for i, row in enumerate(gamma):
        norm = gammaln(K * prior.gamma) - K * gammaln(prior.gamma)
        entropy = stats.dirichlet.entropy(row) if K > 1 else 0.0  # one component: a point mass
        total += row_weight[i] * (norm + sum((prior.gamma - 1) * value for value in log_a[i]) + entropy)
    return float(total)


def caused(X, Q, K, row_weight):
    """M, N1 and N0: what Q says each component has caused of rows, ones and zeros."""
    N, D = len(X), len(X[0])
    M, N1, N0 = np.zeros((N, K)), np.zeros((K, D)), np.zeros((K, D))
    for (i, j), q in Q.items():
        for k in range(K):
            M[i, k] += q[k]
            (N1 if X[i][j] == 1 else N0)[k, j] += row_weight[i] * q[k]
    return M, N1, N0


def log_evidence(X, K, prior):
    """The exact log P(X) of B.1, summed over every way in which the cells may have picked their causes."""
    cells = list(_observed(X))
    N, D = len(X), len(X[0])
    terms = []
    for causes in product(range(K), repeat=len(cells)):
        M, ones, zeros = np.zeros((N, K)), np.zeros((K, D)), np.zeros((K, D))
        for (i, j), k in zip(cells, causes, strict=True):
            M[i, k] += 1
            (ones if X[i][j] == 1 else zeros)[k, j] += 1
        term = np.sum(betaln(prior.alpha + ones, prior.beta + zeros) - betaln(prior.alpha, prior.beta))
        for row in M:
            term += gammaln(K * prior.gamma) - gammaln(K * prior.gamma + row.sum())
            term += np.sum(gammaln(prior.gamma + row) - gammaln(prior.gamma))
        terms.append(term)
    return float(np.logaddexp.reduce(terms))


def _observed(X):
    return ((i, j) for i, j in product(range(len(X)), range(len(X[0]))) if not isnan(float(X[i][j])))


def noisy_step(X, log_w, alpha, beta, prior, row_weight, n_noise):
    """M, N1, N0, and sum_ij log d_ij less KL(q(b) || p(b)); the last components have a known b, which is alpha."""
    K = len(alpha)
    log_b, log_not_b = log_beta_means(alpha, beta)
    for k, j in product(range(K - n_noise, K), range(alpha.shape[1])):
        log_b[k, j], log_not_b[k, j] = log(alpha[k, j]), log(beta[k, j])
    M, N1, N0, bound = np.zeros((len(log_w), K)), np.zeros(alpha.shape), np.zeros(alpha.shape), 0.0
    for i, j in _observed(X):
        side, counts = (log_b, N1) if X[i][j] == 1 else (log_not_b, N0)
        joint = [exp(log_w[i][k] + side[k][j]) for k in range(K)]
        bound += row_weight[i] * log(sum(joint))
        for k in range(K):
            M[i, k] += joint[k] / sum(joint)
            counts[k, j] += row_weight[i] * joint[k] / sum(joint)
    for k, j in product(range(K - n_noise), range(alpha.shape[1])):
        expected = (prior.alpha - 1) * log_b[k][j] + (prior.beta - 1) * log_not_b[k][j]
        bound += expected - betaln(prior.alpha, prior.beta) + stats.beta.entropy(alpha[k, j], beta[k, j])
    return M, N1, N0, float(bound)
