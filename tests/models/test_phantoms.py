"""Which components are phantoms: on matrices, and on fits of data with and without planted ones."""

import numpy as np
import pytest

from latentbits import AspectBernoulli, BetaICA, simulate
from latentbits.models.aspect.aspect_model import Components
from latentbits.models.aspect.noise_components import at_prior, find_phantoms, phantom_levels


def content(K, D, density):
    """Components with clear profiles: about `density` of the attributes near 1, the others near 0."""
    rng = np.random.default_rng(K + D)
    return np.where(rng.random((K, D)) < density, rng.uniform(0.6, 1, (K, D)), rng.uniform(0, 0.05, (K, D)))


def blank(*shape):
    return np.random.default_rng(0).uniform(0, 0.03, shape)


def kinds(H, **options):
    return find_phantoms(np.asarray(H, dtype=float), **options).tolist()


@pytest.mark.parametrize("density", [0.08, 0.3, 0.7, 0.92])
class TestMatrices:
    def test_none_planted_none_found(self, density):
        assert kinds(content(5, 200, density)) == ["content"] * 5

    def test_white(self, density):
        assert kinds([*content(4, 200, density), blank(200)]) == ["content"] * 4 + ["white"]

    def test_black(self, density):
        assert kinds([*content(4, 200, density), 1 - blank(200)]) == ["content"] * 4 + ["black"]

    def test_both(self, density):
        H = [blank(200), *content(3, 200, density), 1 - blank(200)]
        assert kinds(H) == ["white", "content", "content", "content", "black"]

    def test_swapping_0_and_1_swaps_white_and_black(self, density):
        H = np.array([blank(200), *content(3, 200, density), 1 - blank(200)])
        mirror = {"white": "black", "black": "white", "content": "content"}
        assert kinds(1 - H) == [mirror[kind] for kind in kinds(H)]

    def test_a_component_with_the_ubiquitous_attributes_is_not_blank(self, density):
        H = np.array([*content(4, 200, density), blank(200)])
        everywhere = 1 - blank(5, 40)
        assert kinds(np.hstack([H, everywhere])) == ["content"] * 5

    def test_attributes_that_nobody_has_make_no_phantom(self, density):
        never = blank(4, 500)
        assert kinds(np.hstack([content(4, 200, density), never])) == ["content"] * 4


class TestRule:
    def test_a_component_that_has_all_that_others_have_is_not_black(self):
        H = np.full((3, 56), 0.01)
        H[0, :6] = H[1, :3] = H[2, 3:6] = 0.9  # nested: attributes that nobody has are not on in any
        assert kinds(H) == ["content"] * 3

    def test_one_content_component_beside_a_phantom_is_enough(self):
        assert kinds([[0.9, 0.8, 0.9, 0, 0, 0], [0.0] * 6]) == ["content", "white"]

    def test_one_component_is_content(self):
        assert kinds(np.zeros((1, 5))) == kinds(np.ones((1, 5))) == ["content"]

    def test_equal_components_are_content(self):
        assert kinds(np.full((3, 6), 0.01)) == ["content"] * 3

    def test_at_least_one_component_stays_content(self):
        assert kinds([[0.0] * 6, [1.0] * 6]) == ["content"] * 2

    def test_threshold_is_the_share_of_the_fullest_components_ones(self):
        H = [[0.9, 0.1, 0.9], [0.1, 0.9, 0.1], [0.19, 0.19, 0.19]]  # means 1.9 / 3, 1.1 / 3, 0.19: level 0.3
        assert kinds(H, threshold=0.29)[2] == "content"
        assert kinds(H, threshold=0.31)[2] == "white"

    def test_few_attributes_are_content_too(self):
        H = np.array([[0.9, 0.0] * 32, [0.0, 0.9] * 32, [0.0, 0.0] * 32])
        assert kinds(H) == ["content", "content", "white"]
        H[2, :2] = 1.0
        assert kinds(H) == ["content"] * 3

    def test_one_attribute_in_a_hundred_may_stick_out_but_no_more(self):
        H = np.array([[0.9, 0.0] * 100, [0.0, 0.9] * 100, [0.01, 0.01] * 100])
        H[2, :2] = 0.9
        assert kinds(H) == ["content", "content", "white"]
        H[2, 2] = 0.9
        assert kinds(H) == ["content"] * 3

    def test_levels_are_0_for_perfect_phantoms_and_1_where_nothing_tells(self):
        white, black = phantom_levels(np.array([[0.0] * 4, [1.0] * 4, [1.0, 0.0, 1.0, 0.0]]))
        np.testing.assert_array_equal(white, [0, 1, 1])
        np.testing.assert_array_equal(black, [1, 0, 1])
        np.testing.assert_array_equal(phantom_levels(np.full((2, 3), 0.1))[0], 1)


