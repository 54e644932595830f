(* The determinantal process of fixed size. *)
From Dpassay Require Import Prelude Statements Determinant Determinantal Curve Variants.
Import Statements.Determinantal.

Section FixedSize.
Variables (R : realType) (n k : nat).
Hypothesis kn : (k <= n)%N.
Implicit Types Y Z : {set 'I_n}.

Lemma subset_size (A : {set 'I_n}) m : (m <= #|A|)%N -> exists2 Z : {set 'I_n}, Z \subset A & #|Z| = m.
Proof.
rewrite -bin_gt0 -cards_draws card_gt0 => /set0Pn[Z]; rewrite inE => /andP[ZA /eqP Zm].
by exists Z.
Qed.

Definition ktotal (L : 'M[R]_n) : R := \sum_(Z : {set 'I_n} | #|Z| == k) minor L Z.

Lemma kdppE (L : 'M[R]_n) Y : #|Y| = k -> kdpp k L Y = minor L Y / ktotal L.
Proof. by rewrite /kdpp => /eqP ->. Qed.

Lemma kdpp_out (L : 'M[R]_n) Y : #|Y| != k -> kdpp k L Y = 0.
Proof. by rewrite /kdpp => /negbTE ->. Qed.

Section Law.
Variables (c : R) (L : 'M[R]_n).
Hypotheses (c0 : 0 < c) (HL : above c L).

Lemma ktotal_ge Z : #|Z| = k -> minor L Z <= ktotal L.
Proof.
move=> /eqP Zk; rewrite /ktotal (bigD1 Z) //= ler_addl sumr_ge0 // => Y _.
exact: ltW (minor_gt0 _ c0 HL).
Qed.

Lemma ktotal_gt0 : 0 < ktotal L.
Proof.
have [|Z _ Zk] := @subset_size setT k; first by rewrite cardsT card_ord.
exact: lt_le_trans (minor_gt0 Z c0 HL) (ktotal_ge Zk).
Qed.

Lemma kdpp_gt0 Y : #|Y| = k -> 0 < kdpp k L Y.
Proof. by move=> Yk; rewrite kdppE // divr_gt0 ?ktotal_gt0 ?(minor_gt0 _ c0 HL). Qed.

Lemma kdpp_ge0 Y : 0 <= kdpp k L Y.
Proof. by case: (eqVneq #|Y| k) => Yk; [rewrite ltW // kdpp_gt0 | rewrite kdpp_out]. Qed.

Lemma kdpp_sum (f : {set 'I_n} -> R) : \sum_Y kdpp k L Y * f Y = (\sum_(Y : {set 'I_n} | #|Y| == k) minor L Y * f Y) / ktotal L.
Proof.
rewrite (bigID (fun Y : {set 'I_n} => #|Y| == k)) /= [X in _ + X]big1 ?addr0; last first.
  by move=> Y Yk; rewrite kdpp_out ?mul0r.
by rewrite mulr_suml; apply: eq_bigr => Y /eqP Yk; rewrite kdppE // mulrAC.
Qed.

Lemma kdpp_sum1 : \sum_Y kdpp k L Y = 1.
Proof.
have := kdpp_sum (fun=> 1); under eq_bigr do rewrite mulr1; move=> ->.
by under eq_bigr do rewrite mulr1; rewrite divff // gt_eqF // ktotal_gt0.
Qed.

Section Row.
Variable x : 'rV[R]_n.
Definition average : R := \sum_Y kdpp k L Y * gainY L x Y.

Lemma ktotal_row : ktotal (L + x^T *m x) = ktotal L * (1 + average).
Proof.
rewrite /average kdpp_sum mulrDr mulr1 mulrCA divff ?mulr1 ?gt_eqF ?ktotal_gt0 // -big_split /=.
by apply: eq_bigr => Y _; rewrite (minor_row _ c0 HL) mulrDr mulr1.
Qed.

Lemma average_ge0 : 0 <= average.
Proof. by apply: sumr_ge0 => Y _; rewrite mulr_ge0 ?kdpp_ge0 // (gainY_ge0 _ c0 HL). Qed.

Lemma kdpp_row Y : kdpp k (L + x^T *m x) Y = kdpp k L Y * ((1 + gainY L x Y) / (1 + average)).
Proof.
case: (eqVneq #|Y| k) => Yk; last by rewrite !kdpp_out // mul0r.
by rewrite kdppE // [in RHS]kdppE // (minor_row _ c0 HL) ktotal_row invfM mulrACA.
Qed.

Variable A : R.
Hypotheses (A0 : 0 <= A) (HA : forall Y, #|Y| = k -> gainY L x Y <= A).
Let a1 : 0 < 1 + average. Proof. by rewrite ltr_paddr ?ltr01 ?average_ge0. Qed.
Let A1 : 0 < 1 + A. Proof. by rewrite ltr_paddr ?ltr01. Qed.

Lemma average_le : average <= A.
Proof.
rewrite -[A]mul1r -kdpp_sum1 mulr_suml; apply: ler_sum => Y _.
case: (eqVneq #|Y| k) => Yk; last by rewrite !kdpp_out // !mul0r.
by rewrite ler_wpmul2l ?kdpp_ge0 // HA.
Qed.

Lemma average_ge Y : kdpp k L Y * gainY L x Y <= average.
Proof.
rewrite /average (bigD1 Y) //= ler_addl sumr_ge0 // => Z _.
by rewrite mulr_ge0 ?kdpp_ge0 // (gainY_ge0 _ c0 HL).
Qed.

Lemma kdpp_up Y : kdpp k (L + x^T *m x) Y <= (1 + A) * kdpp k L Y.
Proof.
case: (eqVneq #|Y| k) => Yk; last by rewrite !kdpp_out // mulr0.
rewrite kdpp_row mulrC ler_wpmul2r ?kdpp_ge0 // ler_pdivr_mulr //.
rewrite -[X in X <= _]mulr1 ler_pmul ?ler01 //.
- by rewrite addr_ge0 ?ler01 // (gainY_ge0 _ c0 HL).
- by rewrite ler_add2l HA.
- by rewrite ler_addl average_ge0.
Qed.

Lemma kdpp_down Y : kdpp k L Y <= (1 + A) * kdpp k (L + x^T *m x) Y.
Proof.
case: (eqVneq #|Y| k) => Yk; last by rewrite !kdpp_out // mulr0.
rewrite kdpp_row mulrCA -[X in X <= _]mulr1 ler_wpmul2l ?kdpp_ge0 //.
rewrite mulrA ler_pdivl_mulr // mul1r -[X in X <= _]mulr1 ler_pmul ?ler01 //; first exact: ltW.
- by rewrite ler_add2l average_le.
- by rewrite ler_addl (gainY_ge0 _ c0 HL).
Qed.

Hypothesis A_gt0 : 0 < A.

Lemma kdpp_up_strict Y : #|Y| = k -> kdpp k (L + x^T *m x) Y < (1 + A) * kdpp k L Y.
Proof.
move=> Yk; rewrite kdpp_row mulrC ltr_pmul2r ?kdpp_gt0 // ltr_pdivr_mulr //.
have := HA Yk; rewrite le_eqVlt => /orP[/eqP E|lt].
  rewrite E -[X in X < _]mulr1 ltr_pmul2l // ltr_addl.
  apply: lt_le_trans (average_ge Y); rewrite E mulr_gt0 // kdpp_gt0 //.
apply: (@lt_le_trans _ _ (1 + A)); first by rewrite ltr_add2l.
by rewrite -[X in X <= _]mulr1 ler_pmul2l // ler_addl average_ge0.
Qed.

Lemma kdpp_down_strict Y : #|Y| = k -> kdpp k L Y < (1 + A) * kdpp k (L + x^T *m x) Y.
Proof.
move=> Yk; rewrite kdpp_row mulrCA -[X in X < _]mulr1 ltr_pmul2l ?kdpp_gt0 //.
rewrite mulrA ltr_pdivl_mulr // mul1r.
have := HA Yk; rewrite le_eqVlt => /orP[/eqP E|lt].
  apply: (@le_lt_trans _ _ (1 + A)); first by rewrite ler_add2l average_le.
  by rewrite -[X in X < _]mulr1 ltr_pmul2l // E ltr_addl.
have g0 := gainY_ge0 x c0 HL Y.
apply: (@lt_le_trans _ _ (1 + A)); last by rewrite -[X in X <= _]mulr1 ler_pmul2l // ler_addl.
rewrite ltr_add2l /average -[X in _ < X]mul1r -kdpp_sum1 mulr_suml.
rewrite [X in X < _](bigD1 Y) //= [X in _ < X](bigD1 Y) //= ltr_le_add //.
  by rewrite ltr_pmul2l ?kdpp_gt0.
apply: ler_sum => Z _; case: (eqVneq #|Z| k) => Zk; last by rewrite !kdpp_out // !mul0r.
by rewrite ler_wpmul2l ?kdpp_ge0 // HA.
Qed.
End Row.
End Law.

Definition kdpp_law s (s0 : 0 < s) (D : seq 'rV[R]_n) : law R (subset_of n) :=
  Law (kdpp_ge0 s0 (above_kernel s D)) (kdpp_sum1 s0 (above_kernel s D)).

Section Upper.
Variables (s A : R) (rows : pred 'rV[R]_n) (M : seq 'rV[R]_n -> law R (subset_of n)).
Hypotheses (s0 : 0 < s) (A0 : 0 <= A) (HM : samples M (fun D => kdpp k (kernel s D))).
Hypothesis HA : forall D x Y, rows x -> #|Y| = k -> gainY (kernel s D) x Y <= A.

Lemma kdpp_ratio D E Y : add_remove rows D E -> pr (M D) Y <= (1 + A) * pr (M E) Y.
Proof.
rewrite !HM => -[aD [aE [/kernel_more m|/kernel_more m]]].
- have [x xr ->] := m s _ aE; apply: (kdpp_down s0 (above_kernel _ _)) => Z; exact: HA.
- have [x xr ->] := m s _ aD; apply: (kdpp_up s0 (above_kernel _ _)) => Z; exact: HA.
Qed.

Lemma kdpp_strict D E Y : 0 < A -> add_remove rows D E -> #|Y| = k -> pr (M D) Y < (1 + A) * pr (M E) Y.
Proof.
rewrite !HM => A1 [aD [aE [/kernel_more m|/kernel_more m]]] Yk.
- have [x xr ->] := m s _ aE; apply: (kdpp_down_strict s0 (above_kernel _ _) A0) => // Z; exact: HA.
- have [x xr ->] := m s _ aD; apply: (kdpp_up_strict s0 (above_kernel _ _) A0) => // Z; exact: HA.
Qed.
End Upper.

(* A dataset with many readers of each item outside S, and one of S joins. *)
Section Lower.
Variables (s c : R) (S : {set 'I_n}) (x : 'rV[R]_n) (rows : pred 'rV[R]_n) (M : seq 'rV[R]_n -> law R (subset_of n)).
Hypotheses (s0 : 0 < s) (c0 : 0 < c) (HM : samples M (fun D => kdpp k (kernel s D))).
Hypotheses (k0 : (0 < k)%N) (Sk : (#|S| <= k)%N) (kS : (k <= #|~: S|)%N) (xS : forall i, i \notin S -> x 0 i = 0).
Hypotheses (rowx : rows x) (rowc : forall j, rows (c *: delta_mx 0 j)).

Definition heavy (m : nat) : seq 'rV[R]_n := flatten [seq nseq m (c *: delta_mx 0 j) | j <- enum (~: S)].
Definition diagonal (m : nat) : 'rV[R]_n := \row_j (s + (j \notin S)%:R * (c ^+ 2 *+ m)).

Lemma heavy_rows m : all rows (heavy m).
Proof.
apply/allP => y /flattenP[t /mapP[j _ ->]]; rewrite mem_nseq => /andP[_ /eqP ->]; exact: rowc.
Qed.

Lemma kernel_heavy m : kernel s (heavy m) = diag_mx (diagonal m).
Proof.
rewrite /kernel /heavy big_flatten big_map.
rewrite (eq_bigr (fun j => (c ^+ 2 *+ m) *: delta_mx j j)); last first.
  move=> j _; rewrite big_nseq iter_addr_0 [(c *: _)^T]linearZ /= trmx_delta -scalemxAl -scalemxAr scalerA -expr2 mul_delta_mx.
  by rewrite scalerMnl.
rewrite big_enum /=; apply/matrixP => i j; rewrite !mxE summxE.
case: (eqVneq i j) => [<-|ij] /=; last first.
  rewrite !mulr0n add0r big1 // => l _; rewrite !mxE; case: (eqVneq i l) => [<-|_] /=; last by rewrite mulr0.
  by rewrite eq_sym (negbTE ij) mulr0.
rewrite !mulr1n; congr (_ + _).
case: (boolP (i \in S)) => iS /=.
  rewrite mul0r big1 // => l; rewrite inE => lS; rewrite !mxE.
  by case: eqP => [E|_]; rewrite /= ?mulr0 // -E iS in lS *.
rewrite mul1r (bigD1 i) ?inE //= big1 ?addr0; first by rewrite !mxE eqxx mulr1.
by move=> l /andP[_ /negbTE li]; rewrite !mxE eq_sym li mulr0.
Qed.

Lemma minor_diag (d : 'rV[R]_n) Y : minor (diag_mx d) Y = \prod_(i in Y) d 0 i.
Proof.
rewrite /minor (_ : mxsub _ _ _ = diag_mx (subrow Y d)); last first.
  by apply/matrixP => i j; rewrite !mxE (inj_eq enum_val_inj).
by rewrite det_diag (big_enum_val (fun i => d 0 i)) /=; apply: eq_bigr => i _; rewrite mxE.
Qed.

Lemma gainY_heavy m Y : gainY (kernel s (heavy m)) x Y = norm2 (subrow Y x) / s.
Proof.
set L := kernel _ _; have uY := above_unit s0 (above_sub Y (above_kernel s (heavy m))).
have E : subrow Y x *m sub Y L = s *: subrow Y x.
  rewrite /L kernel_heavy (_ : sub Y _ = diag_mx (subrow Y (diagonal m))); last first.
    by apply/matrixP => i j; rewrite !mxE (inj_eq enum_val_inj).
  apply/rowP => j; rewrite mul_mx_diag !mxE; case: (boolP (enum_val j \in S)) => jS /=.
    by rewrite mul0r addr0 mulrC.
  by rewrite (xS jS) mulr0 mul0r.
have E2 : subrow Y x *m invmx (sub Y L) = s^-1 *: subrow Y x.
  apply: (can_inj (mulmxK uY)); rewrite mulmxKV // -scalemxAl E scalerA mulVf ?scale1r // gt_eqF //.
by rewrite /gainY /gain /bil E2 -scalemxAl mxE -[X in _ * X]/(dot _ _) dot_norm mulrC.
Qed.

Let h m : R := s + c ^+ 2 *+ m.
Let h_ge m : s <= h m. Proof. by rewrite /h ler_addl mulrn_wge0 // sqr_ge0. Qed.
Let h0 m : 0 < h m. Proof. exact: lt_le_trans s0 (h_ge m). Qed.

Lemma diagonal_le m i : diagonal m 0 i <= h m.
Proof. by rewrite mxE; case: (i \in S); rewrite ?mul0r ?addr0 ?mul1r. Qed.
Lemma diagonal_ge m i : s <= diagonal m 0 i.
Proof. by rewrite mxE; case: (i \in S); rewrite ?mul0r ?addr0 ?mul1r /=; [exact: lexx | exact: h_ge]. Qed.

Lemma light_rare m Y : #|Y| = k -> ~~ [disjoint Y & S] -> kdpp k (kernel s (heavy m)) Y <= s / h m.
Proof.
move=> Yk; rewrite -setI_eq0 => /set0Pn[i]; rewrite inE => /andP[iY iS].
have [Z ZS Zk] := subset_size kS.
have HL := above_kernel s (heavy m).
rewrite (kdppE _ Yk) ler_pdivr_mulr ?(ktotal_gt0 s0 HL) //.
apply: (@le_trans _ _ (s / h m * minor (kernel s (heavy m)) Z)); last first.
  by rewrite ler_wpmul2l ?(ktotal_ge s0 HL) // divr_ge0 // ltW.
rewrite kernel_heavy !minor_diag.
have -> : \prod_(j in Z) diagonal m 0 j = h m ^+ k.
  rewrite -Zk -prodr_const; apply: eq_bigr => j jZ; rewrite mxE.
  by have := subsetP ZS j jZ; rewrite inE => ->; rewrite mul1r.
rewrite (bigD1 i) //= mxE iS mul0r addr0.
have -> : h m ^+ k = h m * h m ^+ k.-1 by rewrite -exprS prednK.
rewrite mulrA divfK ?gt_eqF // ler_pmul2l //.
have -> : k.-1 = #|Y :\ i| by have := cardsD1 i Y; rewrite iY Yk => ->.
rewrite -prodr_const [X in _ <= X](eq_bigl (fun j => (j \in Y) && (j != i))); last first.
  by move=> j; rewrite !inE andbC.
by apply: ler_prod => j _; rewrite diagonal_le (le_trans (ltW s0)) ?diagonal_ge.
Qed.

Let count : R := \sum_(Y : {set 'I_n}) 1.

Lemma average_small m : average (kernel s (heavy m)) x <= norm2 x * count / h m.
Proof.
have n0 := norm2_ge0 x; have HL := above_kernel s (heavy m).
have -> : norm2 x * count / h m = \sum_(Y : {set 'I_n}) (s / h m) * (norm2 x / s).
  by rewrite /count mulr_sumr mulr_suml; apply: eq_bigr => Y _; field; rewrite !gt_eqF ?h0.
apply: ler_sum => Y _; have q0 : 0 <= s / h m by rewrite divr_ge0 // ltW.
case: (eqVneq #|Y| k) => Yk; last by rewrite kdpp_out // mul0r mulr_ge0 // divr_ge0 // ltW.
rewrite gainY_heavy; case: (boolP [disjoint Y & S]) => YS.
  rewrite norm_sub big1 ?mul0r ?mulr0; first by rewrite mulr_ge0 // divr_ge0 // ltW.
  by move=> i iY; rewrite xS ?expr0n ?(disjointFr YS iY).
rewrite ler_pmul ?(kdpp_ge0 s0 HL) ?light_rare //; first by rewrite divr_ge0 ?norm2_ge0 // ltW.
rewrite ler_wpmul2r ?invr_ge0 ?(ltW s0) // norm_sub /norm2 [X in _ <= X](bigID (mem Y)) /= ler_addl.
by apply: sumr_ge0 => i _; exact: sqr_ge0.
Qed.

Lemma kdpp_lower e : dp (add_remove rows) e M -> 1 + norm2 x / s <= expR e.
Proof.
move=> H; rewrite leNgt; apply/negP => lt; set A := norm2 x / s in lt.
have [Z ZS Zk] : exists2 Z : {set 'I_n}, Z \subset ~: S & #|Z| = (k - #|S|)%N.
  by apply: subset_size; apply: leq_trans kS; exact: leq_subr.
have SZ : [disjoint S & Z] by rewrite disjoint_sym disjoints_subset.
pose Y := S :|: Z; have Yk : #|Y| = k.
  by rewrite /Y cardsU (disjoint_setI0 SZ) cards0 subn0 Zk subnKC.
have gY m : gainY (kernel s (heavy m)) x Y = A.
  rewrite gainY_heavy /A norm_sub /norm2 [in RHS](bigID (mem Y)) /= [X in _ = (_ + X) / _]big1 ?addr0 //.
  by move=> i; rewrite inE negb_or => /andP[/xS -> _]; rewrite expr0n.
have e0 := expR_gt0 e; set r := expR e in lt e0 *.
have key m : 1 + A <= r * (1 + norm2 x * count / h m).
  have HL := above_kernel s (heavy m).
  have nb : add_remove rows (x :: heavy m) (heavy m).
    by split; rewrite /= ?rowx ?heavy_rows //; split=> //; right; exists x.
  have a0 : 0 < 1 + average (kernel s (heavy m)) x by rewrite ltr_paddr ?ltr01 ?(average_ge0 s0 HL).
  apply: (@le_trans _ _ (r * (1 + average (kernel s (heavy m)) x))).
    rewrite -ler_pdivr_mulr //; apply: (dp_ratio H nb (t := Y)); rewrite !HM ?(kdpp_gt0 s0 HL) //.
    by rewrite kernel_cons (kdpp_row s0 HL) gY mulrC.
  by rewrite ler_pmul2l // ler_add2l average_small.
have g0 : 0 < 1 + A - r by rewrite subr_gt0.
have C0 : 0 <= r * (norm2 x * count) by rewrite !mulr_ge0 ?norm2_ge0 ?(ltW e0) // /count sumr_ge0 // => *; exact: ler01.
pose q := r * (norm2 x * count) / (c ^+ 2 * (1 + A - r)).
have cc0 : 0 < c ^+ 2 * (1 + A - r) by rewrite mulr_gt0 // exprn_gt0.
have q0 : 0 <= q by rewrite divr_ge0 // ltW.
have := archi_boundP q0; rewrite -(ltr_pmul2r cc0) {1}/q divfK ?gt_eqF // => bound.
have := key (Num.bound q); rewrite -[_ <= _]negbK -ltNge => /negP; apply.
rewrite mulrDr mulr1 -ltr_subr_addl mulrA ltr_pdivr_mulr ?h0 //; apply: lt_le_trans bound _.
by rewrite mulrA [X in _ <= X]mulrC ler_pmul2r // /h mulr_natl ler_addr; exact: ltW.
Qed.
End Lower.
End FixedSize.

Lemma norm_delta (R : realType) n (B : R) (j : 'I_n) : norm2 (B *: delta_mx 0 j) = B ^+ 2.
Proof.
rewrite /norm2 (bigD1 j) //= big1 ?addr0; first by rewrite !mxE !eqxx mulr1.
by move=> i /negbTE ij; rewrite !mxE ij andbF mulr0 expr0n.
Qed.

Theorem dp_kdpp_rep : DP_KDPP_REP.
Proof.
move=> R n k s B s0 B0 k1 kn; have kn' := ltnW kn.
have HM : samples (kdpp_law kn' s0) (fun D => kdpp k (kernel s D)) by [].
exists (kdpp_law kn' s0) => //.
have N0 := sqr_ge0 B.
have A0 : 0 <= B ^+ 2 / s by rewrite divr_ge0 // ltW.
have A0' : 0 <= k%:R / s by rewrite divr_ge0 ?ler0n // ltW.
have gs D x (Y : {set 'I_n}) : gainY (kernel s D) x Y <= norm2 (subrow Y x) / s.
  exact: gain_le s0 (above_sub Y (above_kernel s D)) _.
have subN (Y : {set 'I_n}) (x : 'rV[R]_n) : norm2 (subrow Y x) <= norm2 x.
  rewrite norm_sub [X in _ <= X](bigID (mem Y)) /= ler_addl.
  by apply: sumr_ge0 => i _; exact: sqr_ge0.
have HA D x (Y : {set 'I_n}) : real_rows (B ^+ 2) x -> #|Y| = k -> gainY (kernel s D) x Y <= B ^+ 2 / s.
  move=> xN _; apply: le_trans (gs D x Y) _; rewrite ler_wpmul2r ?invr_ge0 ?(ltW s0) //.
  exact: le_trans (subN _ _) xN.
have HA' D x (Y : {set 'I_n}) : binary_rows x -> #|Y| = k -> gainY (kernel s D) x Y <= k%:R / s.
  move=> /forallP xb Yk; apply: le_trans (gs D x Y) _; rewrite ler_wpmul2r ?invr_ge0 ?(ltW s0) //.
  rewrite norm_sub -Yk -sumr_const; apply: ler_sum => i _.
  by case/orP: (xb i) => /eqP ->; rewrite ?expr0n ?expr1n ?ler01 ?lexx.
have dpA (A : R) (rows : pred 'rV[R]_n) : 0 <= A -> (forall D x (Y : {set 'I_n}), rows x -> #|Y| = k -> gainY (kernel s D) x Y <= A) ->
    forall e, 1 + A <= expR e -> dp (add_remove rows) e (kdpp_law kn' s0).
  move=> A00 H e He; apply: dp_pointwise => D E nb Y.
  apply: le_trans (kdpp_ratio kn' s0 HM H Y nb) _.
  by rewrite ler_wpmul2r // pr_ge0.
split.
- move=> e; rewrite ln_le_expR; last by rewrite ltr_paddr ?ltr01.
  split=> [H|]; last exact: dpA.
  case: (ltrgt0P B) B0 => // [B1 _|BE _]; last first.
    rewrite BE expr0n mul0r addr0; have rr : real_rows (B ^+ 2) (0 : 'rV[R]_n).
      by rewrite /real_rows /norm2 big1 // => i _; rewrite mxE expr0n.
    have [n1 _] := add_remove1 rr.
    have := H _ _ n1 setT; rewrite addr0 /chance.
    rewrite !(eq_bigl predT) ?pr_sum1 ?mulr1 //; by move=> Y; rewrite inE.
  pose i0 : 'I_n := Ordinal (leq_ltn_trans (leq0n k) kn).
  have := @kdpp_lower R n k kn' s B [set i0] (B *: delta_mx 0 i0) (@real_rows R n (B ^+ 2)) (kdpp_law kn' s0) s0 B1.
  rewrite norm_delta; apply=> //.
  + by rewrite cards1.
  + by rewrite cardsC1 card_ord -ltnS prednK // (leq_ltn_trans (leq0n k) kn).
  + by move=> i; rewrite inE => /negbTE ii; rewrite !mxE ii andbF mulr0.
  + by rewrite /real_rows norm_delta.
  + by move=> j; rewrite /real_rows norm_delta.
- move=> k2 e; rewrite ln_le_expR; last by rewrite ltr_paddr ?ltr01.
  split=> [H|]; last exact: dpA.
  pose S := [set i : 'I_n | (i < k)%N]; pose x : 'rV[R]_n := \row_i (i < k)%:R.
  have Sk : #|S| = k.
    rewrite -sum1_card (eq_bigl (fun i : 'I_n => (i < k)%N)); last by move=> i; rewrite inE.
    by rewrite -(big_ord_widen _ (fun=> 1%N) kn') sum1_card card_ord.
  have xk : norm2 x = k%:R.
    rewrite -Sk -sumr_const /norm2 [LHS](bigID (mem S)) /= [X in _ + X]big1 ?addr0.
      by apply: eq_bigr => i; rewrite inE mxE => ->; rewrite expr1n.
    by move=> i; rewrite inE mxE => /negbTE ->; rewrite expr0n.
  have := @kdpp_lower R n k kn' s 1 S x (@binary_rows R n) (kdpp_law kn' s0) s0 ltr01.
  rewrite xk; apply=> //.
  + by rewrite Sk.
  + by rewrite cardsCs setCK Sk card_ord leq_subRL // addnn -mul2n.
  + by move=> i; rewrite inE mxE => /negbTE ->.
  + by apply/forallP => i; rewrite mxE; case: (i < k)%N; rewrite eqxx ?orbT.
  + by move=> j; apply/forallP => i; rewrite !mxE mul1r; case: (_ && _); rewrite eqxx ?orbT.
- move=> B1 D E nb Y Yk; apply: (kdpp_strict kn' s0 A0 HM HA) => //.
  by rewrite divr_gt0 // exprn_gt0.
- move=> D E nb Y Yk; apply: (kdpp_strict kn' s0 A0' HM HA') => //.
  by rewrite divr_gt0 // ltr0n.
- move=> D x Y Yk xN a; have HL := above_kernel s D; split; last first.
    rewrite (gainY_ge0 x s0 HL) /= ler_pdivl_mulr // le_minr -!ler_pdivl_mulr //.
    by rewrite (HA D x Y xN Yk) gs.
  rewrite /= kernel_cons (kdpp_row kn' s0 HL) mulrAC divff ?mul1r ?gt_eqF ?(kdpp_gt0 kn' s0 HL) //.
  congr (_ / _); rewrite /average -[X in X + _](kdpp_sum1 kn' s0 HL) -big_split /=.
  by apply: eq_bigr => Z _; rewrite mulrDr mulr1.
Qed.
