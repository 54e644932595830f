"""Published theorems that proofs rest on: (name, source, statement) for `notation.cited`. Nothing here is checked."""

Cited = tuple[str, str, str]

# Privacy
ADVANCED_COMPOSITION: Cited = (
    "Theorem III.3 (advanced composition)",
    "Dwork, Rothblum and Vadhan 2010",
    "For eps > 0, delta >= 0 and delta' > 0, k-fold adaptive composition of (eps, delta)-differentially private "
    "mechanisms is (eps', k delta + delta')-differentially private, eps' = sqrt(2 k ln(1/delta')) eps + k eps "
    "(e^eps - 1).",
)
BLACKWELL: Cited = (
    "Blackwell's theorem for two hypotheses",
    "Blackwell 1953",
    "If at every level the best test between two laws errs at most as much as the best test between two others, the "
    "others are obtained from the first two by one random processing.",
)
GAUSSIAN_MECHANISM: Cited = (
    "Theorem 8 (analytic Gaussian mechanism)",
    "Balle and Wang 2018",
    "A vector plus independent normal noise of deviation sigma in each coordinate is (eps, delta)-differentially "
    "private exactly if Phi(mu/2 - eps/mu) - e^eps Phi(-mu/2 - eps/mu) <= delta, where mu sigma is the largest "
    "distance of the vectors of two neighboring datasets.",
)
ZCDP_COMPOSITION: Cited = (
    "Lemma 1.7 (composition)",
    "Bun and Steinke 2016",
    "Mechanisms of rho1-zCDP and rho2-zCDP that draw their randomness independently have (rho1 + rho2)-zCDP together.",
)

# Probability
CHI_SQUARE_TAILS: Cited = (
    "Lemma 1",
    "Laurent and Massart 2000",
    "For independent standard normal Y_i and a_i >= 0, Z = sum a_i (Y_i^2 - 1) exceeds 2 |a|_2 sqrt(x) + 2 |a|_inf x "
    "with probability at most e^-x, and is below -2 |a|_2 sqrt(x) with probability at most e^-x, for every x > 0.",
)
ISSERLIS: Cited = (
    "Isserlis' theorem",
    "Isserlis 1918",
    "For jointly normal variables of mean 0 the mean of a product of an even number is the sum over all pairings of "
    "the products of covariances, and that of an odd number is 0.",
)
JENSEN: Cited = (
    "Jensen's inequality",
    "Jensen 1906",
    "A convex function of the mean of a variable is at most the mean of the function; less, if the function is "
    "strictly convex and the variable not constant.",
)
SCHEFFE: Cited = (
    "Scheffe's lemma",
    "Scheffe 1947",
    "If probability densities converge to a probability density at almost every point, the laws converge in total "
    "variation.",
)
ZERO_SET: Cited = (
    "Lemma on the zeros of a polynomial",
    "Okamoto 1973",
    "A polynomial of real variables that is not 0 everywhere is 0 on a set of Lebesgue measure 0 only.",
)

# Analysis and matrices
INTERMEDIATE_VALUES: Cited = (
    "Intermediate value theorem",
    "Bolzano 1817",
    "A continuous function on an interval takes every value between those at the ends.",
)
HOFFMAN_WIELANDT: Cited = (
    "Theorem 1",
    "Hoffman and Wielandt 1953",
    "For symmetric matrices with eigenvalues in descending order, the squared differences of the eigenvalues add up to "
    "at most the squared Frobenius norm of the difference of the matrices.",
)
RANK_PRINCIPAL: Cited = (
    "Rank-principal matrices",
    "Horn and Johnson 2013, section 0.7.6",
    "A symmetric matrix of rank r has a principal submatrix of size r with a determinant that is not 0, and no larger "
    "submatrix has one.",
)
RAYLEIGH: Cited = (
    "Rayleigh's theorem",
    "Horn and Johnson 2013, Theorem 4.2.2",
    "The eigenvalues of a symmetric matrix lie between the least and the largest value of its quadratic form on "
    "vectors of norm 1.",
)
RANK_ONE_DETERMINANT: Cited = (
    "Cauchy's formula for a perturbation of rank one",
    "Horn and Johnson 2013, section 0.8.5",
    "det(K + x x') = det(K) (1 + x' K^-1 x) for every invertible K.",
)
WEYL: Cited = (
    "Weyl's monotonicity",
    "Weyl 1912",
    "Adding a positive semidefinite matrix to a symmetric one lowers none of its eigenvalues, taken in descending "
    "order.",
)
