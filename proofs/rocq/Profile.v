(* A loss that lies in an interval gives zCDP, and Renyi divergences of products add up. *)
From Dpassay Require Import Prelude Statements Core Selection Calculus.
Import Statements.Selection.

Section Products.
Variables (R : realType) (L : nat).

Lemma exp_ln_prod (a : R) (u : 'I_L -> R) : (forall l, 0 < u l) ->
  expR (a * ln (\prod_l u l)) = \prod_l expR (a * ln (u l)).
Proof.
move=> u0; suff [] : 0 < \prod_l u l /\ expR (a * ln (\prod_l u l)) = \prod_l expR (a * ln (u l)) by [].
elim/big_rec2: _ => [|l v w _ [w0 <-]]; first by rewrite ltr01 ln1 mulr0 expR0.
by split; [apply: mulr_gt0 | rewrite lnM ?posrE // mulrDr expRD].
Qed.

End Products.

(* One mechanism whose loss lies in an interval of length e. *)
Lemma renyi_sum (R : realType) (T : finType) (p q : T -> R) (b e alpha : R) : (forall t, 0 < p t) -> (forall t, 0 < q t) ->
  \sum_t p t = 1 -> \sum_t q t = 1 -> (forall t, b <= ln (p t) - ln (q t) <= b + e) -> 1 < alpha ->
  0 < \sum_t expR (alpha * ln (p t)) * expR ((1 - alpha) * ln (q t)) /\
  ln (\sum_t expR (alpha * ln (p t)) * expR ((1 - alpha) * ln (q t))) <= alpha * (alpha - 1) * (e ^+ 2 / 8).
Proof.
move=> p0 q0 p1 q1 le a1.
pose Q (i : 'I_#|T|) := q (enum_val i); pose l (i : 'I_#|T|) := ln (p (enum_val i)) - ln (q (enum_val i)).
have en (f : T -> R) : \sum_t f t = \sum_(i < #|T|) f (enum_val i).
  by rewrite -(big_enum_val (A := T) f) /=; apply: eq_bigl.
have E : \sum_t expR (alpha * ln (p t)) * expR ((1 - alpha) * ln (q t)) = moment Q l 0 alpha.
  rewrite en; apply: eq_bigr => i _; rewrite expr0 mulr1 -expRD /Q -{2}(@lnK _ (q (enum_val i))) ?posrE //.
  by rewrite -expRD /l; congr expR; ring.
have Q0 i : 0 < Q i by apply: q0.
have Q1 : \sum_i Q i = 1 by rewrite /Q -en.
have Q2 : \sum_i Q i * expR (l i) = 1.
  rewrite -p1 en; apply: eq_bigr => i _.
  by rewrite /Q /l expRB !lnK ?posrE // mulrCA divff ?mulr1 // gt_eqF.
by rewrite E; split; [apply: moment_gt0 | apply: (bounded_range (b := b)) => // i; apply: le].
Qed.
