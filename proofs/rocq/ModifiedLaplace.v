(* Privacy of the modified Laplace mechanism. *)
From mathcomp.classical Require Import boolp classical_sets functions.
From Dpassay Require Import Prelude.
From mathcomp.analysis Require Import signed topology normedtype numfun measure lebesgue_measure lebesgue_integral.
From Dpassay Require Import Statements Measures Core Selection Noise RatingCollection.
Import Statements.Selection.
Import Statements.Finite.

Section Entry.
Variables (R : realType) (eps : R).
Hypothesis eps0 : 0 < eps.
Let r : R := expR (eps / 2).
Let b : R := 2 / eps.
Let b0 : 0 < b. Proof. by rewrite divr_gt0 ?ltr0n. Qed.
Let r0 : 0 < r. Proof. exact: expR_gt0. Qed.
Let r1 : 1 <= r. Proof. by rewrite -(expR0 R) ler_expR divr_ge0 ?ler0n ?ltW. Qed.
Let r2 : r <= r * r. Proof. by rewrite -[X in X <= _]mulr1 ler_pmul2l. Qed.
Let s0 : 0 < r + 1. Proof. by rewrite addr_gt0 ?ltr01. Qed.
Let rr : expR eps = r * r. Proof. by rewrite /r -expRD; congr expR; field. Qed.
Implicit Types x y : option R.

Lemma number_gt0 x : 0 < number_chance eps x.
Proof. by case: x => [a|]; rewrite divr_gt0 ?ltr01. Qed.

Lemma missing_chance x : 1 - number_chance eps x = (if x is Some _ then 1 else r) / (r + 1).
Proof. by case: x => [a|]; rewrite /number_chance -/r; field; rewrite gt_eqF. Qed.

Lemma missing_gt0 x : 0 < 1 - number_chance eps x.
Proof. by rewrite missing_chance; case: x => [a|]; rewrite divr_gt0 ?ltr01. Qed.

(* What a change of the entry costs. *)
Definition cost x y : R := if x == y then 1 else expR eps.

Lemma cost_gt0 x y : 0 < cost x y.
Proof. by rewrite /cost; case: ifP => _; rewrite ?ltr01 ?expR_gt0. Qed.

Lemma missing_ratio x y : 1 - number_chance eps x <= cost x y * (1 - number_chance eps y).
Proof.
rewrite /cost; case: eqP => [->|_]; first by rewrite mul1r.
rewrite !missing_chance rr mulrA ler_pmul2r ?invr_gt0 //.
have r3 : r * r <= r * r * r by rewrite ler_pmulr // mulr_gt0.
case: x y => [a|] [c|]; rewrite ?mulr1 //.
- exact: le_trans r1 r2.
- exact: le_trans r1 (le_trans r2 r3).
- exact: le_trans r2 r3.
Qed.

Lemma number_ratio x y z : in_space x -> in_space y ->
  number_chance eps x * laplace_density b (z - odflt 0 x) <=
  cost x y * (number_chance eps y * laplace_density b (z - odflt 0 y)).
