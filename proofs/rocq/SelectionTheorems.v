(* One theorem per claim. *)
From Dpassay Require Import Prelude Statements Core Selection Noise Accuracy Sums Calculus Profile Means Partitions EqualWeights Wallenius.
Import Statements.Selection.

Theorem PP_EM_REP : Statements.Selection.PP_EM_REP.
Proof.
move=> R D nb I q GS eps k GS0 eps0 kI qGS; cbv zeta.
case: (posnP k) => [k0|k0].
  rewrite k0; apply: (@drawn_private R I D nb _ 0 1) => //; first by move=> x j; apply: expR_gt0.
  - by rewrite expr0; apply: expR_ge1; rewrite divr_ge0 ?ler0n.
  move=> x y _ g i /negbTE ig; rewrite mul1r /draw ig mulr0 mul0r invr0 !mulr0.
  by under eq_bigr do rewrite mulr0; under [in X in _ <= X]eq_bigr do rewrite mulr0.
have -> : eps / 2 = 2 * k%:R * (eps / (4 * k%:R)).
  have k0' : k%:R != 0 :> R by rewrite pnatr_eq0 -lt0n.
  by field.
apply: exponential_private => //; first by rewrite divr_ge0 // mulr_ge0 ?ler0n.
by move=> x y xy i; apply: scaled_score => //; [rewrite mulr_gt0 ?ltr0n | apply: qGS].
Qed.

Theorem XM_T1_S : Statements.Selection.XM_T1_S.
Proof.
move=> R D nb I q GS eps GS0 eps0 qGS weight x y xy j P Q.
have qle u v : nb u v -> forall i, `|eps * q u i / (2 * GS) - eps * q v i / (2 * GS)| <= eps / 2.
  by move=> uv i; apply: scaled_score => //; [rewrite ltr0n | apply: qGS].
have P0 z : 0 < \sum_k weight z k by apply: sum_gt0 => [i|]; [apply: expR_gt0 | exists j].
split.
- rewrite /one_draw /P /Q mulrBr mulrBl expRD expRN -/(weight x j) -/(weight y j).
  have := expR_gt0 (eps * q y j / (2 * GS)); rewrite -/(weight y j) => wy.
  by field; rewrite !gt_eqF.
- by rewrite ler_expR /P mulrBr mulrBl; apply: le_trans (ler_norm _) (qle _ _ xy j).
- rewrite /Q ler_pdivr_mulr // mulr_sumr; apply: ler_sum => i _; apply: expR_ratio.
  by rewrite distrC; apply: qle.
Qed.

Lemma xsim_moves (R : realType) (item : Type) (d d' : links R item) (a b : item) (eps : R) : 0 <= eps ->
  in_range d -> in_range d' -> `|eps * xsim d a b / 4 - eps * xsim d' a b / 4| <= eps / 2.
Proof.
move=> eps0 rd rd'; rewrite -mulrBl -mulrBr !normrM (ger0_norm eps0) [`|4^-1|]gtr0_norm ?invr_gt0 ?ltr0n //.
have -> : eps / 2 = eps * 2 / 4 by field.
rewrite ler_pmul2r ?invr_gt0 ?ltr0n //; apply: ler_wpmul2l => //.
by apply: le_trans (ler_norm_sub _ _) _; rewrite -[2]/(1 + 1); apply: ler_add; apply: xsim_range.
Qed.

Theorem XM_T1_REP : Statements.Selection.XM_T1_REP.
Proof.
move=> R item D nb read I item_of ti eps I0 eps0 rng.
have [j _] := card_gt0P I0.
apply: (one_draw_private (z := fun x j => eps * xsim (read x) ti (item_of j) / 4) (t := eps / 2)) => //.
- by field.
- by move=> x y _ i; apply: xsim_moves.
Qed.

