"""The published results to reproduce: the list that the page of results must cover."""

from __future__ import annotations

__all__ = ["INSTRUCTIVE", "PAPERS", "PUBLISHED", "not_run_yet", "paper_of"]

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
        "What aspects look like: prototypes, ages of genera, what explains a cell",
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

_NOT_RUN_YET = (
    (
        "AB 2",
        "figure 9a, corroded numerals: AB above the mixture at each K, logistic PCA overfits quickly",
        "so",
        "no experiment fits corroded numerals in folds yet",
    ),
    (
        "AB 2",
        "figure 9b: held-out likelihood falls as more zeros are added, AB above the mixture",
        "so",
        "as figure 9a, for four levels of noise",
    ),
    (
        "AB 4",
        "footnote 6: averaging over the unknown length of a site makes PLSA worse",
        "inferior",
        "the upper limit of the length was chosen by hand, and isn't printed",
    ),
    (
        "AB 5",
        "section 4: a model between AB and logistic PCA is between them in all respects",
        "so, not shown",
        "the library doesn't have that model",
    ),
    (
        "BICA 2",
        "figure 4: several components are recognisable numerals",
        "so, by eye",
        "no rule was written for bBICA's components; a picture shows them",
    ),
    (
        "BICA 2",
        "figure 6: logistic PCA and Bernoulli NMF don't separate the corrosion out",
        "so",
        "no rule was written for components without probabilities of their own",
    ),
    (
        "BICA 4",
        "figure 16: samples in the wrong class are not far from their own",
        "so, by eye",
        "the samples are not public, and no rule was written for a substitute's",
    ),
    (
        "BFA 3",
        "with priors, at a noise of 0.7: cdual ahead at few rows, round at many",
        "so",
        "0.7 is not among the noise levels of our part of the grid",
    ),
    (
        "binary ICA 2",
        "full maximum likelihood doesn't finish in two hours at 6 columns",
        "2 h",
        "it is about the paper's optimiser and computer; ours finishes sooner (beyond/mle)",
    ),
    (
        "binary ICA 3",
        "the fit is soon within 1 % of its final MCS, then improves slowly",
        "so",
        "the fits don't store the MCS of each step",
    ),
    (
        "ICA mixture 1",
        "figure 2: three Gaussians fit most densities",
        "so, by eye",
        "no rule was written; the fits don't store their densities",
    ),
    (
        "ICA mixture 1",
        "figure 4: the bound dips where a cluster is split",
        "so",
        "the bound is stored of one trial, as a picture",
    ),
    (
        "ICA mixture 2",
        "table 1: columns of the mixing up to sign and order",
        "so",
        "the mixing matrices are not stored; what they recover is judged instead",
    ),
    (
        "ICA mixture 3",
        "figure 6: first source: lower fields depressed if ill",
        "so, by eye",
        "the fields are not public, and no rule was written for a substitute's",
    ),
    (
        "ICA mixture 3",
        "glaucoma hemifield test: sensitivity / specificity",
        "67 / 100 %",
        "the test's limits are the maker's own, and not public",
    ),
)
"""What the papers claim besides and no stored run answers: result, claim, the paper's words, why it was not run."""

INSTRUCTIVE = (
    (
        "fossils, ones added: the black phantom takes the added ones and few zeros",
        "With noise in every row, as printed, it spreads over the components with content, and none becomes black. "
        "Noise with a fixed level, which we add, is black by construction; that the likelihood keeps it, and its share "
        "of the added ones, are found, and have the published histograms' shape.",
        "ab_histograms_fossils_1.png",
    ),
    (
        "AB without its phantom closes the most gaps",
        "Fits that end equally high close thousands of gaps or open thousands: a number from one fit says which "
        "optimum was found. All of it hangs on a few sites whose faunas are completed by rarely seen genera.",
        "ab_gaps_cells.png",
    ),
    (
        "it is recovered in none of the cells whose count is negative",
        "The paper counts the scales of the sources twice, so its count forbids cases that can be solved exactly.",
        "binary_ica_identifiability_errors.png",
    ),
    (
        "over 2 to 6 components the evidence peaks at 3 in most data sets",
        "The bound is exact for one component and loose for more; at the printed size the slack decides, and the "
        "bound prefers too few. The evidence itself, estimated by sampling, has its peak in the right place.",
        "bica_toy_evidence.png",
    ),
    (
        "BYY is the best of the three in most cells",
        "The classical criterion wins, with one restart and with five. At a noise of 1 harmony learning discards true "
        "factors, which are shorter than two standard deviations of the noise; BIC is ahead where rows are few, too, "
        "which may be due to the starts: they were not alike.",
        "binary_factors_criteria_best.png",
    ),
)
"""Differences that teach most: the claim's statement, what to learn from it, a stored picture."""


def not_run_yet(result: str) -> list[dict[str, str]]:
    """The claims of a published result that no stored run answers.

    Examples
    --------
    >>> not_run_yet("AB 4")[0]["paper"]
    'inferior'
    """
    keys = "statement", "paper", "why"
    return [dict(zip(keys, rest, strict=True)) for name, *rest in _NOT_RUN_YET if name == result]


def paper_of(result: str) -> str:
    """The key of the paper that a result is from.

    Examples
    --------
    >>> paper_of("binary ICA 2")
    'binary ICA'
    """
    return result.rpartition(" ")[0]
