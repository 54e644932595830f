"""What a rating collector learns from noisy ratings (Zheng, "Two Differentially Private Rating Collection Mechanisms").

Every user's device perturbs all entries of her rating vector, missing ones too, and sends them (Definitions 2 and 3).
The collector applies Bayes' rule to each entry: the prior comes from the other users' ratings, the likelihood is the
exact law of the mechanism, and answers collected again with fresh noise multiply their likelihoods.

A symbol is 0 for missing and v = 1..d for the v-th level of the rating scale. Samplers and likelihoods are those of
`dpassay.mechanisms` in NumPy, for speed; the tests compare the laws.
"""
