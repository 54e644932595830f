(* PriCDR's sketch gives its row space away. *)
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp.analysis Require Import reals ereal sequences exp measure.
From mathcomp.algebra_tactics Require Import ring.
From mathcomp Require Import zify.
From Dpassay Require Import Statements Gaussian.
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

Definition difference (R : realType) (m : nat) : 'cV[R]_m.+3 :=
  \col_j ((j == lift ord0 (lift ord0 ord0))%:R - (j == lift ord0 ord0)%:R).

(* Two users, j1 and j2, with equal ratings on one dataset of one item and different ones on the other. *)
Section Witness.
Variables (R : realType) (m : nat) (w : R).
Hypothesis w0 : 0 < w.
Let j0 : 'I_m.+3 := ord0.
Let j1 : 'I_m.+3 := lift ord0 ord0.
Let j2 : 'I_m.+3 := lift ord0 (lift ord0 ord0).
Let A : 'M[R]_(1, m.+3) := \matrix_(i, j) (j == j0)%:R.
Let A' : 'M[R]_(1, m.+3) := \matrix_(i, j) ((j == j0) || (j == j2))%:R.
Local Notation l := (difference R m).

Lemma pick (f : 'I_m.+3 -> R) j : \sum_k f k * (k == j)%:R = f j.
Proof. by rewrite (bigD1 j) //= eqxx mulr1 big1 ?addr0 // => k /negbTE ->; rewrite mulr0. Qed.

Lemma centered_difference (B : 'M[R]_(1, m.+3)) : (row_centered B *m l) ord0 ord0 = B ord0 j2 - B ord0 j1.
Proof.
rewrite !mxE (eq_bigr (fun k => row_centered B ord0 k * (k == j2)%:R - row_centered B ord0 k * (k == j1)%:R)) => [|k _].
  by rewrite sumrB !pick !mxE; ring.
by rewrite !mxE mulrBr.
Qed.

Lemma sketch_tells_apart : exists D D' : 'M[R]_(1, m.+3),
  [/\ rating_neighbors D D', liftable w (row_centered D), liftable w (row_centered D') &
      forall R1 R1', lifts w (row_centered D) R1 -> lifts w (row_centered D') R1' ->
      R1 *m l = 0 /\ (R1' *m l) ord0 ord0 != 0].
Proof.
have Al : row_centered A *m l = 0.
  by apply/matrixP => i k; rewrite [i]ord1 [k]ord1 centered_difference !mxE subrr.
have A'l : (row_centered A' *m l) ord0 ord0 = 1 by rewrite centered_difference !mxE /= subr0.
have An : row_centered A != 0.
  apply/eqP => /(congr1 (fun B : 'M[R]_(1, m.+3) => B ord0 j0 - B ord0 j1)); rewrite !mxE /= opprB addrA subrK !subr0.
  by apply/eqP; rewrite oner_eq0.
have A'n : row_centered A' != 0.
  by apply/eqP => E; move: A'l; rewrite E mul0mx mxE => /eqP; rewrite eq_sym oner_eq0.
exists A, A'; split; try exact: lift_exists.
  exists ord0, j2; split=> [|i j]; first by rewrite !mxE /= sub0r normrN1.
  by rewrite !mxE [i]ord1 xpair_eqE eqxx /= => /negbTE ->; rewrite orbF.
move=> R1 R1' H1 H1'.
have [c [_ E]] := lift_multiple w0 H1 An; have [c' [c'0 E']] := lift_multiple w0 H1' A'n.
split; first by rewrite E -scalemxAl Al scaler0.
by rewrite E' -scalemxAl mxE A'l mulr1 gt_eqF.
Qed.

(* So any event that holds where all of R~ l = 0, and only where row i of it is 0, tells the datasets apart. *)
Lemma sketch_refutes r (i : 'I_r) (e delta : R) (E : 'M[R]_(r, m.+3) -> bool) : delta < 1 ->
  (forall Z, Z *m l = 0 -> E Z) -> (forall Z, E Z -> (Z *m l) i ord0 = 0) ->
  exists D D' : 'M[R]_(1, m.+3), [/\ rating_neighbors D D', liftable w (row_centered D), liftable w (row_centered D') &
    forall R1 R1', lifts w (row_centered D) R1 -> lifts w (row_centered D') R1' ->
    ~ (sketch_chance R1 E <= (expR e)%:E * sketch_chance R1' E + delta%:E)%E].
Proof.
move=> d1 HE HE'; have [D [D' [nD L L' apart]]] := sketch_tells_apart.
exists D, D'; split=> // R1 R1' H1 H1'; apply/negP; rewrite -ltNge.
have [R1l c0] := apart _ _ H1 H1'; set c := (R1' *m l) ord0 ord0 in c0; have R1'l : (R1' *m l) ord0 ord0 = c by [].
have -> : sketch_chance R1 E = 1%E.
  by apply: chance_all => zs; apply: HE; rewrite -scalemxAl -mulmxA R1l mulmx0 scaler0.
have -> : sketch_chance R1' E = 0%E; last by rewrite mule0 add0e lte_fin.
apply/eqP; rewrite eq_le chance_ge0 andbT.
have ir : (i < r * 1)%N by rewrite muln1.
have q0 : Num.sqrt r%:R != 0 :> R by rewrite sqrtr_eq0 -ltNge ltr0n (leq_trans _ (ltn_ord i)).
rewrite -(@chance_linear R (r * 1) (fun j => (j == i :> nat)%:R) 0); last by exists i => //; rewrite eqxx oner_eq0.
apply: chance_mono => zs /HE'; rewrite -scalemxAl mxE -mulmxA mxE big_ord_recl big_ord0 addr0 R1'l !mxE /= => /eqP.
rewrite mulf_eq0 invr_eq0 (negbTE q0) /= mulf_eq0 (negbTE c0) orbF muln1 addn0 => /eqP z0.
rewrite (bigD1 (Ordinal ir)) //= eqxx mul1r z0 add0r big1 // => j /negbTE ji.
by rewrite (_ : (j == i :> nat) = false) ?mul0r // -ji -val_eqE.
Qed.
End Witness.

Lemma CD_T52_proof : CD_T52.
Proof.
move=> R w eps delta r [//|[//|[//|m]]] lift w0 d1 r0 _ lL H; pose l := difference R m.
have all0 (Z : 'M[R]_(r, m.+3)) : Z *m l = 0 -> Z *m l == 0 by move->.
have row0 (Z : 'M[R]_(r, m.+3)) : Z *m l == 0 -> (Z *m l) (Ordinal r0) ord0 = 0 by move/eqP ->; rewrite mxE.
have [D [D' [nD L L' no]]] := sketch_refutes w0 eps d1 all0 row0.
exact: no (lL _ _ L) (lL _ _ L') (H 1%N D D' nD L L' l).
Qed.

Lemma CD_T51_proof : CD_T51.
Proof.
move=> R w eps delta r [//|[//|[//|m]]] i lift w0 d1 _ lL H; pose l := difference R m.
have all0 (Z : 'M[R]_(r, m.+3)) : Z *m l = 0 -> row i Z *m l == 0 by move=> Zl; rewrite -row_mul Zl row0.
have row0 (Z : 'M[R]_(r, m.+3)) : row i Z *m l == 0 -> (Z *m l) i ord0 = 0.
  by rewrite -row_mul => /eqP/matrixP /(_ ord0 ord0); rewrite !mxE.
have [D [D' [nD L L' no]]] := sketch_refutes w0 eps d1 all0 row0.
exact: no (lL _ _ L) (lL _ _ L') (H 1%N D D' nD L L' l).
Qed.