Theorem XM_PNSA_REP : Statements.Selection.XM_PNSA_REP.
Proof.
move=> R D nb I q GS w0 eps k GS0 eps0 kI qGS; cbv zeta.
have [k0 kI'] := andP kI; have k0' : 0 < k%:R :> R by rewrite ltr0n.
have k1 : k%:R != 0 :> R by rewrite gt_eqF.
have t0 : 0 <= eps / (4 * k%:R) by rewrite divr_ge0 ?mulr_ge0 ?ler0n // ltW.
have up (a b : D) : (forall i, q a i <= q b i + GS) -> forall i, soft_floor k w0 (q a) i <= soft_floor k w0 (q b) i + GS.
  by move=> ab; apply: soft_floor_le.
have qle (x y : D) : nb x y -> (forall i, q x i <= q y i + GS) /\ (forall i, q y i <= q x i + GS).
  by move=> xy; split=> i; move: (qGS x y xy i); rewrite ler_distl ler_subl_addr => /andP[].
have sf (x y : D) : nb x y -> forall i, `|soft_floor k w0 (q x) i - soft_floor k w0 (q y) i| <= GS.
  by move=> xy i; have [le ge] := qle x y xy; rewrite ler_distl ler_subl_addr !up.
have P : private nb (eps / 2) (fun x => @drawn R I (fun i => expR (eps * soft_floor k w0 (q x) i / (4 * k%:R * GS))) k) /\
  private nb (eps / 2) (fun x => chosen (fun i => expR (eps * soft_floor k w0 (q x) i / (4 * k%:R * GS))) k).
  have -> : eps / 2 = 2 * k%:R * (eps / (4 * k%:R)) by field.
  apply: exponential_private => // x y xy i; apply: scaled_score => //; first exact: ltW.
  - by rewrite mulr_gt0 ?ltr0n.
  - exact: sf.
split=> // [one|T predict B x y xy].
  have -> : eps / 4 = k%:R * (eps / (4 * k%:R)) by field.
  apply: exponential_one_sided => // x y xy; have [i ji] := one x y xy; have [le ge] := qle x y xy.
  have mono (a b : D) : (forall j, q a j <= q b j) -> (forall j, q b j <= q a j + GS) ->
      forall j, eps * soft_floor k w0 (q a) j / (4 * k%:R * GS) <= eps * soft_floor k w0 (q b) j / (4 * k%:R * GS) <=
        eps * soft_floor k w0 (q a) j / (4 * k%:R * GS) + eps / (4 * k%:R).
    move=> ab ba j; have dd : 0 < 4 * k%:R * GS by rewrite !mulr_gt0 ?ltr0n.
    have -> : eps * soft_floor k w0 (q a) j / (4 * k%:R * GS) + eps / (4 * k%:R) =
      eps * (soft_floor k w0 (q a) j + GS) / (4 * k%:R * GS) by field; rewrite k1 gt_eqF.
    rewrite !ler_pmul2r ?invr_gt0 // !ler_pmul2l // up // andbT.
    by rewrite -[X in _ <= X]addr0; apply: soft_floor_le => // l; rewrite addr0.
  have [xyi|xyi] := leP (q x i) (q y i); [left|right]; apply: mono => // j.
  - by have [->//|/ji->] := eqVneq j i.
  - by have [->|/ji->] := eqVneq j i; [apply: ltW|].
have b0 : 0 < 2 * k%:R * GS / eps by rewrite divr_gt0 // !mulr_gt0 ?ltr0n.
have kc : k%:R * (GS / (2 * k%:R * GS / eps)) <= eps / 2.
  by rewrite le_eqVlt; apply/orP; left; apply/eqP; field; rewrite k1 !gt_eqF.
have := noisy_private (fun S z => B (predict S z)) P.2 b0 (ltW GS0) kc xy (qGS x y xy).
by rewrite (_ : eps / 2 + eps / 2 = eps); last by field.
Qed.

(* What the theorems on accuracy share: the margin in the form that the proof uses. *)
Lemma margin (R : realType) (I : finType) (s : I -> R) (SS eps rho : R) (k : nat) :
  0 < SS -> 0 < eps -> 0 < rho < 1 -> (1 <= k < #|I|)%N ->
  let a := eps / (4 * k%:R * SS) in
  let L := 4 * k%:R * SS / eps * ln (k%:R * (#|I| - k)%:R / rho) in
  [/\ 0 < a, 0 <= L, k%:R * (#|I| - k)%:R * expR (- (a * L)) = rho &
      forall w, - (a * w) = - eps * w / (4 * k%:R * SS)].
Proof.
move=> S0 e0 r01 kI a L; have [k1 kI'] := andP kI; have [r0 r1] := andP r01.
have k0 : 0 < k%:R :> R by rewrite ltr0n.
have d0 : 0 < 4 * k%:R * SS by rewrite !mulr_gt0 ?ltr0n.
have p1 := pairs_ge1 R kI; have p0 : 0 < k%:R * (#|I| - k)%:R :> R := lt_le_trans ltr01 p1.
split.
- by rewrite divr_gt0.
- by rewrite mulr_ge0 ?divr_ge0 ?(ltW d0) ?(ltW e0) // ltW // level_gt0.
- have -> : a * L = ln (k%:R * (#|I| - k)%:R / rho) by rewrite /a /L; field; rewrite !gt_eqF.
  exact: level.
- by move=> w; rewrite /a; field; rewrite !gt_eqF.
Qed.

Lemma weighs_gt0 (R : realType) (I : finType) (s : I -> R) (a : R) k w (W : I -> R) : weighs a s k w W -> forall i, 0 < W i.
Proof. by case=> H i; rewrite H expR_gt0. Qed.

Theorem XM_T3_REP : Statements.Selection.XM_T3_REP.
Proof.
move=> R I s SS eps rho k S0 e0 r01 kI; cbv zeta.
have [a0 L0 La Lw] := margin s S0 e0 r01 kI.
have J w W : 0 <= w -> weighs (eps / (4 * k%:R * SS)) s k w W ->
    1 - k%:R * (#|I| - k)%:R * expR (- (eps / (4 * k%:R * SS) * w)) <=
    chosen_chance W k (all_above s (kth_largest s k - w)).
  move=> w0 Ws; apply: le_trans (joint_one a0 kI w0 Ws) _.
  by apply: chosen_chance_le => [|S /andP[]//]; apply: weighs_gt0 Ws.
split=> [W Ws|w W w0 Ws]; first by rewrite -{1}La; apply: J.
by rewrite -Lw; apply: J.
Qed.

Theorem XM_T4_REP : Statements.Selection.XM_T4_REP.
Proof.
move=> R I s SS eps rho k S0 e0 r01 kI; cbv zeta.
have [a0 L0 La Lw] := margin s S0 e0 r01 kI.
have J w W : 0 <= w -> weighs (eps / (4 * k%:R * SS)) s k w W ->
    1 - k%:R * (#|I| - k)%:R * expR (- (eps / (4 * k%:R * SS) * w)) <=
    chosen_chance W k (has_all_above s (kth_largest s k + w)).
  move=> w0 Ws; apply: le_trans (joint_one a0 kI w0 Ws) _.
  by apply: chosen_chance_le => [|S /andP[]//]; apply: weighs_gt0 Ws.
split=> [W Ws|w W w0 Ws]; first by rewrite -{1}La; apply: J.
by rewrite -Lw; apply: J.
Qed.

Theorem PP_LAM_REP : Statements.Selection.PP_LAM_REP.
Proof.
move=> R I s RS eps rho k S0 e0 r01 kI; cbv zeta.
have [k1 kI'] := andP kI; have k0 : 0 < k%:R :> R by rewrite ltr0n.
have Ws w : weighs (eps / (4 * k%:R * RS)) s k w (fun i => expR (eps * s i / (4 * k%:R * RS))).
  by left => i; rewrite mulrAC.
split.
- apply: le_trans ((XM_T3_REP s S0 e0 r01 kI).1 _ (Ws _)) _; apply: chosen_chance_le => [i|S /forall_inP H].
    exact: expR_gt0.
  by apply/forall_inP => j /H/ltW.
- exact: (XM_T4_REP s S0 e0 r01 kI).1 _ (Ws _).
Qed.

Theorem XM_JOINT_REP : Statements.Selection.XM_JOINT_REP.
Proof.
move=> R I s eps rho k e0 r01 kI; cbv zeta; split=> [SS W S0 Ws|SS m M m0 SSb s0].
  have [a0 L0 La _] := margin s S0 e0 r01 kI.
  by rewrite -{1}La; apply: joint_one.
have [k1 kI'] := andP kI; have k0 : 0 < k%:R :> R by rewrite ltr0n.
have p1 := pairs_ge1 R kI; have p0 : 0 < k%:R * (#|I| - k)%:R :> R := lt_le_trans ltr01 p1.
set sk := kth_largest s k; set c := 4 * k%:R / eps * _.
have kI1 : (0 < k <= #|I|)%N by rewrite k1 ltnW.
have [_ [i0 [_ _ si0 _ _]]] := top_k s kI1.
have mM : m <= M by have /andP[/le_trans] := SSb i0; apply.
have M0 : 0 < M := lt_le_trans m0 mM.
have sk0 : 0 <= sk by rewrite /sk -si0.
have b0 : 0 < eps / (4 * k%:R) by rewrite divr_gt0 // mulr_gt0 ?ltr0n.
have c0 : 0 < c by rewrite /c mulr_gt0 ?divr_gt0 ?mulr_gt0 ?ltr0n ?level_gt0.
have w0 : 0 < sk * (1 - m / M) + m * c.
  apply: ltr_paddl; last exact: mulr_gt0.
  by apply: mulr_ge0 => //; rewrite subr_ge0 ler_pdivr_mulr // mul1r.
have w'0 : 0 <= sk * (M / m - 1) + M * c.
  apply: addr_ge0; apply: mulr_ge0; rewrite ?(ltW M0) ?(ltW c0) //.
  by rewrite subr_ge0 ler_pdivl_mulr // mul1r.
set w := sk * _ + _ in w0 *; set w' := sk * _ + _ in w'0 *.
have main (u : I -> R) (W : I -> R) : (forall i, s i <= u i <= Num.max (s i) (sk - w)) ->
    (forall i, W i = expR (eps * u i / (4 * k%:R * SS i))) ->
    1 - rho <= chosen_chance W k (fun S => all_above s (sk - w) S && has_all_above s (sk + w') S).
  move=> su Wu; have u0 i : 0 <= u i by apply: le_trans (s0 i) _; case/andP: (su i).
  have SS0 i : 0 < SS i by apply: lt_le_trans m0 _; case/andP: (SSb i).
  have lo i t : 0 <= t -> t <= u i -> t / M <= u i / SS i.
    by move=> t0 tu; rewrite ler_pmul ?invr_ge0 ?(ltW M0) // lef_pinv ?posrE //; case/andP: (SSb i).
  have hi i t : u i <= t -> u i / SS i <= t / m.
    by move=> tu; rewrite ler_pmul ?invr_ge0 ?(ltW (SS0 i)) // lef_pinv ?posrE //; case/andP: (SSb i).
  have -> : rho = k%:R * (#|I| - k)%:R * expR (- (eps / (4 * k%:R) * c)).
    have -> : eps / (4 * k%:R) * c = ln (k%:R * (#|I| - k)%:R / rho) by rewrite /c; field; rewrite !gt_eqF.
    by rewrite level //; case/andP: r01.
  apply: (joint_log (z := fun i => eps / (4 * k%:R) * (u i / SS i))
    (x1 := eps / (4 * k%:R) * (sk / m)) (x2 := eps / (4 * k%:R) * (sk / M))) => //.
  - by move=> i; rewrite Wu; congr expR; field; rewrite !gt_eqF.
  - move=> i si; rewrite ler_pmul2l //; apply: hi; case/andP: (su i) => _ /le_trans; apply.
    by rewrite le_maxl si /= ler_subl_addr ler_addl ltW.
  - move=> i si; rewrite -mulrDr ler_pmul2l //.
    have -> : sk / m + c = (sk + w') / M by rewrite /w'; field; rewrite !gt_eqF.
    apply: lo; first by rewrite addr_ge0.
    by apply: le_trans (ltW si) _; case/andP: (su i).
  - by move=> i si; rewrite ler_pmul2l //; apply: lo => //; apply: le_trans si _; case/andP: (su i).
  - move=> i si; rewrite -mulrBr ler_pmul2l //.
    have -> : sk / M - c = (sk - w) / m by rewrite /w; field; rewrite !gt_eqF.
    by apply: hi; case/andP: (su i) => _ /le_trans; apply; rewrite le_maxl si lexx.
split.
- by apply: (main (soft_floor k w s)) => // i; rewrite /soft_floor le_maxr !lexx.
- by apply: (main s) => // i; rewrite le_maxr !lexx.
Qed.

Theorem XM_T3_STEP : Statements.Selection.XM_T3_STEP.
Proof.
move=> R I s SS eps w k W gone j S0 e0 kI Ws gk sj.
have [k1 kI'] := andP kI; have k0 : 0 < k%:R :> R by rewrite ltr0n.
have W0 := weighs_gt0 Ws.
have -> : - eps * w / (4 * k%:R * SS) = - (eps / (4 * k%:R * SS) * w) by field; rewrite !gt_eqF.
have a0 : 0 < eps / (4 * k%:R * SS) by rewrite divr_gt0 // !mulr_gt0 ?ltr0n.
have [u [Wu su]] := weighs_floor Ws.
rewrite /draw; case: ifPn => [_|jg]; first exact: expR_ge0.
have [F [_ [Fk _ _ Fge _]]] := top_k s kI.
have /subsetPn[i iF ig] : ~~ (F \subset gone) by apply/negP => /subset_leq_card; rewrite Fk leqNgt gk.
rewrite ler_pdivr_mulr; last exact: left_gt0 jg.
apply: le_trans (_ : expR (- (eps / (4 * k%:R * SS) * w)) * W i <= _); last first.
  by rewrite ler_pmul2l ?expR_gt0 //; apply: left_ge => // l; apply: ltW.
rewrite !Wu -expRD ler_expR addrC -mulrBr ler_pmul2l //.
case/andP: (su j) => _ /le_trans; apply; rewrite le_maxl (ltW (lt_le_trans sj _)) /=.
all: by rewrite ler_sub //; apply: le_trans (Fge i iF) _; case/andP: (su i).
Qed.

Theorem XM_T3_BERN : Statements.Selection.XM_T3_BERN.
Proof. by move=> R T round bad P k P01 H; split; [apply: rounds_right | apply: bernoulli]. Qed.

Theorem XM_T2_MAX_REP : Statements.Selection.XM_T2_MAX_REP.
Proof.
move=> R D nb I s S b eps k b0 e0 kI sym s1 sS Sb Sf; cbv zeta.
case: (posnP k) => [k0|k0].
  rewrite k0; apply: (@drawn_private R I D nb _ 0 1) => //; first by move=> x j; apply: expR_gt0.
  - by rewrite expr0; apply: expR_ge1; rewrite divr_ge0 ?ler0n.
  have D1 x g i : draw (fun j => expR (eps * s x j / (8 * 0%:R * S x j))) g i = draw (fun=> 1) g i.
    have W1 j : expR (eps * s x j / (8 * 0%:R * S x j)) = 1 by rewrite mulr0 mul0r invr0 mulr0 expR0.
    by rewrite /draw; case: ifP => // _; rewrite W1; congr (_ / _); apply: eq_bigr => j _; rewrite W1.
  by move=> x y _ g i _; rewrite !D1 mul1r.
have k0' : k%:R != 0 :> R by rewrite pnatr_eq0 -lt0n.
have f0 : 0 < expR b - 1 by rewrite subr_gt0 expR_gt1.
have S0 x j : 0 < S x j := lt_le_trans f0 (Sf x j).
have ratio x y : nb x y -> forall j, `|s x j / S x j - s y j / S y j| <= 2.
  move=> xy j; have Sx := S0 x j; have Sy := S0 y j.
  have -> : s x j / S x j - s y j / S y j = (s x j - s y j) / S x j + s y j * ((S y j - S x j) / (S x j * S y j)).
    by field; rewrite !gt_eqF.
  apply: le_trans (ler_norm_add _ _) _; rewrite -[2]/(1 + 1); apply: ler_add.
    by rewrite normrM normfV (gtr0_norm Sx) ler_pdivr_mulr // mul1r; apply: sS.
  rewrite normrM; apply: mulr_ile1 => //; rewrite normrM normfV (gtr0_norm (mulr_gt0 Sx Sy)).
  rewrite ler_pdivr_mulr ?mulr_gt0 // mul1r ler_norml; apply/andP; split.
  - rewrite ler_oppl opprB; apply: le_trans (_ : (expR b - 1) * S y j <= _).
      by rewrite mulrBl mul1r ler_add2r; apply: Sb.
    by rewrite ler_pmul2r.
  - apply: le_trans (_ : (expR b - 1) * S x j <= _).
      by rewrite mulrBl mul1r ler_add2r; apply: Sb; apply: sym.
    by rewrite mulrC ler_pmul2l.
have -> : eps / 2 = 2 * k%:R * (eps / (4 * k%:R)) by field.
apply: exponential_private => //; first by rewrite divr_ge0 // mulr_ge0 ?ler0n.
move=> x y xy i.
have e (u : D) : eps * s u i / (8 * k%:R * S u i) = eps / (8 * k%:R) * (s u i / S u i) by field; rewrite k0' gt_eqF.
rewrite !e -mulrBr normrM ger0_norm; last by rewrite divr_ge0 // mulr_ge0 ?ler0n.
have -> : eps / (4 * k%:R) = eps / (8 * k%:R) * 2 by field.
by apply: ler_wpmul2l; [rewrite divr_ge0 // mulr_ge0 ?ler0n | apply: ratio].
Qed.

Theorem PP_E10 : Statements.Selection.PP_E10.
Proof.
move=> R I N s; rewrite expectation; apply: eq_bigr => i _; congr (_ * _).
by rewrite /chance; apply: eq_bigl => S; rewrite inE.
Qed.

Theorem PP_CHEB : Statements.Selection.PP_CHEB.
Proof.
move=> R k s mu sd s0 [i0 si0] mud; cbv zeta; set S := \sum_i s i; set A := \sum_i s i * mu i; set M := \sum_i mu i.
have S0 : 0 < S.
  rewrite lt_neqAle sumr_ge0 // andbT eq_sym psumr_eq0 //; apply: contra si0 => /allP/(_ i0).
  by rewrite mem_index_enum => /(_ isT).
have k0 : 0 < k%:R :> R by rewrite ltr0n; apply: leq_ltn_trans (leq0n i0) (ltn_ord i0).
rewrite chebyshev_identity -/A -/S -/M.
have E : A / S - M / k%:R = (k%:R * A - S * M) / (k%:R * S) by field; rewrite !gt_eqF.
split=> //; rewrite E -chebyshev_identity; apply: divr_ge0; last by rewrite mulr_ge0 ?ltW.
apply: sumr_ge0 => i _; apply: sumr_ge0 => j /ltnW ij.
by apply: mulr_ge0; rewrite subr_ge0; [apply: sd | apply: mud].
Qed.

Theorem XM_T1_COMP_REP : Statements.Selection.XM_T1_COMP_REP.
Proof.
move=> R item D nb read I item_of L ti eps I0 eps0 rng; cbv zeta.
have [j0 _] := card_gt0P I0.
split.
  apply: (product_private (p := fun x l => one_draw (fun j => expR (eps * xsim (read x) (ti l) (item_of j) / 4)))) => l.
  exact: (XM_T1_REP nb item_of (ti l) I0 eps0 rng).
move=> x y _ alpha a1; rewrite /renyi.
pose z u l j := eps * xsim (read u) (ti l) (item_of j) / 4.
pose p u l := one_draw (fun j => expR (z u l j)).
have Z0 u l : 0 < \sum_j expR (z u l j) by apply: sum_gt0 => [i|]; [apply: expR_gt0 | exists j0].
have p0 u l j : 0 < p u l j by rewrite divr_gt0 ?expR_gt0.
have p1 u l : \sum_j p u l j = 1 by rewrite -mulr_suml divff // gt_eqF.
have lnp u l j : ln (p u l j) = z u l j - ln (\sum_i expR (z u l i)).
  by rewrite /p /one_draw ln_div ?posrE ?expR_gt0 // expK.
rewrite -/p; set S := \sum_(t : {ffun _}) _.
have -> : S = \prod_l \sum_j expR (alpha * ln (p x l j)) * expR ((1 - alpha) * ln (p y l j)).
  rewrite -product_sum; apply: eq_bigr => v _.
  by rewrite (exp_ln_prod alpha (u := fun l => p x l (v l))) // (exp_ln_prod _ (u := fun l => p y l (v l))) // -big_split.
rewrite ler_pdivr_mulr ?subr_gt0 //.
have one l : 0 < \sum_j expR (alpha * ln (p x l j)) * expR ((1 - alpha) * ln (p y l j)) /\
    ln (\sum_j expR (alpha * ln (p x l j)) * expR ((1 - alpha) * ln (p y l j))) <= alpha * (alpha - 1) * (eps ^+ 2 / 8).
  apply: (renyi_sum (b := ln (\sum_i expR (z y l i)) - ln (\sum_i expR (z x l i)) - eps / 2)) => // j.
  rewrite !lnp; have := xsim_moves (ti l) (item_of j) eps0 (rng x) (rng y).
  rewrite -/(z x l j) -/(z y l j) ler_norml => /andP[lo hi].
  set A := ln (\sum_i expR (z x l i)); set B := ln (\sum_i expR (z y l i)).
  apply/andP; split; rewrite -subr_ge0.
  - by rewrite (_ : _ - _ = z x l j - z y l j - (- (eps / 2))) ?subr_ge0 //; ring.
  - by rewrite (_ : _ - _ = eps / 2 - (z x l j - z y l j)) ?subr_ge0 //; field.
have -> : alpha * (L%:R * eps ^+ 2 / 8) * (alpha - 1) = L%:R * (alpha * (alpha - 1) * (eps ^+ 2 / 8)) by field.
pose G l := \sum_j expR (alpha * ln (p x l j)) * expR ((1 - alpha) * ln (p y l j)).
suff [] : 0 < \prod_l G l /\ ln (\prod_l G l) <= \sum_(l < L) alpha * (alpha - 1) * (eps ^+ 2 / 8).
  by rewrite sumr_const card_ord -mulr_natl.
elim/big_rec2: _ => [|l u v _ [v0 vu]]; first by rewrite ltr01 ln1.
have [o0 ole] := one l; rewrite -/(G l) in o0 ole.
by split; [apply: mulr_gt0 | rewrite lnM ?posrE //; apply: ler_add].
Qed.

Theorem PP_L1 : Statements.Selection.PP_L1.
Proof.
move=> R I weight I0 w0; split=> [mu mu'|j k jI kI]; first exact: manly_lemma1.
rewrite !inclusion_sum // ltr_nat; split=> [H|jk i]; last exact: inclusion_mono.
have /card_gt0P[i _] := I0; rewrite ltnNge; apply/negP => kj; have := H i.
by move: kj; rewrite leq_eqVlt => /orP[/eqP->|kj]; rewrite ?ltxx // ltNge ltW // inclusion_mono.
Qed.

Theorem PP_BEST : Statements.Selection.PP_BEST.
Proof. by move=> R n k w1 s mu best kn; apply: best_case. Qed.

Theorem PP_P : Statements.Selection.PP_P.
Proof. exact: partition_accuracy. Qed.

Theorem PP_T1_REP : Statements.Selection.PP_T1_REP.
Proof. exact: equal_weights. Qed.

Theorem PP_PMF : Statements.Selection.PP_PMF.
Proof. exact: law_of_draws. Qed.
