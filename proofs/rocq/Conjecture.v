(* Three binary items tell more than the binomial pairs. *)
From Dpassay Require Import Prelude Statements Determinant Determinantal Curve.
Import Statements.Determinantal.

Section Conjecture.
Variable R : realType.

Lemma det2 (f : nat -> nat -> R) : \det (\matrix_(i < 2, j < 2) f i j) = f 0%N 0%N * f 1%N 1%N - f 0%N 1%N * f 1%N 0%N.
Proof.
rewrite (expand_det_row _ 0) !big_ord_recl big_ord0 /cofactor !det_mx11 !mxE /= /bump /=.
by rewrite ?addn0 ?add0n ?addn0 ?add1n; ring.
Qed.

Lemma det3 (f : nat -> nat -> R) : \det (\matrix_(i < 3, j < 3) f i j) =
  f 0%N 0%N * (f 1%N 1%N * f 2%N 2%N - f 1%N 2%N * f 2%N 1%N) -
  f 0%N 1%N * (f 1%N 0%N * f 2%N 2%N - f 1%N 2%N * f 2%N 0%N) +
  f 0%N 2%N * (f 1%N 0%N * f 2%N 1%N - f 1%N 1%N * f 2%N 0%N).
Proof.
rewrite (expand_det_row _ 0) !big_ord_recl big_ord0 /cofactor.
have m2 (j : 'I_3) : row' 0 (col' j (\matrix_(i < 3, j < 3) f i j)) = \matrix_(i < 2, k < 2) f (bump 0 i) (bump j k).
  by apply/matrixP => i k; rewrite !mxE.
rewrite !m2 !(det2 (fun i k => f (bump 0 i) (bump _ k))) !mxE /= /bump /=.
rewrite !(addn0, add0n, add1n); ring.
Qed.

(* The kernel after m readers of items 1 and 3, m of 2 and 3, and t of 1 and 2. *)
Definition pair (i j : nat) : 'rV[R]_3 := \row_k ((val k == i) || (val k == j))%:R.
Definition readers (m t : nat) : seq 'rV[R]_3 := nseq t (pair 0 1) ++ nseq m (pair 0 2) ++ nseq m (pair 1 2).

Definition entry (s : R) (m t : nat) (i j : nat) : R :=
  (s *+ (i == j)) + ((((i == 0) || (i == 1)) && ((j == 0) || (j == 1)))%N%:R *+ t +
  ((((i == 0) || (i == 2)) && ((j == 0) || (j == 2)))%N%:R *+ m + (((i == 1) || (i == 2)) && ((j == 1) || (j == 2)))%N%:R *+ m)).

Lemma kernel_readers s m t : kernel s (readers m t) = \matrix_(i < 3, j < 3) entry s m t i j.
Proof.
rewrite /kernel /readers !big_cat !big_nseq !iter_addr_0 /=.
by apply/matrixP => i j; rewrite !mxE !mulmxnE !mxE !big_ord1 !mxE -!natrM !mulnb.
Qed.

Definition half : R := 2%:R^-1.

Lemma full_chance m t : dpp (kernel half (readers m t)) setT =
  \det (\matrix_(i < 3, j < 3) entry half m t i j) / \det (\matrix_(i < 3, j < 3) entry (half + 1) m t i j).
Proof.
rewrite /dpp minorT kernel_readers; congr (_ / \det _).
by apply/matrixP => i j; rewrite !mxE /entry mulrnDl addrAC.
Qed.

Lemma full_before : dpp (kernel half (readers 10 0)) setT = 21%:R / 23%:R * (61%:R / 189%:R).
Proof.
rewrite full_chance !det3 /entry /= !mulr0n !mulr1n /half; field.
by rewrite -?natrM -?natrD -?natrB ?pnatr_eq0.
Qed.

Lemma full_after : dpp (kernel half (readers 10 1)) setT = 21%:R / 23%:R * (225%:R / 361%:R).
Proof.
rewrite full_chance !det3 /entry /= !mulr0n !mulr1n /half; field.
by rewrite -?natrM -?natrD -?natrB ?pnatr_eq0.
Qed.

Lemma ratio_half q j : binomial_ratio half q j = (3 * (1 + 2 * j))%:R / (3 + 2 * q)%:R.
Proof.
have q0 : (3 + 2 * q)%:R != 0 :> R by rewrite pnatr_eq0.
rewrite natrD natrM in q0.
rewrite /binomial_ratio /half natrM natrD natrM (natrD _ 3) natrM; by field.
Qed.

Lemma gain_half q j : Num.max 0 (binomial_ratio half q j - 1) = (2 * (3 * j - q))%:R / (3 + 2 * q)%:R.
Proof.
have q0 : 0 < (3 + 2 * q)%:R :> R by rewrite ltr0n.
rewrite ratio_half -[X in _ - X](@divff R (3 + 2 * q)%:R) ?gt_eqF // -mulrBl.
case: (leqP q (3 * j)) => H.
  rewrite max_r; last by rewrite divr_ge0 ?(ltW q0) // subr_ge0 ler_nat mulnDr muln1 leq_add2l mulnCA leq_mul2l.
  by rewrite -natrB ?mulnDr ?muln1 ?subnDl ?mulnBr ?[(3 * (2 * j))%N]mulnCA // leq_add2l leq_mul2l.
rewrite max_l; first by rewrite (eqP (ltnW H : (3 * j - q == 0)%N)) muln0 mul0r.
by rewrite pmulr_lle0 ?invr_gt0 // subr_le0 ler_nat mulnDr muln1 leq_add2l mulnCA leq_mul2l ltnW.
Qed.

Lemma loss_half q j : Num.max 0 (1 - binomial_ratio half q j) = (2 * (q - 3 * j))%:R / (3 + 2 * q)%:R.
Proof.
have q0 : 0 < (3 + 2 * q)%:R :> R by rewrite ltr0n.
rewrite ratio_half -[X in X - _](@divff R (3 + 2 * q)%:R) ?gt_eqF // -mulrBl.
case: (leqP (3 * j) q) => H.
  rewrite max_r; last by rewrite divr_ge0 ?(ltW q0) // subr_ge0 ler_nat mulnDr muln1 leq_add2l mulnCA leq_mul2l.
  have le : (3 * (1 + 2 * j) <= 3 + 2 * q)%N by rewrite mulnDr muln1 leq_add2l mulnCA leq_mul2l.
  by rewrite -natrB // mulnDr muln1 subnDl mulnBr [(3 * (2 * j))%N]mulnCA.
rewrite max_l; first by rewrite (eqP (ltnW H : (q - 3 * j == 0)%N)) muln0 mul0r.
by rewrite pmulr_lle0 ?invr_gt0 // subr_le0 ler_nat mulnDr muln1 leq_add2l mulnCA leq_mul2l ltnW.
Qed.

Lemma binomial_halfE q j : (j <= q)%N -> binomial half q j = ('C(q, j) * 2 ^ (q - j))%:R / (3 ^ q)%:R.
Proof.
move=> jq; have n3 : 3%:R != 0 :> R by rewrite pnatr_eq0.
have h0 : half != 0 by rewrite /half invr_eq0 pnatr_eq0.
have h1 : half / (1 + half) = 3%:R^-1 by rewrite /half; field.
have h2 : 1 / (1 + half) = 2%:R / 3%:R by rewrite /half; field.
rewrite /binomial h1 h2 natrM !natrX exprVn expr_div_n mulrACA -invfM -exprD subnKC //.
Qed.

Lemma fraction_le (N d : nat) : (0 < d)%N -> (15 * N <= 4 * d)%N -> N%:R / d%:R <= 4%:R / 15%:R :> R.
Proof.
move=> d0 H; rewrite ler_pdivr_mulr ?ltr0n // mulrAC ler_pdivl_mulr ?ltr0n // -!natrM ler_nat.
by rewrite mulnC.
Qed.

Lemma binomial_half_sum q (f : nat -> nat) (g : nat -> R) : (forall j, g j = (f j)%:R / (3 + 2 * q)%:R) ->
  (15 * (\sum_(j < q.+1) 'C(q, j) * 2 ^ (q - j) * f j) <= 4 * (3 ^ q * (3 + 2 * q)))%N ->
  \sum_(j < q.+1) binomial half q j * g j <= 4%:R / 15%:R.
Proof.
move=> Hg H; apply: (le_trans _ (fraction_le _ H)); last by rewrite muln_gt0 expn_gt0.
rewrite natr_sum mulr_suml; apply: ler_sum => j _; rewrite binomial_halfE ?Hg; last by rewrite -ltnS.
by rewrite mulrACA -natrM -invfM -natrM.
Qed.

Lemma binomial_half q : (q <= 3)%N -> binomial_delta half 0 q <= 4%:R / 15%:R.
Proof.
move=> q3; rewrite /binomial_delta expR0 le_maxl; apply/andP; split.
  apply: (binomial_half_sum (gain_half q)).
  by case: q q3 => [|[|[|[|q]]]] // _; rewrite !big_ord_recl !big_ord0.
have lh j : Num.max 0 (1 - 1 * binomial_ratio half q j) = (2 * (q - 3 * j))%:R / (3 + 2 * q)%:R.
  by rewrite mul1r loss_half.
apply: (binomial_half_sum lh); move: {lh} q q3.
by case=> [|[|[|[|q]]]] // _; rewrite !big_ord_recl !big_ord0.
Qed.

Lemma readers_binary m t : all (@binary_rows R 3) (readers m t).
Proof.
have p i j : binary_rows (pair i j) by apply/forallP => k; rewrite mxE; case: ((val k == i) || (val k == j)); rewrite eqxx ?orbT.
by rewrite /readers !all_cat !all_nseq !p !orbT.
Qed.

Lemma half_gt0 : 0 < half.
Proof. by rewrite /half invr_gt0 ltr0n. Qed.
End Conjecture.

Theorem dp_delta_conjecture : DP_DELTA.
Proof.
move=> R H; pose M := @dpp_law R 3 _ (half_gt0 R).
have HM : samples M (fun D => dpp (kernel (half R) D)) by [].
have := H 3%N (half R) 0 (4%:R / 15%:R) M isT (half_gt0 R) (lexx 0) HM (@binomial_half R).
have nb : add_remove (@binary_rows R 3) (readers R 10 1) (readers R 10 0).
  split; first exact: readers_binary; split; first exact: readers_binary.
  by right; exists (pair R 0 1).
move=> /(_ _ _ nb [set setT]); rewrite !chance1 !HM full_after full_before expR0 mul1r -ler_subl_addl -mulrBr.
rewrite leNgt => /negP; apply.
have l1 : 31%:R / 50%:R <= 225%:R / 361%:R :> R.
  by rewrite ler_pdivr_mulr ?ltr0n // mulrAC ler_pdivl_mulr ?ltr0n // -!natrM ler_nat.
have l2 : 61%:R / 189%:R <= 13%:R / 40%:R :> R.
  by rewrite ler_pdivr_mulr ?ltr0n // mulrAC ler_pdivl_mulr ?ltr0n // -!natrM ler_nat.
apply: (@lt_le_trans _ _ (21%:R / 23%:R * (31%:R / 50%:R - 13%:R / 40%:R))); last first.
  by rewrite ler_pmul2l ?divr_gt0 ?ltr0n // ler_sub.
rewrite -subr_gt0 [X in 0 < X](_ : _ = 37%:R / 2760%:R / 5%:R); last by field.
by rewrite !divr_gt0 ?ltr0n.
Qed.