@pytest.mark.parametrize("density", [0.15, 0.5])
class TestFits:
    """Planted with the simulator, found by a fit."""

    def found(self, density, K, transform=lambda X: X, **planted):
        truth = simulate.aspect_bernoulli(
            2000, 80, K, density=density, sharpness=0.2, concentration=0.5, random_state=1, **planted
        )
        model = AspectBernoulli(K, n_init=4, random_state=0, n_jobs=2).fit(transform(truth.X))
        return sorted(model.phantoms_)

    def test_none(self, density):
        assert self.found(density, 3) == ["content"] * 3

    def test_white(self, density):
        assert self.found(density, 4, white_phantom=True) == ["content"] * 3 + ["white"]

    def test_black(self, density):
        assert self.found(density, 4, black_phantom=True) == ["black"] + ["content"] * 3

    def test_both(self, density):
        kinds = self.found(density, 5, white_phantom=True, black_phantom=True)
        assert kinds == ["black"] + ["content"] * 3 + ["white"]

    def test_white_turns_black_when_0_and_1_are_swapped(self, density):
        assert self.found(density, 4, lambda X: 1 - X, white_phantom=True) == ["black"] + ["content"] * 3


def test_threshold_of_the_model_is_used():
    X = simulate.aspect_bernoulli(300, 40, 3, white_phantom=True, sharpness=0.2, random_state=0).X
    model = AspectBernoulli(3, n_init=3, random_state=0).fit(X)
    assert (model.phantoms_ == "white").sum() == 1
    strict = AspectBernoulli(3, n_init=3, random_state=0, phantom_threshold=0.0).fit(X)
    assert (strict.phantoms_ == "content").all()


def test_blank_data_have_no_phantom():
    model = AspectBernoulli(3, n_init=2, random_state=0).fit(np.zeros((20, 8)))
    assert model.phantoms_.tolist() == ["content"] * 3


class TestReference:
    H = np.array([[0.02, 0.3, 0.01, 0.2], [0.2, 0.01, 0.3, 0.01], [0.49, 0.5, 0.48, 0.49]])

    def test_a_dead_component_is_no_reference(self):
        """It is at its prior, 1/2 everywhere, so beside it all content of sparse data looks blank."""
        assert kinds(np.vstack([self.H[:2] / 2, self.H[2:]])) == ["white", "white", "content"]
        living = np.array([True, True, False])
        assert find_phantoms(self.H, reference=living)[:2].tolist() == ["content", "content"]

    def test_without_a_reference_all_are_compared(self):
        np.testing.assert_array_equal(find_phantoms(self.H), find_phantoms(self.H, reference=np.ones(3, dtype=bool)))

    def test_at_least_one_of_the_reference_stays_content(self):
        H = np.array([[0.01, 0.02, 0.3], [0.01, 0.01, 0.01], [0.9, 0.9, 0.9]])
        assert "content" in find_phantoms(H, threshold=0.99, reference=np.array([True, True, False]))[:2]


class TestAtPrior:
    def test_moved_far_in_one_column_is_enough_to_live(self):
        moved = np.array([[3.0, 2.0, 4.0], [0.0, 0.0, 1.0], [0.3, 0.3, 0.3]])
        assert at_prior(moved).tolist() == [False, False, True]

    def test_if_all_moved_equally_little_none_is_dead(self):
        assert not at_prior(np.full((4, 3), 1e-6)).any()
        assert not at_prior(np.zeros((4, 3))).any()
        assert not at_prior(np.full((4, 3), -3e-10)).any()  # 0 but for rounding, with strong priors


@pytest.mark.parametrize("K", [8, 12, 16])
def test_the_number_of_living_components_does_not_depend_on_the_dead(K):
    """A small nested table, in which the old rule found 12 living components of 12, most of them flat."""
    rng = np.random.default_rng(1)
    rich, common = np.sort(rng.normal(0, 1.5, 25))[:, None], rng.normal(0, 1.5, 40)
    X = (rng.random((25, 40)) < 1 / (1 + np.exp(common - rich))).astype(int)
    model = BetaICA(K, n_init=3, random_state=0).fit(X)
    spread = model.components_.std(axis=1)
    living = np.setdiff1d(np.arange(K), model.extinct_)
    assert spread[living].min() > 3 * spread[model.extinct_].max(initial=0.02)
    assert model.n_components_ == len(living) == K - np.sum(model.phantoms_ == "extinct") < 12


def test_sparse_content_is_not_called_blank_beside_dead_components():
    """2 % ones: beside dead components, at 1/2 everywhere, content was white, and no longer what a row should have."""
    rng = np.random.default_rng(0)
    H = np.where(rng.random((8, 600)) < 0.03, rng.uniform(0.3, 0.9, (8, 600)), 0.002)
    X = (rng.random((200, 600)) < rng.dirichlet(np.full(8, 0.3), 200) @ H).astype(np.int8)
    model = BetaICA(10, gamma=0.1, n_init=1, random_state=0).fit(X)
    living = np.setdiff1d(np.arange(10), model.extinct_)
    assert 1 < len(living) < 10
    assert "white" in find_phantoms(model.components_)[living], "or this would prove little"
    assert (model.phantoms_[living] == "content").all()
    assert (model.phantoms_[model.extinct_] == "extinct").all()
    assert model.suspects(X, top=200)["column"].nunique() > 10


def test_a_component_of_negligible_share_is_no_reference():
    model = AspectBernoulli(3)
    H = np.array([[0.15, 0.05, 0.25, 0.1], [0.05, 0.2, 0.02, 0.3], [1.0, 1.0, 0.9, 0.0]])
    for share, expected in (([0.5, 0.4995, 0.0005], ["content", "content"]), ([0.4, 0.3, 0.3], ["white", "white"])):
        found = model._kinds_of(Components(H, H, 1 - H, np.array(share)))
        assert found[:2].tolist() == expected
