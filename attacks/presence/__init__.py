"""Is this subject in the data? An attack on recommendations from a determinantal point process (DPP).

Fitzsimons, Pasqualini, Pisarczyk and Usynin, "Naturally Private Recommendations with Determinantal Point Processes".
The attacker knows every other subject's row and the target's, sees T recommended sets, each a fresh draw, and decides
by the likelihood ratio whether the target's row is in the kernel L = X'X + s I. No test on these sets does better.

What the guarantee leaves is known exactly: for rows with |x|^2 <= B^2 the process hides a subject as well as a coin
whose odds of heads are s without her and s + B^2 with her, and T sets as well as T coins ("Exact privacy of
determinantal point processes", theorem 3, in the documentation of this package).
"""
