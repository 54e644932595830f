(* Proofs on the row space of PriCDR's sketch. *)
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp.analysis Require Import reals ereal sequences exp measure.
From mathcomp.algebra_tactics Require Import ring.
From mathcomp Require Import zify.
From Dpassay Require Import Statements RatingCollection RatingErrors.
Import Statements.Finite.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section OneRow.
Variables (R : realType) (m : nat) (w : R).
Hypothesis w0 : 0 < w.

Lemma diag1 (d : 'rV[R]_1) : diag_mx d = (d ord0 ord0)%:M.
Proof. by rewrite [LHS]mx11_scalar mxE eqxx mulr1n. Qed.

Lemma lift_multiple (A R1 : 'M[R]_(1, m)) : lifts w A R1 -> A != 0 -> exists c, 0 < c /\ R1 = c *: A.
Proof.
move=> [U [sigma [V [_ _ s0 EA ER]]]] A0.
rewrite [U]mx11_scalar !diag1 -!scalar_mxM !mul_scalar_mx !mxE in EA ER.
set u := U _ _ in EA ER; set s := sigma _ _ in EA ER.
have sp : 0 < s.
  rewrite lt_def s0 andbT; apply: contra A0 => /eqP s00.
  by rewrite EA s00 mulr0 scale0r.
exists (Num.sqrt (s ^+ 2 + w ^+ 2) / s); split.
  by rewrite divr_gt0 // sqrtr_gt0 addr_gt0 // exprn_gt0.
rewrite ER EA scalerA; congr (_ *: _).
by field; rewrite lt0r_neq0.
Qed.

Lemma lift_exists (A : 'M[R]_(1, m)) : A != 0 -> exists R1, lifts w A R1.
Proof.
move=> A0; pose N := \sum_j A 0 j ^+ 2.
have N0 : 0 < N.
  rewrite lt_def sumr_ge0 ?andbT => [|j _]; last exact: sqr_ge0.
  apply: contra A0 => /eqP E; apply/eqP/matrixP => i j; rewrite [i]ord1 mxE; apply/eqP; rewrite -sqrf_eq0.
  by apply/eqP; apply: (psumr_eq0P _ E (i := j)) => // k _; apply: sqr_ge0.
pose q := Num.sqrt N; have q0 : 0 < q by rewrite sqrtr_gt0.
have qn : q != 0 := lt0r_neq0 q0.
exists (1%:M *m diag_mx (\row_i Num.sqrt ((const_mx q : 'rV_1) ord0 i ^+ 2 + w ^+ 2)) *m (q^-1 *: A^T)^T).
exists 1%:M, (const_mx q), (q^-1 *: A^T); split=> //.
- by rewrite trmx1 mulmx1.
- apply/matrixP => i j; rewrite [i]ord1 [j]ord1 !mxE eqxx.
  rewrite (eq_bigr (fun k => A 0 k ^+ 2 * q ^- 2)) => [|k _]; last by rewrite !mxE; field.
  by rewrite -mulr_suml -/N -[N]sqr_sqrtr ?(ltW N0) // -/q divff // expf_neq0.
- by move=> i; rewrite mxE ltW.
by rewrite mul1mx diag1 mxE mul_scalar_mx linearZ /= trmxK scalerA divff // scale1r.
Qed.
End OneRow.

Lemma CD_T52_algebra_proof : CD_T52_algebra.
Proof.
move=> R w w0.
pose j0 : 'I_3 := ord0; pose j1 : 'I_3 := lift ord0 ord0; pose j2 : 'I_3 := lift ord0 (lift ord0 ord0).
pose A : 'M[R]_(1, 3) := \matrix_(i, j) (j == j0)%:R.
pose A' : 'M[R]_(1, 3) := \matrix_(i, j) ((j == j0) || (j == j2))%:R.
pose l : 'cV[R]_3 := \col_j (if j == j2 then 1 else if j == j1 then -1 else 0).
have Al : row_centered A *m l = 0.
  apply/matrixP => i k; rewrite [i]ord1 [k]ord1 !mxE !big_ord_recl !big_ord0 !mxE !big_ord_recl !big_ord0 !mxE /=.
  by field.
have A'l : (row_centered A' *m l) ord0 ord0 = 1.
  rewrite !mxE !big_ord_recl !big_ord0 !mxE !big_ord_recl !big_ord0 !mxE /=.
  by field.
have An : row_centered A != 0.
  apply/eqP => /matrixP /(_ ord0 j0); rewrite !mxE !big_ord_recl !big_ord0 !mxE /= => /eqP.
  rewrite (_ : _ - _ = 2%:R / 3%:R); last by field.
  by rewrite mulf_eq0 invr_eq0 !pnatr_eq0.
have A'n : row_centered A' != 0.
  by apply/eqP => E; move: A'l; rewrite E mul0mx mxE => /eqP; rewrite eq_sym oner_eq0.
exists 1%N, 3%N, A, A', l; split.
- exists ord0, j2; split=> [|i j]; first by rewrite !mxE /= sub0r normrN1.
  by rewrite !mxE [i]ord1 xpair_eqE eqxx /= => /negbTE ->; rewrite orbF.
- exact: lift_exists.
- exact: lift_exists.
- move=> R1 r M HL; have [c [_ ->]] := lift_multiple w0 HL An.
  by rewrite -scalemxAl -mulmxA -scalemxAl Al scaler0 mulmx0 scaler0.
move=> R1 HL; have [c [c0 ->]] := lift_multiple w0 HL A'n.
apply/eqP => /matrixP /(_ ord0 ord0); rewrite -scalemxAl mxE A'l mulr1 mxE => /eqP.
by rewrite (gt_eqF c0).
Qed.
