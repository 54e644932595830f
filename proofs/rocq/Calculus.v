(* Mean values, and the moments of a loss that lies in an interval. *)
From Dpassay Require Import Prelude.
From mathcomp.classical Require Import boolp classical_sets functions.
From mathcomp.analysis Require Import signed topology normedtype derive realfun.
From Dpassay Require Import Statements Core.
Import Statements.Selection.

Import Num.Def.
Import numFieldNormedType.Exports.

Lemma mean_value (R : realType) (f df : R -> R) (a b : R) : a < b ->
  (forall x : R, a <= x <= b -> is_derive x 1 f (df x)) ->
  exists2 c, a < c < b & f b - f a = df c * (b - a).
Proof.
move=> ab fdf.
have [||c cab E] := @MVT R f df a b ab.
- by move=> x; rewrite in_itv /= => /andP[ax xb]; apply: fdf; rewrite !ltW.
- apply: continuous_in_subspaceT => x; rewrite inE /= in_itv /= => xab.
  have ? := fdf x xab; apply: differentiable_continuous; apply/derivable1_diffP; exact: ex_derive.
by exists c => //; rewrite in_itv /= in cab.
Qed.

Lemma derive_scaled (R : realType) (c x : R) : is_derive x 1 (fun y : R => y * c) c.
Proof.
have -> : (fun y : R => y * c) = c *: id by rewrite funeqE => y; rewrite /= mulrC.
by apply: is_derive_eq; rewrite /GRing.scale /= mulr1.
Qed.

Lemma derive_exp (R : realType) (c x : R) : is_derive x 1 (fun y : R => expR (y * c)) (expR (x * c) * c).
Proof. exact: (@is_derive1_comp R expR (fun y => y * c) x _ _ _ (derive_scaled c x)). Qed.

