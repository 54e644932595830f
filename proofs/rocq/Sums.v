(* Expectations and Chebyshev's sum. *)
From Dpassay Require Import Prelude Statements Core.
Import Statements.Selection.

Lemma expectation (R : realType) (I : finType) (p : {set I} -> R) (s : I -> R) :
  \sum_(S : {set I}) p S * (\sum_(i in S) s i) = \sum_i s i * \sum_(S : {set I} | i \in S) p S.
Proof.
transitivity (\sum_(S : {set I}) \sum_i (if i \in S then p S * s i else 0)).
  by apply: eq_bigr => S _; rewrite mulr_sumr [LHS]big_mkcond.
rewrite exchange_big /=; apply: eq_bigr => i _; rewrite mulr_sumr [RHS]big_mkcond.
by apply: eq_bigr => S _; case: ifP; rewrite // mulrC.
Qed.

Section Chebyshev.
Variables (R : realType) (k : nat) (s mu : 'I_k -> R).

Lemma chebyshev_identity : \sum_(i < k) \sum_(j < k | (i < j)%N) (s i - s j) * (mu i - mu j) =
  k%:R * (\sum_i s i * mu i) - (\sum_i s i) * (\sum_i mu i).
Proof.
have two : (2 : R) != 0 by rewrite pnatr_eq0.
apply: (mulfI two); rewrite [LHS]mulr_natl [LHS]mulr2n.
have sym : \sum_(i < k) \sum_(j < k | (i < j)%N) (s i - s j) * (mu i - mu j) =
    \sum_(i < k) \sum_(j < k | (j < i)%N) (s i - s j) * (mu i - mu j).
  rewrite (exchange_big_dep predT) //=; apply: eq_bigr => i _; apply: eq_bigr => j _; ring.
rewrite {2}sym -big_split /=.
have -> : \sum_(i < k) (\sum_(j < k | (i < j)%N) (s i - s j) * (mu i - mu j) + \sum_(j : 'I_k | (j < i)%N) (s i - s j) * (mu i - mu j)) =
    \sum_i \sum_j (s i - s j) * (mu i - mu j).
  apply: eq_bigr => i _; rewrite [RHS](bigID (fun j : 'I_k => (i < j)%N)) /=; congr (_ + _).
  rewrite [RHS](bigID (fun j : 'I_k => (j < i)%N)) /= [X in _ = _ + X]big1 ?addr0.
    by apply: eq_bigl => j; rewrite -leqNgt andb_idl // => /ltnW.
  by move=> j; rewrite -!leqNgt -eqn_leq => /eqP/val_inj->; rewrite subrr mul0r.
have -> : \sum_i \sum_j (s i - s j) * (mu i - mu j) =
    \sum_i (k%:R * (s i * mu i) - s i * (\sum_j mu j) - mu i * (\sum_j s j) + \sum_j s j * mu j).
  apply: eq_bigr => i _.
  transitivity (\sum_j (s i * mu i - s i * mu j - mu i * s j + s j * mu j)); first by apply: eq_bigr => j _; ring.
  by rewrite !big_split /= sumr_const card_ord -[s i * mu i *+ k]mulr_natl !sumrN -!mulr_sumr.
rewrite !big_split /= !sumrN -!mulr_suml -mulr_sumr sumr_const card_ord -[(\sum_(i < k) s i * mu i) *+ k]mulr_natl.
set A := \sum_(i < k) s i * mu i; set S := \sum_(i < k) s i; set M := \sum_(i < k) mu i; ring.
Qed.

End Chebyshev.
