(* A subject replaced; T draws. *)
From Dpassay Require Import Prelude Statements Determinant Determinantal Curve.
Import Statements.Determinantal.

Section Replace.
Variables (R : realType) (n : nat) (s N : R).
Hypotheses (s0 : 0 < s) (N0 : 0 <= N).
Let s1 : 0 < 1 + s. Proof. by rewrite addr_gt0 ?ltr01. Qed.

Lemma up_down : up s N * down s N = 1 + N / s.
Proof.
have d0 : 0 < 1 + N / (1 + s) by rewrite ltr_paddr ?ltr01 // divr_ge0 // ltW.
by rewrite /up /down divfK // gt_eqF.
Qed.

Lemma dpp_replace (C : seq 'rV[R]_n) x z Y : norm2 x <= N -> norm2 z <= N ->
  dpp (kernel s (x :: C)) Y <= (1 + N / s) * dpp (kernel s (z :: C)) Y.
Proof.
move=> xN zN; rewrite -up_down -mulrA kernel_cons.
apply: le_trans (dpp_up s0 (above_kernel s C) xN Y) _.
rewrite ler_wpmul2l; last by rewrite kernel_cons (dpp_down s0 (above_kernel s C) zN Y).
  by [].
by rewrite !(divr_ge0, addr_ge0, ler01) // ltW.
Qed.
End Replace.

Theorem dp_replace_rep : DP_REPLACE_REP.
Proof.
move=> R n s B s0 n2; exists (dpp_law s0) => //.
have N0 := sqr_ge0 B; have top0 : 0 < 1 + B ^+ 2 / s by rewrite ltr_paddr ?ltr01 // divr_ge0 // ltW.
move=> e; rewrite ln_le_expR //; split=> [H|He].
  case: n n2 H => [|[|n]] // _ H.
  pose z : 'rV[R]_n.+2 := B *: delta_mx 0 1.
  have zN : norm2 z = B ^+ 2.
    rewrite /norm2 (bigD1 1) //= big1 ?addr0 => [|i /negbTE i1]; first by rewrite !mxE eqxx mulr1.
    by rewrite !mxE i1 andbF mulr0 expr0n.
  have nb : replace (@real_rows R n.+2 (B ^+ 2)) [:: axis n.+1 B] [:: z].
    split; first by rewrite /= /real_rows norm_axis lexx.
    split; first by rewrite /= /real_rows zN lexx.
    by exists [::], (axis n.+1 B), z.
  apply: (dp_ratio H nb (t := [set 0])) => /=; first exact: dpp_gt0 s0 (above_kernel _ _).
  rewrite !kernel_cons !kernel_nil !(dpp_row _ s0 (above_scalar _ _)) !loss_scalar // norm_axis zN.
  rewrite gainY_axis // !inE eqxx mul1r.
  have -> : gainY s%:M z [set 0] = 0.
    by rewrite /gainY sub_scalar gain_scalar ?gt_eqF // norm_sub big_set1 !mxE mulr0 expr0n mul0r.
  by rewrite addr0 mulrCA mul1r.
apply: dp_pointwise => D E [aD [aE [C [x [z [pD pE]]]]]] Y /=.
move: aD aE; rewrite (perm_all _ pD) (perm_all _ pE) (kernel_perm s pD) (kernel_perm s pE).
move=> /andP[xN _] /andP[zN _]; apply: le_trans (dpp_replace s0 N0 C Y xN zN) _.
by rewrite ler_wpmul2r // ltW // (dpp_gt0 _ s0 (above_kernel _ _)).
Qed.

Section Draws.
Variables (R : realType) (n T : nat).
Implicit Type p : {set 'I_n} -> R.

Lemma draws_ge0 p : (forall Y, 0 <= p Y) -> forall Ys, 0 <= @draws R n T p Ys.
Proof. by move=> p0 Ys; apply: prodr_ge0. Qed.

Lemma draws_sum1 p : \sum_Y p Y = 1 -> \sum_Ys @draws R n T p Ys = 1.
Proof.
move=> p1; rewrite /draws -(bigA_distr_bigA (fun=> p)) /=.
by rewrite p1 prodr_const expr1n.
Qed.

Lemma draws_const p Y : @draws R n T p [ffun=> Y] = p Y ^+ T.
Proof. by rewrite /draws; under eq_bigr do rewrite ffunE; rewrite prodr_const card_ord. Qed.

Lemma draws_le p p' c : 0 <= c -> (forall Y, 0 <= p Y) -> (forall Y, p Y <= c * p' Y) ->
  forall Ys, @draws R n T p Ys <= c ^+ T * @draws R n T p' Ys.
Proof.
move=> c0 p0 H Ys; rewrite /draws -[in c ^+ T](card_ord T) -prodr_const -big_split /=.
by apply: ler_prod => t _; rewrite p0 H.
Qed.

Section Exact.
Variables (s N : R) (rows : pred 'rV[R]_n) (r : 'rV[R]_n).
Hypotheses (s0 : 0 < s) (rowsN : forall x, rows x -> norm2 x <= N) (rowr : rows r) (rN : norm2 r = N).
Let N0 : 0 <= N. Proof. by rewrite -rN norm2_ge0. Qed.
Let s1 : 0 < 1 + s. Proof. by rewrite addr_gt0 ?ltr01. Qed.
Let down0 : 0 < down s N. Proof. by rewrite ltr_paddr ?ltr01 // divr_ge0 // ltW. Qed.
Let top0 : 0 < 1 + N / s. Proof. by rewrite ltr_paddr ?ltr01 // divr_ge0 // ltW. Qed.
Let up0 : 0 < up s N. Proof. exact: divr_gt0 top0 down0. Qed.
Let p0 D Y : 0 <= dpp (kernel s D : 'M_n) Y. Proof. exact: ltW (dpp_gt0 _ s0 (above_kernel _ _)). Qed.

Lemma draws_exact (M : seq 'rV[R]_n -> law R (subsets_of n T)) : samples M (fun D => draws (dpp (kernel s D))) ->
  exactly_dp (add_remove rows) (T%:R * epsilon_star s N) M.
Proof.
move=> HM e.
have -> : (T%:R * epsilon_star s N <= e) = (up s N ^+ T <= expR e) && (down s N ^+ T <= expR e).
  rewrite /epsilon_star -ln_div ?posrE // maxr_pmulr ?ler0n // le_maxl !mulr_natl -!lnX //.
  by rewrite !ln_le_expR ?exprn_gt0.
have [n1 n2] := add_remove1 rowr.
split=> [H|/andP[H1 H2]].
  apply/andP; split.
    apply: (dp_ratio H n2 (t := [ffun=> setT])); rewrite !HM !draws_const.
      by rewrite exprn_gt0 // (dpp_gt0 _ s0 (above_kernel _ _)).
    by rewrite (dpp_full s0 rN) -exprMn.
  apply: (dp_ratio H n1 (t := [ffun=> set0])); rewrite !HM !draws_const.
    by rewrite exprn_gt0 // (dpp_gt0 _ s0 (above_kernel _ _)).
  by rewrite (dpp_empty s0 rN) -exprMn.
apply: dp_pointwise => D E [aD [aE [/kernel_more m|/kernel_more m]]] Ys; rewrite !HM.
- have [x /rowsN xN ->] := m s _ aE.
  apply: le_trans (draws_le (ltW down0) (@p0 D) (dpp_down s0 (above_kernel s D) xN) Ys) _.
  rewrite ler_wpmul2r // draws_ge0 // => Y; rewrite -kernel_cons; exact: p0.
- have [x /rowsN xN ->] := m s _ aD.
  apply: le_trans (draws_le (ltW up0) _ (dpp_up s0 (above_kernel s E) xN) Ys) _.
    by move=> Y; rewrite -kernel_cons; exact: p0.
  rewrite ler_wpmul2r // draws_ge0 //.
Qed.
End Exact.
End Draws.

Lemma epsilon_star_gt0 (R : realType) (s N : R) : 0 < s -> 0 < N -> 0 < epsilon_star s N.
Proof.
by move=> s0 N0; rewrite /epsilon_star lt_maxr (@ln_gt0 _ (1 + _)) ?orbT // ltr_addl divr_gt0 // addr_gt0 ?ltr01.
Qed.

Definition draws_law (R : realType) n (s : R) (s0 : 0 < s) T (D : seq 'rV[R]_n) : law R (subsets_of n T) :=
  Law (@draws_ge0 R n T _ (fun Y => ltW (dpp_gt0 Y s0 (above_kernel s D))))
      (@draws_sum1 R n T _ (dpp_sum1 s0 (above_kernel s D))).

Theorem dp_fut : DP_FUT.
Proof.
move=> R n s B s0 B0 n0; exists (draws_law s0) => // rows Hrows.
have N0 : 0 < B ^+ 2 by rewrite exprn_gt0.
have inc N T : 0 < N -> T%:R * epsilon_star s N < T.+1%:R * epsilon_star s N.
  by move=> H; rewrite ltr_pmul2r ?ltr_nat // epsilon_star_gt0.
case: Hrows => -> {rows}.
  exists (fun T => T%:R * epsilon_star s (B ^+ 2)) => T; last exact: inc.
  case: n n0 => // n _; apply: (@draws_exact _ _ _ _ _ _ (axis n B)) => //.
    by rewrite /real_rows norm_axis.
  exact: norm_axis.
exists (fun T => T%:R * epsilon_star s n%:R) => T; last by apply: inc; rewrite ltr0n.
apply: (@draws_exact _ _ _ _ _ _ (const_mx 1)) => //.
- exact: norm_binary.
- exact: binary_ones.
- exact: norm_ones.
Qed.
