(* The determinantal process of fixed size. *)
From mathcomp.classical Require Import boolp.
From Dpassay Require Import Prelude Statements Determinant Determinantal Curve Variants Spectral.
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
End FixedSize.

(* Many copies of k rows f_j that are c times the unit vectors on k items Z0: what a new row gains vanishes on average. *)
Section Copies.
Variables (R : realType) (n k : nat) (kn : (k <= n)%N) (s c : R) (Z0 : {set 'I_n}) (f : 'I_n -> 'rV[R]_n) (x : 'rV[R]_n).
Variables (rows : pred 'rV[R]_n) (M : seq 'rV[R]_n -> law R (subset_of n)).
Hypotheses (s0 : 0 < s) (c0 : 0 < c) (HM : samples M (fun D => kdpp k (kernel s D))) (Zk : #|Z0| = k).
Hypotheses (fZ : forall i j, i \in Z0 -> j \in Z0 -> f j 0 i = c * (i == j)%:R) (rowf : forall j, j \in Z0 -> rows (f j)) (rowx : rows x).

(* m + 1 subjects with each of the rows f. *)
Definition copies m : seq 'rV[R]_n := flatten (nseq m.+1 [seq f j | j <- enum Z0]).
Let Q : 'M[R]_n := \sum_(j in Z0) (f j)^T *m f j.
Let t m : R := m.+1%:R.
Let L m : 'M[R]_n := kernel s (copies m).
Let t0 m : 0 < t m. Proof. exact: ltr0Sn. Qed.
Let HL m : above s (L m). Proof. exact: above_kernel. Qed.

Lemma copies_rows m : all rows (copies m).
Proof.
apply/allP => y /flattenP[l]; rewrite mem_nseq => /andP[_ /eqP->] /mapP[j].
by rewrite mem_enum => jZ ->; apply: rowf.
Qed.

Lemma kernel_copies m : L m = s%:M + t m *: Q.
Proof. by rewrite /L /kernel /copies big_flatten big_nseq iter_addr_0 big_map big_enum scaler_nat. Qed.

Lemma sub_copies m Z : sub Z (L m) = s%:M + t m *: sub Z Q.
Proof. by rewrite kernel_copies; apply/matrixP => i j; rewrite !mxE (inj_eq enum_val_inj). Qed.

Lemma Q_pos Z : above 0 (sub Z Q).
Proof.
apply: above_sub; split=> [|v].
  by rewrite /Q linear_sum; apply: eq_bigr => j _; rewrite /= trmx_mul trmxK.
rewrite mul0r /Q /bil mulmx_sumr mulmx_suml summxE; apply: sumr_ge0 => j _.
rewrite mulmxA -mulmxA [v *m (f j)^T]mx11_scalar mul_scalar_mx mxE -[X in _ * X]/(dot _ _) dotC -expr2 sqr_ge0 //.
Qed.

(* The rows f span as much as k items can. *)
Lemma copies_total m : (c ^+ 2 * t m) ^+ k <= ktotal k (L m).
Proof.
apply: le_trans (ktotal_ge s0 (HL m) Zk); rewrite /minor -[mxsub _ _ _]/(sub Z0 _) sub_copies.
have -> : sub Z0 Q = (c ^+ 2)%:M.
  apply/matrixP => i j; rewrite !mxE /Q summxE (bigD1 (enum_val i)) ?enum_valP //= big1.
    by rewrite addr0 !mxE big_ord1 !mxE !fZ ?enum_valP // eqxx mulr1 (inj_eq enum_val_inj) eq_sym mulrA -expr2 mulr_natr.
  move=> l /andP[lZ li]; rewrite !mxE big_ord1 !mxE !fZ ?enum_valP // [enum_val i == _]eq_sym (negbTE li).
  by rewrite mulr0 mul0r.
rewrite scale_scalar_mx -raddfD /= det_scalar Zk [_ ^+ 2 * _]mulrC.
have T0 : 0 <= t m * c ^+ 2 by rewrite mulr_ge0 ?sqr_ge0 // ltW.
by apply: ler_expn2r; rewrite ?nnegrE ?addr_ge0 ?(ltW s0) // ler_addr ltW.
Qed.

Lemma kdpp_le1 m Z : kdpp k (L m) Z <= 1.
Proof.
case: (eqVneq #|Z| k) => Zk'; last by rewrite kdpp_out // ler01.
by rewrite kdppE // ler_pdivr_mulr ?(ktotal_gt0 kn s0 (HL m)) // mul1r (ktotal_ge s0 (HL m)).
Qed.

(* A set on which the rows f have full rank gains little; any other is rarely shown. *)
Lemma gain_vanishes Z : exists C, 0 <= C /\ forall m, kdpp k (L m) Z * gainY (L m) x Z <= C / t m.
Proof.
case: (eqVneq #|Z| k) => Zk'; last by exists 0; split=> // m; rewrite kdpp_out // !mul0r.
have g0 m := gainY_ge0 x s0 (HL m) Z; have p0 m := kdpp_ge0 kn s0 (HL m) Z.
have N0 := norm2_ge0 (subrow Z x).
case: (eqVneq (\det (sub Z Q)) 0) => [dZ|/(above_nonsingular (Q_pos Z))[c1 c10 Hc1]]; last first.
  exists (norm2 (subrow Z x) / c1); split=> [|m]; first by rewrite divr_ge0 // ltW.
  apply: le_trans (_ : 1 * gainY (L m) x Z <= _); first by rewrite ler_wpmul2r ?kdpp_le1.
  rewrite mul1r -mulrA -invfM; apply: gain_le; first exact: mulr_gt0.
  have [sA HA] := above_sub Z (HL m); split=> // v; rewrite sub_copies bilDm bil_scalar [bil (_ *: _) _ _](_ : _ = t m * bil (sub Z Q) v v).
    by apply: ler_paddl; [rewrite mulr_ge0 ?(ltW s0) // dot_norm norm2_ge0 | rewrite [c1 * _]mulrC -mulrA ler_pmul2l // Hc1.2].
  by rewrite /bil -scalemxAr -scalemxAl mxE.
have [C C0 HC] := singular_det s dZ; have cc0 : 0 < (c ^+ 2) ^+ k by rewrite !exprn_gt0.
have C' : 0 <= C * s / (c ^+ 2) ^+ k by rewrite divr_ge0 ?mulr_ge0 ?(ltW s0) ?(ltW cc0).
exists (C * s / (c ^+ 2) ^+ k * (norm2 (subrow Z x) / s)); split=> [|m]; first by rewrite mulr_ge0 // divr_ge0 // ltW.
rewrite mulrAC; apply: ler_pmul => //; last exact: gain_le s0 (above_sub Z (HL m)) _.
rewrite kdppE // ler_pdivr_mulr ?(ktotal_gt0 kn s0 (HL m)) //.
apply: le_trans (_ : C * s / (c ^+ 2) ^+ k / t m * (c ^+ 2 * t m) ^+ k <= _); last first.
  by rewrite ler_wpmul2l ?copies_total // divr_ge0 // ltW.
have w0 : 0 < t m ^+ k by rewrite exprn_gt0.
rewrite [X in _ <= _ * X]exprMn [X in _ <= X](_ : _ = t m ^+ k * (C * (s / t m))); last first.
  by move: cc0 w0; set u := (c ^+ 2) ^+ k; set w := t m ^+ k => *; field; rewrite !gt_eqF.
rewrite /minor -[mxsub _ _ _]/(sub Z _) sub_copies.
have -> : s%:M + t m *: sub Z Q = t m *: ((s / t m)%:M + sub Z Q).
  by rewrite scalerDr scale_scalar_mx mulrCA divff ?mulr1 // gt_eqF.
rewrite detZ [t m ^+ #|Z|](_ : _ = t m ^+ k) ?Zk' // ler_pmul2l // HC // divr_ge0 ?(ltW s0) ?(ltW (t0 m)) //= ler_pdivr_mulr //.
by rewrite ler_pmulr // ler1n.
Qed.

Lemma average_vanishes : exists2 C, 0 <= C & forall m, average k (L m) x <= C / t m.
Proof.
have [C HC] := choice gain_vanishes.
exists (\sum_Z C Z) => [|m]; first by apply: sumr_ge0 => Z _; case: (HC Z).
by rewrite mulr_suml; apply: ler_sum => Z _; case: (HC Z) => _; apply.
Qed.

Lemma extend_sub (Y : {set 'I_n}) (v : 'rV[R]_n) : (forall i, i \notin Y -> v 0 i = 0) -> extend (subrow Y v) = v.
Proof.
move=> vY; apply/rowP => i; rewrite /extend mxE.
rewrite (eq_bigr (fun j => v 0 (enum_val j) * (enum_val j == i)%:R)) => [|j _]; last by rewrite !mxE.
rewrite -(big_enum_val (fun l => v 0 l * (l == i)%:R)) /=; have [iY|iY] := boolP (i \in Y).
  by rewrite (bigD1 i) //= eqxx mulr1 big1 ?addr0 // => l /andP[_ /negbTE->]; exact: mulr0.
rewrite vY // big1 // => l lY; rewrite (_ : (l == i) = false) ?mulr0 //; by apply: contraNF iY => /eqP <-.
Qed.

(* v is orthogonal to the rows f and 0 outside the set that is shown. *)
Lemma copies_lower e (Y : {set 'I_n}) (v : 'rV[R]_n) : dp (add_remove rows) e M -> #|Y| = k ->
  (forall i, i \notin Y -> v 0 i = 0) -> (forall j, j \in Z0 -> dot v (f j) = 0) ->
  1 + (dot v x *+ 2 - s * norm2 v) <= expR e.
Proof.
move=> H Yk vY vf; set a := _ - _; set r := expR e; have r0 : 0 < r := expR_gt0 e.
have [C C0 HC] := average_vanishes.
have ga m : a <= gainY (L m) x Y.
  apply: le_trans (gain_var s0 (above_sub Y (HL m)) (subrow Y x) (subrow Y v)).
  rewrite -dot_extend -bil_extend extend_sub // /a kernel_copies bilDm bil_scalar dot_norm.
  rewrite [bil (_ *: _) _ _](_ : _ = 0) ?addr0 // /bil -scalemxAr -scalemxAl mxE.
  rewrite /Q mulmx_sumr big1 ?mul0mx ?mxE ?mulr0 // => j jZ.
  by rewrite mulmxA [v *m _]mx11_scalar -[X in X%:M]/(dot _ _) vf // raddf0 mul0mx.
have key m : 1 + a <= r * (1 + C / t m).
  have nb : add_remove rows (x :: copies m) (copies m).
    by split; rewrite /= ?rowx ?copies_rows //; split=> //; right; exists x.
  have a0 : 0 < 1 + average k (L m) x by rewrite ltr_paddr ?ltr01 ?(average_ge0 kn s0 (HL m)).
  apply: (@le_trans _ _ (r * (1 + average k (L m) x))); last by rewrite ler_pmul2l // ler_add2l HC.
  apply: (@le_trans _ _ (1 + gainY (L m) x Y)); first by rewrite ler_add2l.
  rewrite -ler_pdivr_mulr //; apply: (dp_ratio H nb (t := Y)); rewrite !HM ?(kdpp_gt0 kn s0 (HL m)) //.
  by rewrite kernel_cons (kdpp_row kn s0 (HL m)) mulrC.
rewrite leNgt; apply/negP => lt; have d0 : 0 < 1 + a - r by rewrite subr_gt0.
have q0 : 0 <= r * C / (1 + a - r) by rewrite divr_ge0 ?mulr_ge0 // ltW.
have := archi_boundP q0; set b := Num.bound _; rewrite ltr_pdivr_mulr // => bound.
have := key b; rewrite leNgt => /negP; apply.
rewrite mulrDr mulr1 -ltr_subr_addl mulrA ltr_pdivr_mulr //; apply: lt_trans bound _.
by rewrite mulrC ltr_pmul2l // ltr_nat.
Qed.
End Copies.

(* Many readers of each of k items outside S, and one of S joins. *)
Lemma kdpp_lower (R : realType) (n k : nat) (kn : (k <= n)%N) (s c : R) (S : {set 'I_n}) (x : 'rV[R]_n)
    (rows : pred 'rV[R]_n) (M : seq 'rV[R]_n -> law R (subset_of n)) :
  0 < s -> 0 < c -> samples M (fun D => kdpp k (kernel s D)) -> (#|S| <= k)%N -> (k <= #|~: S|)%N ->
  (forall i, i \notin S -> x 0 i = 0) -> rows x -> (forall j, rows (c *: delta_mx 0 j)) ->
  forall e, dp (add_remove rows) e M -> 1 + norm2 x / s <= expR e.
Proof.
move=> s0 c0 HM Sk kS xS rowx rowc e H.
have [Z0 ZS0 Zk0] := subset_size kS.
have [Z ZS Zk] := subset_size (leq_trans (leq_subr #|S| k) kS).
have Yk : #|S :|: Z| = k.
  have SZ : [disjoint S & Z] by rewrite disjoint_sym disjoints_subset.
  by rewrite cardsU (disjoint_setI0 SZ) cards0 subn0 Zk subnKC.
have fZ (i j : 'I_n) : i \in Z0 -> j \in Z0 -> (c *: delta_mx 0 j : 'rV[R]_n) 0 i = c * (i == j)%:R by rewrite !mxE eqxx.
have := @copies_lower R n k kn s c Z0 (fun j => c *: delta_mx 0 j) x rows M s0 c0 HM Zk0 fZ (fun j _ => rowc j) rowx e _ (s^-1 *: x) H Yk.
have -> : dot (s^-1 *: x) x *+ 2 - s * norm2 (s^-1 *: x) = norm2 x / s.
  by rewrite -!dot_norm dotZl dotZr dotZl dot_norm; field; rewrite gt_eqF.
apply=> [i|j jZ]; first by rewrite inE negb_or mxE => /andP[/xS-> _]; rewrite mulr0.
rewrite dotZl dotZr dotE (bigD1 j) //= big1 => [|l /negbTE lj]; last by rewrite !mxE lj andbF mulr0.
by rewrite xS ?mul0r ?addr0 ?mulr0 //; have := subsetP ZS0 j jZ; rewrite inE.
Qed.

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
