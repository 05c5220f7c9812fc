"""The published results to reproduce: the list that the page of results must cover."""

from __future__ import annotations

__all__ = ["PAPERS", "PUBLISHED", "paper_of"]

PAPERS = {
    "AB": "The aspect Bernoulli model (Bingham, Kabán and Fortelius)",
    "BICA": "Factorisation and denoising of 0-1 data: BICA (Kabán and Bingham)",
    "BFA": "Binary factor analysis: BYY harmony learning and variational Bayes",
    "binary ICA": "Binary ICA from non-stationarity: BLICA (Hyttinen, Barin-Pacela and Hyvärinen)",
    "ICA mixture": "Clusters of undercomplete independent components (Chan, Lee and Sejnowski)",
}
"""The papers by the key that begins the names of their results."""

_RESULTS = {
    "AB": (
        "How many components: what AIC picks on fossils, text and digits",
        "Likelihood of held-out rows: AB, Bernoulli mixture, logistic PCA",
        "White phantoms where zeros are false, black ones where ones are",
        "Gaps in the fossil record closed by denoising",
        "Noise removal on digits with added zeros",
        "Posterior histograms: phantoms take the added cells",
        "Text: word lists of topics, and expansion of documents",
    ),
    "BICA": (
        "Toy data: the evidence rises, and peaks at the true number of components",
        "Denoising of corroded digits, on training rows and on unseen ones",
        "Denoising against the number of training rows",
        "DNA fingerprints: four classes found without labels",
        "Sampson's monks: three groups, and the waverers",
        "Chat network: nodes by strongest component, two ways to draw links",
        "Text expansion, and clustering error without the phantom",
    ),
    "BFA": (
        "Binary quadratic programs: exact optima and time of four encoders",
        "The surplus column shrinks under rounding encoders only",
        "Number of factors: encoders reverse their order, priors help at few rows",
        "Number of factors: BYY, variational Bayes and BIC",
        "Two mixed binary images recovered, the third dimension discarded",
    ),
    "binary ICA": (
        "Which numbers of columns and segments are identifiable",
        "Finite samples: BLICA, iVAE and FastICA",
        "Scaling up to 100 columns",
    ),
    "ICA mixture": (
        "Five clusters in two dimensions, started with too many",
        "Three clusters of 2, 3 and 4 sources in four dimensions",
        "Visual fields: two clusters, sensitivity and specificity",
    ),
}

PUBLISHED = {f"{key} {i}": title for key, titles in _RESULTS.items() for i, title in enumerate(titles, start=1)}
"""Short titles in our own words, by name ("AB 1"), in the order of the page."""


def paper_of(result: str) -> str:
    """The key of the paper that a result is from.

    Examples
    --------
    >>> paper_of("binary ICA 2")
    'binary ICA'
    """
    return result.rpartition(" ")[0]
