"""Old names of fitted attributes work for one version, with a warning that names the new one."""

import numpy as np
import pytest

from latentbits import BetaICA, FalseZeros, IsingModel, LogisticPCA, ProbitFactors, simulate

X = simulate.aspect_bernoulli(30, 6, 2, random_state=0).X
RENAMED = [
    (lambda: IsingModel(), "bias_", "intercepts_"),
    (lambda: IsingModel(), "data_fingerprint_", "data_checksum_"),
    (lambda: LogisticPCA(2, n_init=1, random_state=0), "bias_", "intercepts_"),
    (lambda: ProbitFactors(1, n_init=1, n_burn=2, n_samples=2, thin=1, random_state=0), "bias_", "intercepts_"),
    (lambda: BetaICA(2, n_init=1, random_state=0), "n_effective_components_", "n_components_"),
    (lambda: FalseZeros(None, members=["ising"], random_state=0), "weights_", "member_weights_"),
]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(("make", "old", "new"), RENAMED, ids=lambda value: value if isinstance(value, str) else None)
def test_an_old_name_gives_the_new_attribute_and_a_warning(make, old, new):
    assert not hasattr(make(), old), "before a fit there is neither"
    model = make().fit(X)
    with pytest.warns(FutureWarning, match=f"{old} is now {new}") as caught:
        value = getattr(model, old)
    assert caught[0].filename == __file__, "the line of the user"
    np.testing.assert_array_equal(value, getattr(model, new))
    assert old not in vars(model)
