(* Definiteness, jitter, and the functions listed as kernels. *)
From Dpassay Require Import Prelude Statements Determinant Determinantal Curve Spectral.
Import Statements.Determinantal.

Theorem dp_exp : DP_EXP.
Proof.
move=> R l Du l0 D0 kept.
have d0 : 2%:R * Du != 0 by rewrite mulf_neq0 ?pnatr_eq0 // gt_eqF.
have w b : expR (2%:R * Du * (if b then ln l else 0) / (2%:R * Du)) = if b then l else 1.
  by rewrite mulrAC divff // mul1r; case: b; rewrite ?expR0 // lnK // posrE.
have sum2 (F : bool -> R) : \sum_b F b = F true + F false by exact: big_bool.
have w1 := w true; have w0 := w false; rewrite /= in w1 w0.
by rewrite /exponential sum2 w /= w1 w0 /coin [1 + l]addrC; case: kept.
Qed.

Section Singular.
Variables (R : realType) (n : nat).
Implicit Types Y Z : {set 'I_n}.

Lemma minor_item (L : 'M[R]_n) Z i : i \in Z ->
  minor (L + (delta_mx 0 i)^T *m (delta_mx 0 i : 'rV[R]_n)) Z = minor L Z + minor L (Z :\ i).
Proof.
move=> iZ; rewrite !minorE trmx_delta mul_delta_mx.
rewrite (@determinant_multilinear _ _ _ (mask L Z) (mask L (Z :\ i)) i 1 1) ?mul1r //.
- by apply/rowP => k; rewrite !scale1r !mxE !inE iZ eqxx /= [k == i]eq_sym.
- apply/matrixP => j k; rewrite !mxE [lift i j == i]eq_sym (negbTE (neq_lift i j)) /=.
  by case: ifP => // _; rewrite addr0.
- apply/matrixP => j k; rewrite !mxE !inE [lift i j == i]eq_sym (negbTE (neq_lift i j)) /=.
  by case: ifP => // _; rewrite addr0.
Qed.

Lemma psd_definite (L : 'M[R]_n) : above 0 L -> \det L != 0 -> forall z, z != 0 -> 0 < bil L z z.
Proof.
move=> HL d z z0; have [c c0 Hc] := above_nonsingular HL d; apply: lt_le_trans (Hc.2 z).
by rewrite mulr_gt0 // lt_neqAle norm2_ge0 eq_sym norm2_eq0 z0.
Qed.

Lemma above_row (L : 'M[R]_n) c (x : 'rV[R]_n) : above c L -> above c (L + x^T *m x).
Proof.
move=> HL; have := above_kernel 0 [:: x]; rewrite kernel_cons kernel_nil raddf0 add0r => -[_ H].
split=> [|v]; first by rewrite linearD /= HL.1 trmx_mul trmxK.
by rewrite bilDm -[X in X <= _]addr0 ler_add ?HL.2 //; apply: le_trans (H v); rewrite mul0r.
Qed.

Lemma singular_item (L : 'M[R]_n) : above 0 L -> \det L = 0 ->
  exists i Z, minor L Z = 0 /\ 0 < minor (L + (delta_mx 0 i)^T *m (delta_mx 0 i : 'rV[R]_n)) Z.
Proof.
move=> HL d.
have P0 : 0 < minor L set0 by rewrite minor0 ltr01.
case: (@arg_maxnP _ set0 (fun Y => 0 < minor L Y) (fun Y => #|Y|) P0) => Y PY Ymax.
have [i iY] : exists i, i \notin Y.
  apply/existsP; apply: contraTT PY; rewrite negb_exists => /forallP H.
  have -> : Y = setT by apply/setP => i; rewrite inE; have := H i; rewrite negbK.
  by rewrite minorT d ltxx.
exists i, (i |: Y).
have Z0 : minor L (i |: Y) = 0.
  apply/eqP; rewrite eq_le (psd_minor_ge0 HL) andbT leNgt; apply/negP => H.
  by have := Ymax _ H; rewrite cardsU1 iY /geq /= add1n ltnn.
split=> //; rewrite minor_item ?setU11 // Z0 add0r.
by rewrite (_ : (i |: Y) :\ i = Y) // setU1K.
Qed.
End Singular.

Lemma delta_binary (R : realType) n (i : 'I_n) : binary_rows (delta_mx 0 i : 'rV[R]_n).
Proof. by apply/forallP => j; rewrite mxE; case: (_ && _); rewrite eqxx ?orbT. Qed.

Theorem dp_t31 : DP_T31.
Proof.
move=> R n S /psd_above HS L.
have HL D : above 0 (L D).
  rewrite /L; elim: D => [|x D IH]; first by rewrite big_nil addr0.
  by rewrite big_cons addrCA addrC; exact: above_row.
have nb i D : all (@binary_rows R n) D -> add_remove (@binary_rows R n) (delta_mx 0 i :: D) D.
  by move=> aD; split; rewrite /= ?delta_binary //; split=> //; right; exists (delta_mx 0 i).
have E i D : L (delta_mx 0 i :: D) = L D + (delta_mx 0 i)^T *m (delta_mx 0 i : 'rV[R]_n).
  by rewrite /L big_cons addrCA addrC.
exists (fun D => psd_law (HL D)) => //; split=> [[eps H] D aD|D aD /(singular_item (HL D))[i [Z [Z0 Z1]]]].
  apply: (psd_definite (HL D)); apply/eqP => /(singular_item (HL D))[i [Z [Z0 Z1]]].
  have := H _ _ (nb i D aD) [set Z]; rewrite addr0 !chance1 /= /dpp Z0 mul0r mulr0 leNgt => /negP; apply.
  by rewrite divr_gt0 ?psd_total_gt0 // E.
exists (delta_mx 0 i :: D), Z; split; first exact: nb.
  by rewrite /= /dpp Z0 mul0r.
by rewrite /= /dpp divr_gt0 ?psd_total_gt0 // E.
Qed.

(* Two items with equal embeddings. *)
Section Equal.
Variable R : realType.

Lemma above_const n (c : R) : 0 <= c -> above 0 (const_mx c : 'M[R]_n).
Proof.
move=> c0; have H := above_kernel 0 [:: (const_mx (Num.sqrt c) : 'rV[R]_n)].
rewrite kernel_cons kernel_nil raddf0 add0r in H.
rewrite (_ : const_mx c = (const_mx (Num.sqrt c))^T *m (const_mx (Num.sqrt c) : 'rV[R]_n)) //.
by apply/matrixP => i j; rewrite !mxE big_ord1 !mxE -expr2 sqr_sqrtr.
Qed.

Lemma total_const (c : R) : 0 <= c -> \det (const_mx c + 1%:M : 'M[R]_2) = 1 + c *+ 2.
Proof.
move=> c0; rewrite (_ : const_mx c = (const_mx (Num.sqrt c))^T *m (const_mx (Num.sqrt c) : 'rV[R]_2)).
  rewrite addrC det_row1 ?unitmx1 // det1 mul1r; congr (1 + _).
  rewrite gain_scalar ?oner_eq0 // divr1 /norm2; under eq_bigr do rewrite mxE sqr_sqrtr //.
  by rewrite sumr_const card_ord.
by apply/matrixP => i j; rewrite !mxE big_ord1 !mxE -expr2 sqr_sqrtr.
Qed.

Lemma minor_const n (c : R) (Y : {set 'I_n}) :
  minor (const_mx c) Y = if #|Y| is k.+1 then (if k is 0 then c else 0) else 1.
Proof.
rewrite /minor mxsub_const; case: #|Y| => [|[|k]].
- by rewrite det_mx00.
- by rewrite det_mx11 mxE.
- apply: (@determinant_alternate _ _ _ 0 1) => // j; by rewrite !mxE.
Qed.

Definition equal_items (D : seq 'rV[R]_1) : 'M[R]_2 := const_mx (1 + (size D)%:R).

Lemma equal_size_ge1 (D : seq 'rV[R]_1) : 1 <= 1 + (size D)%:R :> R.
Proof. by rewrite ler_addl ler0n. Qed.

Lemma equal_above D : above 0 (equal_items D).
Proof. by apply: above_const; apply: le_trans ler01 (equal_size_ge1 D). Qed.

Lemma quotient_le (x y t u : R) : 0 < t -> 0 < u -> 0 <= 2%:R * y * t - x * u -> x / t <= 2%:R * (y / u).
Proof. by move=> t0 u0 H; rewrite ler_pdivr_mulr // mulrA mulrAC ler_pdivl_mulr // -subr_ge0. Qed.

Lemma equal_pair (c : R) (Y : {set 'I_2}) : 1 <= c ->
  dpp (const_mx (1 + c) : 'M[R]_2) Y <= 2%:R * dpp (const_mx c : 'M[R]_2) Y /\
  dpp (const_mx c : 'M[R]_2) Y <= 2%:R * dpp (const_mx (1 + c) : 'M[R]_2) Y.
Proof.
move=> c1; have c0 : 0 < c by exact: lt_le_trans ltr01 c1.
have d0 : 0 <= c - 1 by rewrite subr_ge0.
have c2 : 0 < 1 + c by rewrite addr_gt0 ?ltr01.
have t1 : 0 < 1 + c *+ 2 by rewrite addr_gt0 ?ltr01 // pmulrn_lgt0.
have t2 : 0 < 1 + (1 + c) *+ 2 by rewrite addr_gt0 ?ltr01 // pmulrn_lgt0.
have cc0 : 0 <= c by exact: ltW.
have pos : 0 <= 1 :> R := ler01.
rewrite /dpp !total_const ?(ltW c2) // !minor_const.
case: #|Y| => [|[|k]]; rewrite ?mul0r ?mulr0 //; split; apply: quotient_le => //.
- rewrite [X in 0 <= X](_ : _ = 1 *+ 5 + c *+ 2); last by ring.
  by apply: addr_ge0; apply: mulrn_wge0.
- rewrite [X in 0 <= X](_ : _ = c + (c - 1)); last by ring.
  exact: addr_ge0.
- rewrite [X in 0 <= X](_ : _ = (c * c) *+ 2 + c *+ 2 + (c - 1)); last by ring.
  by apply: addr_ge0 => //; try apply: addr_ge0; rewrite mulrn_wge0 ?mulr_ge0.
- rewrite [X in 0 <= X](_ : _ = 1 *+ 2 + c *+ 3 + (c * c) *+ 2); last by ring.
  by rewrite (addr_ge0 (addr_ge0 (mulrn_wge0 2 pos) (mulrn_wge0 3 cc0)) (mulrn_wge0 2 (mulr_ge0 cc0 cc0))).
Qed.

Lemma equal_dp : dp (add_remove (fun=> true)) (ln 2%:R) (fun D => psd_law (equal_above D)).
Proof.
apply: dp_pointwise => D E [_ [_ H]] Y; rewrite lnK ?posrE ?ltr0n //=.
have sz (A B : seq 'rV[R]_1) : one_more A B -> equal_items B = const_mx (1 + (1 + (size A)%:R)).
  by move=> [x /perm_size p]; rewrite /equal_items p /= mulrS.
case: H => /sz E'; rewrite E'.
  by have [] := equal_pair Y (equal_size_ge1 D).
by have [] := equal_pair Y (equal_size_ge1 E).
Qed.

Lemma equal_det D : \det (equal_items D) = 0.
Proof. by rewrite -minorT minor_const cardsT card_ord. Qed.
End Equal.

Theorem dp_t31_gen : DP_T31_GEN.
Proof.
move=> R; split=> [H|].
  apply: (H 1%N 2%N (fun=> true) (@equal_items R) (fun D => psd_law (equal_above D)) _ _ _ _ (@equal_dp R)) => //.
    by move=> D; apply/psd_above; exact: equal_above.
  by exists [::]; split=> //; exact: equal_det.
exists 1%N, 2%N, (@equal_items R), (fun D => psd_law (equal_above D)); split.
  by move=> D; split; [apply/psd_above; exact: equal_above | exact: equal_det].
by split=> //; exists (ln 2%:R); exact: equal_dp.
Qed.

(* One item, one reader with a small number. *)
Section OneItem.
Variable R : realType.

Definition some_rows : pred 'rV[R]_1 := fun x => 0 < x 0 0 <= 1.

Lemma kernel_one (D : seq 'rV[R]_1) : kernel 0 D = (\sum_(x <- D) x 0 0 ^+ 2)%:M.
Proof.
rewrite /kernel raddf0 add0r raddf_sum; apply: eq_bigr => x _ /=.
by apply/matrixP => i j; rewrite !ord1 !mxE big_ord1 !mxE eqxx expr2.
Qed.

Lemma some_bounded x : some_rows x -> norm2 x <= 1.
Proof. by case/andP=> x0 x1; rewrite /norm2 big_ord1 expr_le1 // ltW. Qed.

Lemma some_definite D : all some_rows D -> D <> [::] ->
  forall z : 'rV[R]_1, z != 0 -> 0 < (z *m kernel 0 D *m z^T) 0 0.
Proof.
case: D => [|x D] //= /andP[/andP[x0 _] _] _ z z0.
rewrite -/(bil _ z z) kernel_one bil_scalar dot_norm mulr_gt0 //; last by rewrite lt_neqAle norm2_ge0 eq_sym norm2_eq0 z0.
by rewrite big_cons ltr_paddr ?exprn_gt0 // sumr_ge0 // => y _; exact: sqr_ge0.
Qed.

Lemma dpp_one (c : R) : dpp (c%:M : 'M_1) setT = c / (1 + c).
Proof. by rewrite /dpp minorT -raddfD /= !det_scalar1 addrC. Qed.
End OneItem.

Theorem dp_pd_unif : DP_PD_UNIF.
Proof.
move=> R definite; split=> H.
  have [s s0 Hs] := H 1%N 1 (@some_rows R) (@some_bounded R) (@some_definite R).
  pose u : R := Num.min 1 (s / 2%:R); have u0 : 0 < u by rewrite lt_minr ltr01 divr_gt0 ?ltr0n.
  have [u1 us] : u <= 1 /\ u < s.
    split; first by rewrite le_minl lexx.
    by rewrite lt_minl; apply/orP; right; rewrite ltr_pdivr_mulr ?ltr0n // mulr_natr mulr2n ltr_addl.
  have ok : all (@some_rows R) [:: (const_mx u)] by rewrite /= /some_rows mxE u0 u1.
  have ne : [:: (const_mx u : 'rV[R]_1)] <> [::] by [].
  have := Hs _ ok ne (const_mx 1); rewrite -/(bil _ _ _) kernel_one bil_scalar dot_norm big_seq1 mxE.
  rewrite norm_ones !mulr1 leNgt => /negP; apply.
  by apply: le_lt_trans us; rewrite expr2 -[X in _ <= X]mulr1 ler_pmul2l.
pose M (D : seq 'rV[R]_1) := psd_law (above_kernel 0 D).
have [eps He] := H 1%N 1 (@some_rows R) M (fun _ _ => erefl) (@some_bounded R) (@some_definite R).
set r := expR eps; pose u : R := (3%:R * Num.max 1 r)^-1.
have m0 : 0 < Num.max 1 r by rewrite lt_maxr ltr01.
have u0 : 0 < u by rewrite invr_gt0 mulr_gt0 ?ltr0n.
have u1 : u <= 1.
  rewrite invf_le1 ?mulr_gt0 ?ltr0n // -[X in X <= _]mulr1 ler_pmul ?ler01 ?ler1n //.
  by rewrite le_maxr lexx.
have ok1 : (@some_rows R) (const_mx u) by rewrite /some_rows mxE u0 u1.
have ok2 : (@some_rows R) (const_mx 1) by rewrite /some_rows mxE ltr01 lexx.
have nb : add_remove_some (@some_rows R) [:: (const_mx 1); (const_mx u)] [:: (const_mx u)].
  split=> //; split; rewrite /= ?ok1 ?ok2 //; split=> //; right; by exists (const_mx 1).
have := He _ _ nb [set setT]; rewrite addr0 !chance1 /= !kernel_one !dpp_one !(big_cons, big_nil) !mxE addr0 expr1n.
rewrite -/r leNgt => /negP; apply.
set t := u ^+ 2; have t0 : 0 < t by rewrite exprn_gt0.
have t1 : 0 < 1 + t by rewrite addr_gt0 ?ltr01.
have t2 : 0 < 1 + (1 + t) by rewrite addr_gt0 ?ltr01.
rewrite mulrA ltr_pdivr_mulr // mulrAC ltr_pdivl_mulr //.
have rt : r * t * 3%:R <= 1.
  have -> : r * t * 3%:R = (r * u * 3%:R) * u by rewrite /t; ring.
  apply: (@le_trans _ _ u) => //; rewrite -[X in _ <= X]mul1r ler_pmul2r //.
  apply: (@le_trans _ _ (u * (3%:R * Num.max 1 r))).
    rewrite (_ : r * u * 3%:R = u * (3%:R * r)); last by ring.
    by rewrite !ler_pmul2l ?ltr0n // le_maxr lexx orbT.
  by rewrite mulVf // gt_eqF // mulr_gt0 ?ltr0n.
have t3 : t <= 1 by rewrite expr_le1 // ltW.
apply: (@le_lt_trans _ _ 1).
  apply: le_trans rt; rewrite ler_wpmul2l //; first by rewrite mulr_ge0 ?(ltW t0) // ltW // expR_gt0.
  rewrite -subr_ge0 [X in 0 <= X](_ : _ = 1 - t); last by ring.
  by rewrite subr_ge0.
rewrite -subr_gt0 [X in 0 < X](_ : _ = t *+ 2 + t ^+ 2); last by ring.
by rewrite addr_gt0 ?pmulrn_lgt0 // exprn_gt0.
Qed.

(* The chance of an item that is an eigenvector. *)
Section Axis.
Variables (R : realType) (n : nat) (L : 'M[R]_n) (c l : R) (i : 'I_n).
Let e : 'rV[R]_n := delta_mx 0 i.
Hypotheses (c0 : 0 < c) (HL : above c L) (El : e *m L = l *: e).

Lemma norm_e : norm2 e = 1.
Proof.
rewrite /norm2 (bigD1 i) //= big1 ?addr0; first by rewrite mxE !eqxx expr1n.
by move=> j /negbTE ji; rewrite mxE ji andbF expr0n.
Qed.

Lemma eigen_gt0 : 0 < l.
Proof.
apply: lt_le_trans c0 _; have := HL.2 e; rewrite norm_e mulr1 /bil El -scalemxAl mxE.
by rewrite -/(dot e e) dot_norm norm_e mulr1.
Qed.

Lemma gain_e : gain L e = 1 / l.
Proof.
have l0 : l != 0 by rewrite gt_eqF // eigen_gt0.
have uL := above_unit c0 HL.
have E2 : e *m invmx L = l^-1 *: e.
  by apply: (can_inj (mulmxK uL)); rewrite mulmxKV // -scalemxAl El scalerA mulVf ?scale1r.
by rewrite /gain /bil E2 -scalemxAl mxE -/(dot e e) dot_norm norm_e mulr1 div1r.
Qed.

Lemma gainY_e Y : gainY L e Y = (i \in Y)%:R / l.
Proof.
case: (boolP (i \in Y)) => iY.
  apply/eqP; rewrite eq_le; apply/andP; split; first by rewrite -gain_e (gainY_le _ c0 HL).
  pose v : 'rV[R]_n := l^-1 *: e; have l0 : l != 0 by rewrite gt_eqF // eigen_gt0.
  have := gain_var c0 (above_sub Y HL) (subrow Y e) (l^-1 *: subrow Y e).
  apply: le_trans; rewrite -bil_extend /extend -!scalemxAl.
  have -> : subrow Y e *m rowsub (enum_val (A:=mem Y)) 1%:M = e.
    apply/rowP => j; rewrite mxE (bigD1 (enum_rank_in iY i)) //= big1 ?addr0.
      by rewrite !mxE enum_rankK_in // !eqxx /= mul1r eq_sym.
    move=> k ki; rewrite !mxE (_ : enum_val k == i = false) ?andbF ?mul0r //.
      by apply: contraNF ki => /eqP E; apply/eqP/enum_val_inj; rewrite enum_rankK_in.
  rewrite bilZl bilZr /bil El -scalemxAl mxE -/(dot e e) dot_norm norm_e dotZl dot_norm.
  have -> : norm2 (subrow Y e) = 1.
    rewrite norm_sub (bigD1 i) //= big1 ?addr0; first by rewrite mxE !eqxx expr1n.
    by move=> j /andP[_ /negbTE ji]; rewrite mxE ji andbF expr0n.
  by rewrite (_ : true%:R = 1 :> R) // le_eqVlt; apply/orP; left; apply/eqP; field.
have -> : gainY L e Y = 0.
  rewrite /gainY (_ : subrow Y e = 0); first by rewrite /gain /bil !mul0mx mxE.
  apply/rowP => j; rewrite !mxE (_ : enum_val j == i = false) ?andbF //.
  by apply: contraNF iY => /eqP <-; exact: enum_valP.
by rewrite mul0r.
Qed.

Lemma loss_e : loss L e = 1 / (1 + l).
Proof.
have l0 := eigen_gt0; have l1 : 0 < 1 + l by rewrite addr_gt0 ?ltr01.
have c1 : 0 < 1 + c by rewrite addr_gt0 ?ltr01.
have HL1 := above_add1 HL; have uL1 := above_unit c1 HL1.
have El1 : e *m (L + 1%:M) = (1 + l) *: e by rewrite mulmxDr mulmx1 El scalerDl scale1r addrC.
have E2 : e *m invmx (L + 1%:M) = (1 + l)^-1 *: e.
  by apply: (can_inj (mulmxK uL1)); rewrite mulmxKV // -scalemxAl El1 scalerA mulVf ?scale1r // gt_eqF.
by rewrite /loss /gain /bil E2 -scalemxAl mxE -/(dot e e) dot_norm norm_e mulr1 div1r.
Qed.

Lemma chance_e : \sum_(Y : {set 'I_n} | i \in Y) dpp L Y = l / (1 + l).
Proof.
have l0 := eigen_gt0; have ln : l != 0 by rewrite gt_eqF.
have := sum_gain e c0 HL; rewrite loss_e => H.
have E : \sum_Y dpp L Y * gainY L e Y = (\sum_(Y : {set 'I_n} | i \in Y) dpp L Y) / l.
  rewrite mulr_suml [LHS](bigID (fun Y : {set 'I_n} => i \in Y)) /= [X in _ + X]big1 ?addr0.
    by apply: eq_bigr => Y iY; rewrite gainY_e iY mul1r.
  by move=> Y /negbTE iY; rewrite gainY_e iY mul0r mulr0.
by move: H; rewrite E => /(canRL (mulfVK ln)) ->; rewrite mul1r mulrC.
Qed.
End Axis.

Lemma pos_jitter (R : realType) (s : R) : 0 < (if 0 < s then s else 1).
Proof. by case: ifP => // _; exact: ltr01. Qed.

Lemma epsilon_star_decreasing (R : realType) (s t N : R) : 0 < s -> s < t -> 0 < N -> epsilon_star t N < epsilon_star s N.
Proof.
move=> s0 st N0; have t0 : 0 < t by exact: lt_trans st.
have s1 : 0 < 1 + s by rewrite addr_gt0 ?ltr01.
have t1 : 0 < 1 + t by rewrite addr_gt0 ?ltr01.
have sN : 0 < 1 + s + N by rewrite addr_gt0.
have tN : 0 < 1 + t + N by rewrite addr_gt0.
have q u : 0 < u -> 0 < 1 + N / u by move=> u0; rewrite addr_gt0 ?ltr01 ?divr_gt0.
have d : 1 + N / (1 + t) < 1 + N / (1 + s) by rewrite ltr_add2l ltr_pmul2l // ltf_pinv ?posrE // ltr_add2l.
have upE u : 0 < u -> 0 < 1 + u -> 0 < 1 + u + N -> (1 + N / u) / (1 + N / (1 + u)) = 1 + N / (u * (1 + u + N)).
  by move=> u0 u1 u2; field; rewrite !gt_eqF //= ?addrA ?addr_gt0 // mulr_gt0.
rewrite /epsilon_star -!ln_div ?posrE ?q // !upE // lt_maxl !lt_maxr.
have lnlt (x y : R) : 0 < x -> x < y -> ln x < ln y.
  by move=> x0 xy; rewrite -ltr_expR !lnK ?posrE //; exact: lt_trans xy.
rewrite lnlt //=; last 2 first.
- by rewrite q // mulr_gt0.
- by rewrite ltr_add2l ltr_pmul2l // ltf_pinv ?posrE ?mulr_gt0 // ltr_pmul ?ltr_add2r ?ltr_add2l // ltW.
by apply/orP; right; apply: lnlt => //; exact: q.
Qed.

Theorem dp_jmon : DP_JMON.
Proof.
move=> R n D; pose M (s : R) := dpp_law (pos_jitter s) D.
exists M => [s Y s0|shown s t N s0 st N0]; first by rewrite /M /= s0.
have t0 : 0 < t by exact: lt_trans st.
have shE u i l : 0 < u -> (delta_mx 0 i : 'rV[R]_n) *m kernel u D = l *: delta_mx 0 i -> shown u i = l / (1 + l).
  move=> u0 El; rewrite /shown /chance (eq_bigl (fun Y : {set 'I_n} => i \in Y)) => [|Y]; last by rewrite inE.
  by rewrite -(chance_e u0 (above_kernel u D) El); apply: eq_bigr => Y _; rewrite /= u0.
have unread u i : (forall x, x \in D -> x 0 i = 0) -> (delta_mx 0 i : 'rV[R]_n) *m kernel u D = u *: delta_mx 0 i.
  move=> H; rewrite /kernel mulmxDr mul_mx_scalar mulmx_sumr big_seq big1 ?addr0 // => x xD.
  rewrite mulmxA (_ : delta_mx 0 i *m x^T = 0) ?mul0mx //.
  by rewrite -rowE; apply/rowP => k; rewrite !ord1 !mxE H.
have lt01 u v : 0 < u -> u < v -> u / (1 + u) < v / (1 + v) :> R.
  move=> u0 uv; have v0 : 0 < v by exact: lt_trans uv.
  rewrite ltr_pdivr_mulr ?addr_gt0 ?ltr01 // mulrAC ltr_pdivl_mulr ?addr_gt0 ?ltr01 //.
  by rewrite !mulrDr !mulr1 [v * u]mulrC ltr_add2r.
split; first exact: epsilon_star_decreasing.
  by move=> i Hi; rewrite !(shE _ _ _ _ (unread _ _ Hi)) // lt01.
move=> i j l Hi l0 Hj.
have Ej u : (delta_mx 0 j : 'rV[R]_n) *m kernel u D = (u + l) *: delta_mx 0 j.
  have -> : kernel u D = u%:M + kernel 0 D by rewrite /kernel raddf0 add0r.
  by rewrite mulmxDr mul_mx_scalar Hj scalerDl.
rewrite !(shE _ _ _ _ (unread _ _ Hi)) // !(shE _ _ _ _ (Ej _)) //.
have share u : 0 < u -> u / (1 + u) / ((u + l) / (1 + (u + l))) = 1 - l / ((1 + u) * (u + l)).
  move=> u0; have a1 : 0 < 1 + u by rewrite addr_gt0 ?ltr01.
  have a2 : 0 < u + l by rewrite addr_gt0.
  have a3 : 0 < 1 + (u + l) by rewrite addr_gt0 ?ltr01.
  by field; rewrite !gt_eqF //= ?addrA // mulr_gt0.
rewrite !share // ltr_add2l ltr_opp2 ltr_pmul2l // ltf_pinv ?posrE ?mulr_gt0 ?addr_gt0 ?ltr01 //.
by rewrite ltr_pmul ?ltr_add2l ?ltr_add2r // ltW // addr_gt0 ?ltr01.
Qed.
