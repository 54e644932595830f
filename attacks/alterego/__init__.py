"""What a profile mapped to another domain (X-Map's AlterEgo) tells about the ratings that it was made from.

Guerraoui, Kermarrec, Lin and Patra, "Heterogeneous Recommendations: What You Might Like To Read After Watching
Interstellar": every rating of a source-domain item becomes a rating of a replacement in the target domain. Private
replacement selection (PRS, Theorem 1 of the report of proofs) draws the replacement by weight exp(epsilon X-SIM / (2
GS)). Theorem 1 protects the users whose ratings the similarities are computed from; which source item is replaced is
an argument of the mechanism, and its rating is copied as it is. So three secrets are tried: which source items a user
rated, how she rated one, and whether a user is in the data behind the similarities.

Ratings of one catalogue are split into two domains. The attacked users are new to the target domain, as X-Map's are:
the similarities come from all others, who connect the domains.
"""