Proof.
move=> rx ry; rewrite /cost; case: eqP => [->|_]; first by rewrite mul1r.
have L0 u : 0 <= laplace_density b u by exact: laplace_ge0.
have near a c (u : R) : `|a - c| <= u -> laplace_density b (z - a) <= expR (u * eps / 2) * laplace_density b (z - c).
  move=> ac; apply: (le_trans (laplace_ratio z a c b0)); rewrite ler_wpmul2r // ler_expR.
  by rewrite /b invf_div mulrA ler_pmul2r ?invr_gt0 ?ltr0n // ler_pmul2r.
have rhalf : expR (1 * eps / 2) = r by rewrite mul1r.
have rfull : expR ((1 + 1) * eps / 2) = r * r by rewrite -rr; congr expR; field.
rewrite rr /number_chance -/r; case: x y rx ry => [a|] [c|] /= rx ry.
- rewrite [X in _ <= X]mulrCA ler_pmul2l ?divr_gt0 // -rfull; apply: near.
  case/andP: rx ry => a1 a2 /andP[c1 c2].
  by rewrite ler_norml opprD !ler_add // ?ler_opp2 // ler_oppl.
- have := near a 0 1; rewrite rhalf !subr0 ler_norml => /(_ rx) H.
  apply: le_trans (_ : r / (r + 1) * (r * laplace_density b z) <= _).
    by rewrite ler_pmul2l ?divr_gt0.
  by rewrite le_eqVlt; apply/orP; left; apply/eqP; field; rewrite gt_eqF.
- have := near 0 c 1; rewrite rhalf sub0r normrN !subr0 ler_norml => /(_ ry) H.
  apply: (@le_trans _ _ (1 / (r + 1) * (r * laplace_density b (z - c)))).
    by rewrite ler_pmul2l ?divr_gt0 ?ltr01.
  rewrite -subr_ge0 (_ : _ - _ = r / (r + 1) * ((r * r - 1) * laplace_density b (z - c))); last by field; rewrite gt_eqF.
  apply: mulr_ge0; first by rewrite divr_ge0 ?ltW.
  by apply: mulr_ge0 => //; rewrite subr_ge0; exact: le_trans r1 r2.
- by rewrite mulrA ler_wpmul2r // mulrA ler_pmul2r ?invr_gt0 // mulr1; exact: le_trans r1 r2.
Qed.

Local Open Scope ereal_scope.
Implicit Types f g : option R -> \bar R.

Lemma mean_ge0 x f : (forall z, 0 <= f z) -> 0 <= ml_mean eps x f.
Proof.
move=> f0; rewrite adde_ge0 //; apply: mule_ge0; rewrite ?lee_fin ?(ltW (number_gt0 x)) ?(ltW (missing_gt0 x)) //.
by apply: integral_ge0 => z _; apply: mule_ge0; rewrite ?lee_fin ?laplace_ge0.
Qed.

Lemma mean_ratio x y f g (c : R) : in_space x -> in_space y -> (0 < c)%R -> (forall z, 0 <= f z) -> (forall z, 0 <= g z) ->
  (forall z, f z <= c%:E * g z) -> ml_mean eps x f <= (cost x y * c)%:E * ml_mean eps y g.
Proof.
move=> rx ry c0 f0 g0 fg; have L0 a z : 0 <= (laplace_density b (z - a))%:E by rewrite lee_fin laplace_ge0.
have I0 a h : (forall z, 0 <= h z) -> 0 <= \int[@lebesgue_measure R]_z ((laplace_density b (z - a))%:E * h (Some z)).
  by move=> h0; apply: integral_ge0 => z _; apply: mule_ge0.
have px := number_gt0 x; have py := number_gt0 y; have C0 := cost_gt0 x y.
have qy : (0 <= 1 - number_chance eps y)%R by exact: ltW (missing_gt0 y).
have A0 : 0 <= (number_chance eps y)%:E * \int[@lebesgue_measure R]_z ((laplace_density b (z - odflt 0%R y))%:E * g (Some z)).
  by apply: mule_ge0; [rewrite lee_fin ltW | exact: I0].
have B0 : 0 <= (1 - number_chance eps y)%:E * g None by apply: mule_ge0.
rewrite /ml_mean -/b (ge0_muleDr _ A0 B0).
apply: lee_add; last first.
  rewrite EFinM muleACA -EFinM; apply: lee_pmul => //; first by rewrite lee_fin; exact: ltW (missing_gt0 x).
  by rewrite lee_fin missing_ratio.
rewrite !muleA -EFinM.
have -> : (cost x y * c * number_chance eps y = number_chance eps x * (cost x y * c * number_chance eps y / number_chance eps x))%R.
  by field; rewrite gt_eqF.
rewrite [X in _ <= X * _]EFinM -muleA; apply: lee_wpmul2l; first by rewrite lee_fin ltW.
apply: integral_le => [|z|z|z]; rewrite ?mule_ge0 //.
  by apply: divr_gt0 => //; apply: mulr_gt0 => //; exact: mulr_gt0.
apply: (@le_trans _ _ ((laplace_density b (z - odflt 0 x))%:E * (c%:E * g (Some z)))); first exact: lee_wpmul2l.
rewrite !muleA -!EFinM; apply: lee_wpmul2r; rewrite // lee_fin.
rewrite -subr_ge0.
rewrite (_ : _ - _ = c / number_chance eps x * (cost x y * (number_chance eps y * laplace_density b (z - odflt 0 y)) -
                                                number_chance eps x * laplace_density b (z - odflt 0 x)))%R.
  by apply: mulr_ge0; [exact: ltW (divr_gt0 c0 px) | rewrite subr_ge0 number_ratio].
by field; rewrite gt_eqF.
Qed.

Lemma ml_ge0 (x : seq (option R)) S : 0 <= ml_chance eps x S.
Proof. by elim: x S => [|x1 x IH] S /=; [rewrite lee_fin ler0n | apply: mean_ge0]. Qed.

Lemma ml_ratio (I : Type) (s : seq I) (x y : I -> option R) S : (forall i, in_space (x i)) -> (forall i, in_space (y i)) ->
  ml_chance eps [seq x i | i <- s] S <= (\prod_(i <- s) cost (x i) (y i))%:E * ml_chance eps [seq y i | i <- s] S.
Proof.
move=> rx ry; elim: s S => [|i s IH] S /=; first by rewrite big_nil mul1e.
rewrite big_cons; apply: mean_ratio => // [|z|z]; rewrite ?ml_ge0 //.
by elim: (s) => [|j t p0]; rewrite ?big_nil ?ltr01 // big_cons mulr_gt0 // cost_gt0.
Qed.

End Entry.

Section Vector.
Variables (R : realType) (n : nat) (eps : R) (x y : {ffun 'I_n -> option R}).
Hypotheses (eps0 : 0 < eps) (rx : forall i, in_space (x i)) (ry : forall i, in_space (y i)).

Lemma cost_prod : \prod_(i <- enum 'I_n) cost eps (x i) (y i) = expR ((differing x y)%:R * eps).
Proof.
rewrite big_enum expR_mul /differing; elim/big_rec2: _ => [|i m p _ ->]; first by rewrite expr0.
by rewrite /cost; case: eqP => _ /=; rewrite ?mul1r ?add0n // exprD expr1.
Qed.

Lemma ml_vector_ratio S : (ml_vector eps x S <= (expR ((differing x y)%:R * eps))%:E * ml_vector eps y S)%E.
Proof. by rewrite -cost_prod; apply: ml_ratio. Qed.

Lemma ml_vector_private S : (ml_vector eps x S <= (expR (n%:R * eps))%:E * ml_vector eps y S)%E.
Proof.
apply: le_trans (ml_vector_ratio S) _; apply: lee_wpmul2r; first exact: ml_ge0.
rewrite lee_fin ler_expR ler_pmul2r // ler_nat -[leqRHS]card_ord -sum1_card.
by apply: leq_sum => i _; case: (_ != _).
Qed.
End Vector.

Lemma RC_T1_proof : RC_T1.
Proof. by move=> R n eps x y S eps0 rx ry; apply: ml_vector_private. Qed.

Lemma entry_private a b event : entry_case a b event.
Proof.
move=> R eps x y S eps0 rx ry _ _ _.
apply: (@le_trans _ _ ((cost eps x y * 1)%:E * entry_chance eps y S)%E).
  by apply: mean_ratio => // z; rewrite ?mul1e ?lee_fin ?ler0n.
apply: lee_wpmul2r; first by apply: mean_ge0 => // z; rewrite lee_fin ler0n.
by rewrite lee_fin mulr1 /cost; case: ifP => _ //; rewrite -(expR0 R) ler_expR ltW.
Qed.
Lemma RC_T1_i_proof : RC_T1_i. Proof. exact: entry_private. Qed.
Lemma RC_T1_ii_proof : RC_T1_ii. Proof. exact: entry_private. Qed.
Lemma RC_T1_iii_proof : RC_T1_iii. Proof. exact: entry_private. Qed.
Lemma RC_T1_iv_proof : RC_T1_iv. Proof. exact: entry_private. Qed.
Lemma RC_T1_v_proof : RC_T1_v. Proof. exact: entry_private. Qed.
Lemma RC_T1_vi_proof : RC_T1_vi. Proof. exact: entry_private. Qed.
Lemma RC_T1_vii_proof : RC_T1_vii. Proof. exact: entry_private. Qed.
Lemma RC_T1_viii_proof : RC_T1_viii. Proof. exact: entry_private. Qed.
Lemma RC_T1_ix_proof : RC_T1_ix. Proof. exact: entry_private. Qed.

Lemma RC_CONJ_REP_proof : RC_CONJ_REP.
Proof.
move=> R n eps eps0; split=> [[a|] //=|x y S rx ry|d].
- by rewrite le_maxr lexx /= le_maxl le_minl lexx /= andbT (le_trans (lerN10 R)) ?ler01.
- exact: ml_vector_private.
by have [M [HM [Hdp _]]] := RC_T2_proof n d (ltW eps0); exists M.
Qed.