Section Moments.
Variables (R : realType) (n : nat) (q l : 'I_n -> R) (b e : R).
Hypothesis q0 : forall i, 0 < q i.
Hypothesis le : forall i, b <= l i <= b + e.
Hypothesis q1 : \sum_i q i = 1.
Hypothesis q2 : \sum_i q i * expR (l i) = 1.

Definition moment (j : nat) (x : R) : R := \sum_(i < n) q i * l i ^+ j * expR (x * l i).

Lemma moment_derive j (x : R) : is_derive x 1 (moment j) (moment j.+1 x).
Proof.
have -> : moment j = \sum_(i < n) (fun x => q i * l i ^+ j * expR (x * l i)).
  by rewrite funeqE => y; rewrite fct_sumE.
apply: is_derive_sum => i.
pose proof (derive_exp (l i) x) as D.
have -> : (fun y => q i * l i ^+ j * expR (y * l i)) = (q i * l i ^+ j) *: (fun y => expR (y * l i)) by [].
by apply: is_derive_eq; rewrite /GRing.scale /= exprS; ring.
Qed.

Lemma moment_gt0 (x : R) : 0 < moment 0 x.
Proof.
rewrite lt_neqAle eq_sym; apply/andP; split; last first.
  by apply: sumr_ge0 => i _; rewrite expr0 mulr1 mulr_ge0 ?expR_ge0 // ltW.
rewrite psumr_eq0; last by move=> i _; rewrite expr0 mulr1 mulr_ge0 ?expR_ge0 // ltW.
apply/negP => /allP H; move: q1; rewrite big1 => [/eqP|i _]; first by rewrite eq_sym oner_eq0.
have /H : i \in index_enum [finType of 'I_n] by rewrite mem_index_enum.
by rewrite expr0 mulr1 mulf_eq0 gt_eqF // gt_eqF // expR_gt0.
Qed.

(* The variance of a number in an interval of length e is at most e^2/4. *)
Lemma variance (x : R) : (moment 2 x * moment 0 x - moment 1 x ^+ 2) / moment 0 x ^+ 2 <= e ^+ 2 / 4.
Proof.
have m0 := moment_gt0 x; rewrite ler_pdivr_mulr ?exprn_gt0 //.
have H : 0 <= (2 * b + e) * moment 1 x - moment 2 x - b * (b + e) * moment 0 x.
  have -> : (2 * b + e) * moment 1 x - moment 2 x - b * (b + e) * moment 0 x =
      \sum_(i < n) q i * expR (x * l i) * ((l i - b) * (b + e - l i)).
    rewrite /moment !mulr_sumr -!sumrB; apply: eq_bigr => i _; ring.
  apply: sumr_ge0 => i _; case/andP: (le i) => bl lb.
  by rewrite !mulr_ge0 ?subr_ge0 ?expR_ge0 // ltW.
have := mulr_ge0 H (ltW m0); set M0 := moment 0 x; set M1 := moment 1 x; set M2 := moment 2 x => H'.
rewrite -subr_ge0; have -> : e ^+ 2 / 4 * M0 ^+ 2 - (M2 * M0 - M1 ^+ 2) =
    (M1 - (b + e / 2) * M0) ^+ 2 + ((2 * b + e) * M1 - M2 - b * (b + e) * M0) * M0 by field.
by rewrite addr_ge0 ?sqr_ge0.
Qed.

Lemma log_moment_derive (x : R) : is_derive x 1 (fun y => ln (moment 0 y)) (moment 1 x / moment 0 x).
Proof.
pose proof (moment_derive 0 x) as d0; pose proof (is_derive1_ln (moment_gt0 x)) as dl.
by rewrite mulrC; exact: (@is_derive1_comp R (@ln R) (moment 0) x _ _ dl d0).
Qed.

Lemma level_derive (x c : R) :
  is_derive x 1 (fun y => ln (moment 0 y) - c * (y * y - y)) (moment 1 x / moment 0 x - c * (2 * x - 1)).
Proof.
pose proof (log_moment_derive x) as dl.
have -> : (fun y => ln (moment 0 y) - c * (y * y - y)) = (fun y => ln (moment 0 y)) - (c *: (id * id - id)) by rewrite funeqE.
by apply: is_derive_eq; rewrite /GRing.scale /=; ring.
Qed.

Lemma slope_derive (x c : R) :
  is_derive x 1 (fun y => moment 1 y / moment 0 y - c * (2 * y - 1))
    ((moment 2 x * moment 0 x - moment 1 x ^+ 2) / moment 0 x ^+ 2 - c * 2).
Proof.
pose proof (moment_derive 0 x) as d0; pose proof (moment_derive 1 x) as d1.
have m0 : moment 0 x != 0 by rewrite gt_eqF // moment_gt0.
pose proof (is_deriveV m0 d0) as dv.
have -> : (fun y => moment 1 y / moment 0 y - c * (2 * y - 1)) =
  (moment 1 * (fun y => (moment 0 y)^-1)) - (c *: (2 *: id - cst 1)) by rewrite funeqE.
by apply: is_derive_eq; rewrite /GRing.scale /=; field.
Qed.

(* ln E e^(alpha l) <= alpha (alpha - 1) e^2 / 8, as the left side has value 0 at 0 and 1 and curvature at most e^2/4. *)
Lemma bounded_range (alpha : R) : 1 < alpha -> ln (moment 0 alpha) <= alpha * (alpha - 1) * (e ^+ 2 / 8).
Proof.
move=> a1; set c := e ^+ 2 / 8.
pose h (x : R) := ln (moment 0 x) - c * (x * x - x).
pose h1 (x : R) := moment 1 x / moment 0 x - c * (2 * x - 1).
pose h2 (x : R) := (moment 2 x * moment 0 x - moment 1 x ^+ 2) / moment 0 x ^+ 2 - c * 2.
have dh : forall x : R, is_derive x 1 h (h1 x) := fun x => level_derive x c.
have dh1 : forall x : R, is_derive x 1 h1 (h2 x) := fun x => slope_derive x c.
have h0 : h 0 = 0.
  rewrite /h mulr0 subr0 mulr0 subr0 (_ : moment 0 0 = 1) ?ln1 // -q1.
  by apply: eq_bigr => i _; rewrite mul0r expR0 expr0 !mulr1.
have h11 : h 1 = 0.
  rewrite /h mulr1 subrr mulr0 subr0 (_ : moment 0 1 = 1) ?ln1 // -[RHS]q2.
  by apply: eq_bigr => i _; rewrite mul1r expr0 !mulr1.
suff : h alpha <= 0 by rewrite /h subr_le0 => /le_trans; apply; rewrite le_eqVlt; apply/orP; left; apply/eqP; ring.
rewrite leNgt; apply/negP => ha.
have [c1 /andP[_ c1l] E1] := mean_value ltr01 (fun x _ => dh x).
have [c2 /andP[c2l _] E2] := mean_value a1 (fun x _ => dh x).
have [c3 _ E3] := mean_value (lt_trans c1l c2l) (fun x _ => dh1 x).
move: E1; rewrite h0 h11 subrr subr0 mulr1 => E1.
move: E2; rewrite h11 subr0 => E2; have c2p : 0 < h1 c2.
  by rewrite -(pmulr_lgt0 _ (_ : 0 < alpha - 1)) ?subr_gt0 // -E2.
move: E3; rewrite -E1 subr0 => E3.
have : 0 < h2 c3 by rewrite -(pmulr_lgt0 _ (_ : 0 < c2 - c1)) ?subr_gt0 ?(lt_trans c1l) // -E3.
rewrite /h2 ltNge; move/negP; apply; rewrite subr_le0.
by apply: le_trans (variance c3) _; rewrite le_eqVlt; apply/orP; left; apply/eqP; rewrite /c; field.
Qed.

End Moments.
