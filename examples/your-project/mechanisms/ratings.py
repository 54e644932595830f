"""Two releases about one film's ratings (1 to 5 stars). Both claim: adding or removing one rating costs epsilon."""

EPSILON = 0.5


def noisy_likes(rng, ratings):
    """How many liked the film. One rating moves the count by at most 1: Laplace noise of scale 1/epsilon suffices."""
    return sum(stars >= 4 for stars in ratings) + rng.laplace(scale=1 / EPSILON)


def noisy_total(rng, ratings):
    """All stars together. One rating moves the sum by up to 5, but the noise is that of a count: this is the bug."""
    return sum(ratings) + rng.laplace(scale=1 / EPSILON)
