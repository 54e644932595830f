(* The determinantal point process: its law, the change by one more row, and its exact epsilon. *)
From Dpassay Require Import Prelude Statements Determinant.
Import Statements.Determinantal.

Section Privacy.
Variables (R : realType) (D : Type) (T : finType) (nb : D -> D -> Prop) (M : D -> law R T).

Lemma dp_pointwise e : (forall x y, nb x y -> forall t, pr (M x) t <= expR e * pr (M y) t) -> dp nb e M.
Proof.
by move=> H x y nxy E; rewrite addr0 /chance mulr_sumr; apply: ler_sum => t _; exact: H.
Qed.

Lemma chance1 (mu : law R T) t : chance mu [set t] = pr mu t.
Proof. by rewrite /chance big_set1. Qed.

Lemma dp_ratio e x y t c : dp nb e M -> nb x y -> 0 < pr (M y) t -> c * pr (M y) t <= pr (M x) t -> c <= expR e.
Proof.
move=> H nxy p0 Hc; have := H _ _ nxy [set t]; rewrite addr0 !chance1 => H1.
by rewrite -(ler_pmul2r p0); apply: le_trans Hc H1.
Qed.

Lemma ln_le_expR (c e : R) : 0 < c -> (ln c <= e) = (c <= expR e).
Proof. by move=> c0; rewrite -[in RHS](@lnK R c) ?ler_expR // posrE. Qed.
End Privacy.

Section OneMore.
Variable R : realType.
Implicit Type n : nat.

