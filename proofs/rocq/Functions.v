(* Functions listed as kernels. *)
From Dpassay Require Import Prelude.
From mathcomp.classical Require Import classical_sets.
From mathcomp.analysis Require Import topology normedtype.
From Dpassay Require Import Statements Determinant Determinantal Curve Spectral Kernels.
Import Statements.Determinantal.
Import numFieldTopology.Exports numFieldNormedType.Exports.

Section Positive.
Variables (R : realType) (n : nat).

Lemma bilE (A : 'M[R]_n) (u v : 'rV[R]_n) : bil A u v = \sum_i \sum_j u 0 i * A i j * v 0 j.
Proof.
rewrite /bil mxE exchange_big /=; apply: eq_bigr => j _; rewrite !mxE mulr_suml.
by apply: eq_bigr => i _.
Qed.

Lemma psdP (L : 'M[R]_n) : (forall i j, L i j = L j i) -> (forall z : 'rV[R]_n, 0 <= bil L z z) -> psd L.
Proof. by move=> sL H; split=> //; apply/matrixP => i j; rewrite mxE. Qed.

Lemma psd_sym (L : 'M[R]_n) i j : psd L -> L i j = L j i.
Proof. by case=> sL _; rewrite -[in LHS]sL mxE. Qed.

(* The entrywise product with a matrix of dot products. *)
Lemma psd_product m (L : 'M[R]_n) (x : 'I_n -> 'rV[R]_m) : psd L -> psd (\matrix_(i, j) (L i j * dotp (x i) (x j))).
Proof.
move=> HL; apply: psdP => [i j|z].
  rewrite !mxE (psd_sym i j HL); congr (_ * _); by apply: eq_bigr => k _; rewrite mulrC.
rewrite bilE (_ : \sum_i _ = \sum_k bil L (\row_i (z 0 i * x i 0 k)) (\row_i (z 0 i * x i 0 k))).
  by apply: sumr_ge0 => k _; exact: HL.2.
under [RHS]eq_bigr do rewrite bilE; rewrite [RHS]exchange_big /=; apply: eq_bigr => i _.
rewrite [RHS]exchange_big /=; apply: eq_bigr => j _; rewrite !mxE /dotp.
under [RHS]eq_bigr do rewrite !mxE.
by rewrite !mulr_sumr mulr_suml; apply: eq_bigr => k _; ring.
Qed.

Lemma psd_add (A B : 'M[R]_n) : psd A -> psd B -> psd (A + B).
Proof.
move=> HA HB; apply: psdP => [i j|z]; first by rewrite !mxE (psd_sym i j HA) (psd_sym i j HB).
by rewrite bilDm addr_ge0 // ?HA.2 ?HB.2.
Qed.

Lemma psd_scale (c : R) (A : 'M[R]_n) : 0 <= c -> psd A -> psd (c *: A).
Proof.
move=> c0 HA; apply: psdP => [i j|z]; first by rewrite !mxE (psd_sym i j HA).
by rewrite /bil -scalemxAr -scalemxAl mxE mulr_ge0 // HA.2.
Qed.

Lemma psd_const (c : R) : 0 <= c -> psd (const_mx c : 'M[R]_n).
Proof. by move=> c0; apply/psd_above; exact: above_const. Qed.

Lemma dotp_sym m (x y : 'rV[R]_m) : dotp x y = dotp y x.
Proof. by apply: eq_bigr => k _; rewrite mulrC. Qed.

Lemma psd_power m d (c : R) (x : 'I_n -> 'rV[R]_m) : 0 <= c -> psd (polynomial_kernel d c x).
Proof.
move=> c0; elim: d => [|d IH].
  by rewrite (_ : polynomial_kernel _ _ _ = const_mx 1); [exact: psd_const ler01 | apply/matrixP => i j; rewrite !mxE expr0].
rewrite (_ : polynomial_kernel _ _ _ =
    (\matrix_(i, j) (polynomial_kernel d c x i j * dotp (x i) (x j))) + c *: polynomial_kernel d c x); last first.
  by apply/matrixP => i j; rewrite !mxE exprSr mulrDr [c * _]mulrC.
by apply: psd_add; [exact: psd_product | exact: psd_scale].
Qed.

Lemma dot_kernelE m (x : 'I_n -> 'rV[R]_m) : dot_kernel x = polynomial_kernel 1 0 x.
Proof. by apply/matrixP => i j; rewrite !mxE addr0 expr1. Qed.

(* The matrix of exp(2 g x_i.x_j), a limit of sums of powers. *)
Definition exp_kernel m (g : R) (x : 'I_n -> 'rV[R]_m) : 'M[R]_n := \matrix_(i, j) expR (g * dotp (x i) (x j)).
Definition partial_kernel m (g : R) (x : 'I_n -> 'rV[R]_m) (k : nat) : 'M[R]_n :=
  \sum_(0 <= d < k) (g ^+ d / d`!%:R) *: polynomial_kernel d 0 x.

Lemma psd_partial m g (x : 'I_n -> 'rV[R]_m) k : 0 <= g -> psd (partial_kernel g x k).
Proof.
move=> g0; rewrite /partial_kernel; elim: k => [|k IH].
  rewrite big_nil (_ : 0 = const_mx 0); first exact: psd_const.
  by apply/matrixP => i j; rewrite !mxE.
rewrite big_nat_recr //=; apply: psd_add => //; apply: psd_scale; last exact: psd_power.
by rewrite divr_ge0 ?exprn_ge0 ?ler0n.
Qed.

Lemma partialE m g (x : 'I_n -> 'rV[R]_m) k i j :
  partial_kernel g x k i j = series (exp_coeff (g * dotp (x i) (x j))) k.
Proof.
rewrite /partial_kernel /series /= summxE; apply: eq_bigr => d _.
by rewrite !mxE addr0 /exp_coeff /= exprMn mulrAC.
Qed.
End Positive.

Section Limit.
Variables (R : realType) (n : nat).
Local Open Scope classical_set_scope.

Lemma cvg_bigsum (I : Type) (r : seq I) (f : I -> nat -> R) (l : I -> R) :
  (forall i, f i @ \oo --> l i) -> (fun k => \sum_(i <- r) f i k) @ \oo --> \sum_(i <- r) l i.
Proof.
move=> H; elim: r => [|i r IH].
  by rewrite big_nil (_ : (fun k => _) = (fun=> 0)); [exact: cvg_cst | apply/boolp.funext => k; rewrite big_nil].
rewrite big_cons (_ : (fun k => _) = (fun k => f i k + \sum_(j <- r) f j k)); first exact: cvgD.
by apply/boolp.funext => k; rewrite big_cons.
Qed.

Lemma psd_exp m (g : R) (x : 'I_n -> 'rV[R]_m) : 0 <= g -> psd (exp_kernel g x).
Proof.
move=> g0; apply: psdP => [i j|z]; first by rewrite !mxE dotp_sym.
have C : (fun k => bil (partial_kernel g x k) z z) @ \oo --> bil (exp_kernel g x) z z.
  rewrite bilE (_ : (fun k => _) = (fun k => \sum_i \sum_j z 0 i * partial_kernel g x k i j * z 0 j)); last first.
    by apply/boolp.funext => k; rewrite bilE.
  apply: cvg_bigsum => i; apply: cvg_bigsum => j; apply: cvgMl; apply: cvgMr.
  rewrite (_ : (fun k => _) = series (exp_coeff (g * dotp (x i) (x j)))).
    by rewrite mxE; exact: is_cvg_series_exp_coeff.
  by apply/boolp.funext => k; rewrite partialE.
rewrite -(cvg_lim (@Rhausdorff R) C); apply: limr_ge; first by apply/cvg_ex; eexists; exact: C.
by near=> k; have [_ H] := psd_partial x k g0; exact: H.
Unshelve. all: by end_near.
Qed.
End Limit.

Lemma psd_rbf (R : realType) n m (g : R) (x : 'I_n -> 'rV[R]_m) : 0 <= g -> psd (rbf_kernel g x).
Proof.
move=> g0; pose w i := expR (- (g * norm2 (x i))).
have E i j : rbf_kernel g x i j = w i * w j * expR (2%:R * g * dotp (x i) (x j)).
  rewrite mxE /w -!expRD; congr expR.
  have -> : norm2 (x i - x j) = norm2 (x i) + norm2 (x j) - 2%:R * dotp (x i) (x j).
    rewrite -[LHS]dot_norm -scaleN1r dotDl !dotDr !dotZl !dotZr !dot_norm [dot (x j) _]dotC.
    rewrite (_ : dot (x i) (x j) = dotp (x i) (x j)) ?dotE //.
    ring.
  ring.
apply: psdP => [i j|z]; first by rewrite !E dotp_sym [w i * _]mulrC.
have H := psd_exp x (mulr_ge0 (ler0n R 2) g0).
have := H.2 (\row_i (z 0 i * w i)); rewrite -/(bil _ _ _) !bilE; congr (_ <= _).
apply: eq_bigr => i _; apply: eq_bigr => j _; rewrite E !mxE; move: (w i) (w j) (expR _) => a b e; ring.
Qed.

Theorem dp_psd_rep : DP_PSD_REP.
Proof.
move=> R n m d g c s x g0 c0 d1 L HL.
have P : psd L.
  case: HL => [->|[->|->]]; first by rewrite dot_kernelE; exact: psd_power.
    by apply: psd_rbf; exact: ltW.
  exact: psd_power.
split=> // z; rewrite -/(bil _ z z) bilDm bil_scalar dot_norm ler_addr; exact: P.2.
Qed.

Theorem dp_psd : DP_PSD.
Proof.
move=> R H.
pose x (i : 'I_2) : 'rV[R]_1 := const_mx (1 + (val i)%:R).
have [_ _ _ [_ S]] := H 2%N 1%N 1%N 1 1 0 x ltr01 ltr01 (lexx 0) (leqnn 1).
pose t k : R := tanh k%:R.
have d i j : dotp (x i) (x j) = ((1 + val i) * (1 + val j))%:R.
  by rewrite /dotp big_ord1 !mxE natrM !natrD.
pose z : 'rV[R]_2 := \row_i (if val i == 0%N then t 2%N else - t 1%N).
have := S z; rewrite -/(bil _ z z) bilE !big_ord_recl !big_ord0 !addr0 !mxE /= !d /= !mul1r !addr0.
rewrite -[tanh ((1 + 0) * (1 + 0))%N%:R]/(t 1%N) -[tanh ((1 + 0) * (1 + bump 0 0))%N%:R]/(t 2%N).
rewrite -[tanh ((1 + bump 0 0) * (1 + bump 0 0))%N%:R]/(t 4%N).
rewrite leNgt => /negP; apply.
set u := expR (2%:R : R); have u1 : 1 < u by rewrite expR_gt1 ltr0n.
have tE k : t k = (u ^+ k - 1) / (u ^+ k + 1) by rewrite /t /tanh [2%:R * _]mulrC expRMm.
have u0 : 0 < u by exact: lt_trans ltr01 u1.
have p k : 0 < u ^+ k + 1 by rewrite addr_gt0 ?ltr01 ?exprn_gt0.
have t1 : 0 < t 1%N by rewrite tE divr_gt0 // subr_gt0 expr1.
rewrite [X in X < 0](_ : _ = t 1%N * (t 1%N * t 4%N - t 2%N ^+ 2)); last by ring.
rewrite nmulr_llt0 // -oppr_gt0 opprB !tE.
rewrite [X in 0 < X](_ : _ = (u - 1) ^+ 2 * (u * (u - 1) * (u ^+ 3 - 1) *+ 2) /
   ((u ^+ 2 + 1) ^+ 2 * (u ^+ 4 + 1))).
  rewrite divr_gt0 // ?mulr_gt0 ?exprn_gt0 ?pmulrn_lgt0 ?subr_gt0 ?mulr_gt0 ?exprn_gt0 ?subr_gt0 ?exprn_egt1 //.
by field; rewrite !gt_eqF // addr_gt0 ?ltr01.
Qed.