Lemma minor_gt0 n c (L : 'M[R]_n) Y : 0 < c -> above c L -> 0 < minor L Y.
Proof. by move=> c0 H; apply: (above_det_gt0 c0); exact: above_sub. Qed.

Lemma total_gt0 n c (L : 'M[R]_n) : 0 < c -> above c L -> 0 < \det (L + 1%:M).
Proof. by move=> c0 H; apply: (above_det_gt0 _ (above_add1 H)); rewrite addr_gt0 ?ltr01. Qed.

Lemma dpp_gt0 n c (L : 'M[R]_n) Y : 0 < c -> above c L -> 0 < dpp L Y.
Proof. by move=> c0 H; rewrite divr_gt0 ?(minor_gt0 _ c0 H) ?(total_gt0 c0 H). Qed.

Lemma dpp_sum1 n c (L : 'M[R]_n) : 0 < c -> above c L -> \sum_Y dpp L Y = 1.
Proof. by move=> c0 H; rewrite -mulr_suml sum_minor divff // gt_eqF // (total_gt0 c0 H). Qed.

Section Gain.
Variables (n : nat) (c : R) (L : 'M[R]_n) (x : 'rV[R]_n).
Hypotheses (c0 : 0 < c) (HL : above c L).

(* x_Y L_Y^-1 x_Y' and x (L + I)^-1 x'. *)
Definition gainY Y := gain (sub Y L) (subrow Y x).
Definition loss := gain (L + 1%:M) x.

Lemma gainY_ge0 Y : 0 <= gainY Y.
Proof. exact: gain_ge0 c0 (above_sub Y HL) _. Qed.
Lemma gainY_le Y : gainY Y <= gain L x.
Proof. exact: gain_sub_le c0 HL. Qed.
Lemma loss_ge0 : 0 <= loss.
Proof. by apply: (gain_ge0 _ (above_add1 HL)); rewrite addr_gt0 ?ltr01. Qed.
Lemma loss_le : loss <= norm2 x / (1 + c).
Proof. by apply: (gain_le _ (above_add1 HL)); rewrite addr_gt0 ?ltr01. Qed.
Lemma loss_ge : c / (1 + c) * gain L x <= loss.
Proof. exact: gain_add1_ge. Qed.

Lemma minor_row Y : minor (L + x^T *m x) Y = minor L Y * (1 + gainY Y).
Proof.
rewrite /minor -[mxsub _ _ _]/(sub Y _) sub_row1 det_row1 //.
exact: above_unit c0 (above_sub Y HL).
Qed.

Lemma total_row : \det (L + x^T *m x + 1%:M) = \det (L + 1%:M) * (1 + loss).
Proof.
rewrite addrAC det_row1 //; apply: (above_unit _ (above_add1 HL)).
by rewrite addr_gt0 ?ltr01.
Qed.

Lemma dpp_row Y : dpp (L + x^T *m x) Y = dpp L Y * ((1 + gainY Y) / (1 + loss)).
Proof. by rewrite /dpp minor_row total_row invfM mulrACA. Qed.

Variable N : R.
Hypothesis HN : norm2 x <= N.

Let N0 : 0 <= N. Proof. exact: le_trans (norm2_ge0 _) HN. Qed.
Let c1 : 0 < 1 + c. Proof. by rewrite addr_gt0 ?ltr01. Qed.

Lemma loss_leN : loss <= N / (1 + c).
Proof. by apply: le_trans loss_le _; rewrite ler_wpmul2r // invr_ge0 ltW. Qed.
Lemma gain_leN : gain L x <= N / c.
Proof. by apply: le_trans (gain_le c0 HL _) _; rewrite ler_wpmul2r // invr_ge0 ltW. Qed.

Lemma dpp_up Y : dpp (L + x^T *m x) Y <= (1 + N / c) / (1 + N / (1 + c)) * dpp L Y.
Proof.
rewrite dpp_row mulrC ler_pmul2r ?(dpp_gt0 Y c0 HL) //.
have d0 : 0 < 1 + N / (1 + c) by rewrite ltr_paddr ?ltr01 // divr_ge0 // ltW.
have l0 : 0 < 1 + loss by rewrite ltr_paddr ?ltr01 ?loss_ge0.
rewrite ler_pdivr_mulr // mulrAC ler_pdivl_mulr //.
apply: (@le_trans _ _ ((1 + gain L x) * (1 + N / (1 + c)))).
  by rewrite ler_pmul2r // ler_add2l gainY_le.
apply: (@le_trans _ _ ((1 + N / c) * (1 + c / (1 + c) * gain L x))); last first.
  by rewrite ler_pmul2l ?ler_add2l ?loss_ge // ltr_paddr ?ltr01 // divr_ge0 // ltW.
rewrite -subr_ge0 (_ : _ - _ = (N / c - gain L x) / (1 + c)).
  by rewrite divr_ge0 ?subr_ge0 ?gain_leN // ltW.
by field; rewrite !gt_eqF.
Qed.

Lemma dpp_down Y : dpp L Y <= (1 + N / (1 + c)) * dpp (L + x^T *m x) Y.
Proof.
have l0 : 0 < 1 + loss by rewrite ltr_paddr ?ltr01 ?loss_ge0.
rewrite dpp_row mulrCA -[X in X <= _]mulr1 ler_pmul2l ?(dpp_gt0 Y c0 HL) //.
rewrite mulrA ler_pdivl_mulr // mul1r -[X in X <= _]mulr1 ler_pmul //.
- by rewrite ltW.
- exact: ler01.
- by rewrite ler_add2l loss_leN.
- by rewrite ler_addl gainY_ge0.
Qed.
End Gain.

Lemma above_kernel n s (D : seq 'rV[R]_n) : above s (kernel s D).
Proof.
split=> [|v].
  rewrite /kernel linearD /= tr_scalar_mx linear_sum; congr (_ + _).
  by apply: eq_bigr => x _; rewrite /= trmx_mul trmxK.
rewrite bilDm bil_scalar dot_norm ler_addl /bil mulmx_sumr mulmx_suml summxE sumr_ge0 // => x _.
rewrite mulmxA -[(v *m _ *m _) *m _]mulmxA mxE big_ord1.
rewrite (_ : (x *m v^T) 0 0 = (v *m x^T) 0 0); first by rewrite -expr2 sqr_ge0.
by rewrite -/(dot x v) dotC.
Qed.

Lemma kernel_cons n s x (D : seq 'rV[R]_n) : kernel s (x :: D) = kernel s D + x^T *m x.
Proof. by rewrite /kernel big_cons addrCA addrC. Qed.

Lemma kernel_nil n s : kernel s [::] = s%:M :> 'M[R]_n.
Proof. by rewrite /kernel big_nil addr0. Qed.

Lemma kernel_perm n s (D E : seq 'rV[R]_n) : perm_eq D E -> kernel s D = kernel s E.
Proof. by move=> p; rewrite /kernel (perm_big _ p). Qed.

Lemma kernel_more n s (D E : seq 'rV[R]_n) rows : one_more D E -> all rows E ->
  exists2 x, rows x & kernel s E = kernel s D + x^T *m x.
Proof.
move=> [x p] a; exists x; last by rewrite (kernel_perm s p) kernel_cons.
by move: a; rewrite (perm_all _ p) /= => /andP[].
Qed.

Definition dpp_law n s (s0 : 0 < s) (D : seq 'rV[R]_n) : law R (subset_of n) :=
  Law (fun Y => ltW (dpp_gt0 Y s0 (above_kernel s D))) (dpp_sum1 s0 (above_kernel s D)).

(* The empty dataset and one row. *)
Lemma gain_scalar n c (x : 'rV[R]_n) : c != 0 -> gain c%:M x = norm2 x / c.
Proof. by move=> c0; rewrite /gain invmx_scalar bil_scalar dot_norm mulrC. Qed.

Lemma gainT n (L : 'M[R]_n) c x : 0 < c -> above c L -> gainY L x setT = gain L x.
Proof.
move=> c0 H; apply/eqP; rewrite eq_le (gainY_le _ c0 H) /=.
have H2 : minor L setT * (1 + gainY L x setT) = \det L * (1 + gain L x).
  by rewrite -(minor_row _ c0 H) minorT det_row1 // (above_unit c0 H).
move: H2; rewrite minorT => /(mulfI (above_det_neq0 c0 H))/addrI ->.
exact: lexx.
Qed.

Lemma gain0 n (L : 'M[R]_n) c x : 0 < c -> above c L -> gainY L x set0 = 0.
Proof.
move=> c0 H; have := minor_row x c0 H set0; rewrite !minor0 mul1r.
by move/eqP; rewrite addrC -subr_eq subrr => /eqP.
Qed.

Lemma above_scalar n c : above c (c%:M : 'M[R]_n).
Proof. by split; [exact: tr_scalar_mx | move=> v; rewrite bil_scalar dot_norm]. Qed.

Lemma loss_scalar n s (x : 'rV[R]_n) : 0 < s -> loss s%:M x = norm2 x / (1 + s).
Proof. by move=> s0; rewrite /loss -raddfD /= addrC gain_scalar // gt_eqF // addr_gt0 ?ltr01. Qed.

Section Exact.
Variables (n : nat) (s N : R) (rows : pred 'rV[R]_n) (r : 'rV[R]_n).
Hypotheses (s0 : 0 < s) (rowsN : forall x, rows x -> norm2 x <= N) (rowr : rows r) (rN : norm2 r = N).

Let N0 : 0 <= N. Proof. by rewrite -rN norm2_ge0. Qed.
Let s1 : 0 < 1 + s. Proof. by rewrite addr_gt0 ?ltr01. Qed.
Definition up : R := (1 + N / s) / (1 + N / (1 + s)).
Definition down : R := 1 + N / (1 + s).
Let down0 : 0 < down. Proof. by rewrite ltr_paddr ?ltr01 // divr_ge0 // ltW. Qed.
Let top0 : 0 < 1 + N / s. Proof. by rewrite ltr_paddr ?ltr01 // divr_ge0 // ltW. Qed.
Let up0 : 0 < up. Proof. exact: divr_gt0 top0 down0. Qed.

Lemma epsilon_starE e : (epsilon_star s N <= e) = (up <= expR e) && (down <= expR e).
Proof. by rewrite /epsilon_star -ln_div ?posrE // le_maxl !ln_le_expR. Qed.

Lemma dpp_ratio e D E Y : up <= expR e -> down <= expR e -> add_remove rows D E ->
  dpp (kernel s D) Y <= expR e * dpp (kernel s E) Y.
Proof.
move=> He1 He2 [aD [aE [/kernel_more m|/kernel_more m]]].
- have [x /rowsN xN ->] := m s _ aE; apply: le_trans (dpp_down s0 (above_kernel s D) xN Y) _.
  rewrite ler_wpmul2r // -kernel_cons; exact: ltW (dpp_gt0 Y s0 (above_kernel _ _)).
- have [x /rowsN xN ->] := m s _ aD; apply: le_trans (dpp_up s0 (above_kernel s E) xN Y) _.
  rewrite ler_wpmul2r //; exact: ltW (dpp_gt0 Y s0 (above_kernel _ _)).
Qed.

Lemma add_remove1 : add_remove rows [::] [:: r] /\ add_remove rows [:: r] [::].
Proof.
have H : one_more [::] [:: r] by exists r.
by split; split; rewrite //= ?rowr //; split; rewrite //= ?rowr //; [left | right].
Qed.

Lemma dpp_full : dpp (kernel s [:: r]) setT = up * dpp (kernel s [::] : 'M_n) setT.
Proof.
rewrite kernel_cons kernel_nil (dpp_row _ s0 (above_scalar n s)) mulrC (gainT _ s0 (above_scalar n s)).
by rewrite loss_scalar // gain_scalar ?rN ?gt_eqF.
Qed.

Lemma dpp_empty : dpp (kernel s [::] : 'M_n) set0 = down * dpp (kernel s [:: r]) set0.
Proof.
rewrite kernel_cons kernel_nil (dpp_row _ s0 (above_scalar n s)) (gain0 _ s0 (above_scalar n s)) addr0.
by rewrite loss_scalar // rN -/down mul1r mulrCA divff ?mulr1 // gt_eqF.
Qed.

Lemma dpp_exact (M : seq 'rV[R]_n -> law R (subset_of n)) : samples M (fun D => dpp (kernel s D)) ->
  exactly_dp (add_remove rows) (epsilon_star s N) M.
Proof.
move=> HM e; rewrite epsilon_starE; split=> [H|/andP[H1 H2]]; last first.
  by apply: dp_pointwise => D E DE Y; rewrite !HM dpp_ratio.
have [n1 n2] := add_remove1.
apply/andP; split.
  apply: (dp_ratio H n2 (t := setT)); rewrite !HM ?(dpp_gt0 _ s0 (above_kernel _ _)) //.
  by rewrite dpp_full.
apply: (dp_ratio H n1 (t := set0)); rewrite !HM ?(dpp_gt0 _ s0 (above_kernel _ _)) //.
by rewrite dpp_empty.
Qed.
End Exact.

(* The rows that attain the bound. *)
Definition axis n (B : R) : 'rV[R]_n.+1 := B *: delta_mx 0 0.
Lemma norm_axis n B : norm2 (axis n B) = B ^+ 2.
Proof.
rewrite /norm2 big_ord_recl big1 ?addr0 => [|i _]; first by rewrite !mxE mulr1.
by rewrite !mxE mulr0 expr0n.
Qed.

Lemma norm_binary n (x : 'rV[R]_n) : binary_rows x -> norm2 x <= n%:R.
Proof.
move=> /forallP b; apply: (@le_trans _ _ (\sum_(i < n) 1)); last by rewrite sumr_const card_ord.
by apply: ler_sum => i _; case/orP: (b i) => /eqP ->; rewrite ?expr0n ?expr1n ?ler01 ?lexx.
Qed.

Lemma norm_ones n : norm2 (const_mx 1 : 'rV[R]_n) = n%:R.
Proof. by rewrite /norm2; under eq_bigr do rewrite mxE expr1n; rewrite sumr_const card_ord. Qed.

Lemma binary_ones n : binary_rows (const_mx 1 : 'rV[R]_n).
Proof. by apply/forallP => i; rewrite mxE eqxx orbT. Qed.

End OneMore.

Theorem dp_eps_rep : DP_EPS_REP.
Proof.
move=> R n s B s0; exists (dpp_law s0) => //; split=> [n0|].
  case: n n0 => // n _; apply: (@dpp_exact _ _ _ _ _ (axis n B)) => //.
    by rewrite /real_rows norm_axis.
  exact: norm_axis.
apply: (@dpp_exact _ _ _ _ _ (const_mx 1)) => //.
- exact: norm_binary.
- exact: binary_ones.
- exact: norm_ones.
Qed.
