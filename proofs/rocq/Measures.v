(* Integrals of nonnegative functions compared, for all functions, measurable or not; independent entries. *)
From mathcomp.classical Require Import boolp classical_sets functions.
From Dpassay Require Import Prelude.
From mathcomp.analysis Require Import signed topology normedtype numfun measure lebesgue_measure lebesgue_integral.
From Dpassay Require Import Statements.
Import Statements.Finite.

Section IntegralRatio.
Variables (R : realType) (d : measure_display) (T : measurableType d).
Local Open Scope ereal_scope.

(* mu <= c nu on sets gives the same for integrals: monotone in the function too. *)
Lemma integral_ratio (mu nu : {measure set T -> \bar R}) (f g : T -> \bar R) (b c : R) : (0 < b)%R -> (0 < c)%R ->
  (forall z, 0 <= f z) -> (forall z, 0 <= g z) -> (forall S, measurable S -> mu S <= b%:E * nu S) ->
  (forall z, f z <= c%:E * g z) -> \int[mu]_z f z <= (b * c)%:E * \int[nu]_z g z.
Proof.
move=> b0 c0 f0 g0 mn fg; rewrite [X in X <= _]ge0_integralTE //; apply: ub_ereal_sup => _ [h hf <-].
have c1 : (0 <= c^-1)%R by rewrite invr_ge0 ltW.
pose h' := scale_nnsfun h c1.
apply: (@le_trans _ _ (b%:E * sintegral nu h)).
  rewrite !sintegralE ge0_mule_fsumr; last by move=> r; exact: nnsfun_mulemu_ge0.
  apply: lee_fsum => // r [t _ <-]; rewrite muleCA; apply: lee_wpmul2l => //.
    by rewrite lee_fin fun_ge0.
  by apply: mn; exact: measurable_sfunP.
have -> : sintegral nu h = c%:E * sintegral nu h'.
  rewrite -sintegralrM; apply: eq_sintegral => z /=.
  by rewrite mulrA divff ?mul1r // gt_eqF.
rewrite EFinM -muleA; apply: lee_wpmul2l; first by rewrite lee_fin ltW.
apply: lee_wpmul2l; first by rewrite lee_fin ltW.
rewrite ge0_integralTE //; apply: ereal_sup_ub; exists h' => //= z.
have := fg z; have := hf z => /= /le_trans h1 /h1.
rewrite -[X in X <= _](_ : c%:E * (c^-1 * h z)%:E = _); first by rewrite lee_pmul2l.
by rewrite -EFinM mulrA divff ?mul1r // gt_eqF.
Qed.
End IntegralRatio.

Section OneMeasure.
Variables (R : realType) (d : measure_display) (T : measurableType d) (mu : {measure set T -> \bar R}).
Local Open Scope ereal_scope.
Lemma integral_le (f g : T -> \bar R) (c : R) : (0 < c)%R -> (forall z, 0 <= f z) -> (forall z, 0 <= g z) ->
  (forall z, f z <= c%:E * g z) -> \int[mu]_z f z <= c%:E * \int[mu]_z g z.
Proof. by move=> c0 f0 g0 fg; rewrite -[c]mul1r; apply: integral_ratio => // S _; rewrite mul1e. Qed.

Lemma integral_mono (f g : T -> \bar R) : (forall z, 0 <= f z) -> (forall z, f z <= g z) -> \int[mu]_z f z <= \int[mu]_z g z.
Proof.
move=> f0 fg; rewrite -[X in _ <= X]mul1e; apply: integral_le => // z; last by rewrite mul1e.
exact: le_trans (fg z).
Qed.

Lemma integral_scale (f : T -> \bar R) (c : R) : (0 < c)%R -> (forall z, 0 <= f z) -> \int[mu]_z (c%:E * f z) = c%:E * \int[mu]_z f z.
Proof.
move=> c0 f0; have cf0 z : 0 <= c%:E * f z by rewrite mule_ge0 // lee_fin ltW.
apply/eqP; rewrite eq_le; apply/andP; split; first exact: integral_le.
have ci : (0 < c^-1)%R by rewrite invr_gt0.
have cc x : (c^-1)%:E * (c%:E * x) = x by rewrite muleA -EFinM mulVf ?gt_eqF // mul1e.
have H : \int[mu]_z f z <= (c^-1)%:E * \int[mu]_z (c%:E * f z) by apply: integral_le => // z; rewrite cc.
have -> : \int[mu]_z (c%:E * f z) = c%:E * ((c^-1)%:E * \int[mu]_z (c%:E * f z)).
  by rewrite muleA -EFinM divff ?gt_eqF // mul1e.
by rewrite lee_wpmul2l // lee_fin ltW.
Qed.
End OneMeasure.

Section Independent.
Variables (R : realType) (d : measure_display) (T : measurableType d).
Local Open Scope ereal_scope.

Lemma independent_ge0 n (P : nat -> {measure set T -> \bar R}) S : measurable S -> 0 <= independent (n := n) P S.
Proof.
elim: n P S => [|n IH] P S mS /=; first exact: measure_ge0.
by apply: integral_ge0 => z _; apply: IH; exact: measurable_xsection.
Qed.

Lemma independent_ratio (e : R) n (P Q : nat -> {measure set T -> \bar R}) :
  (forall i, (i <= n)%N -> forall S, measurable S -> P i S <= (expR e)%:E * Q i S) ->
  forall S, measurable S -> independent (n := n) P S <= (expR (n.+1%:R * e))%:E * independent (n := n) Q S.
Proof.
elim: n P Q => [|n IH] P Q PQ S mS /=; first by rewrite mul1r; exact: PQ.
rewrite -addn1 addnC natrD mulrDl mul1r expRD.
apply: integral_ratio => [||z|z|A mA|z]; rewrite ?expR_gt0 //.
- by apply: independent_ge0; exact: measurable_xsection.
- by apply: independent_ge0; exact: measurable_xsection.
- exact: PQ.
- apply: IH => [i le A mA|]; last exact: measurable_xsection.
  by apply: PQ.
Qed.

Lemma probability_sigma_finite d' (T' : measurableType d') (P : {measure set T' -> \bar R}) :
  P [set: T']%classic = 1 -> sigma_finite [set: T']%classic P.
Proof.
move=> P1; exists (fun=> [set: T']%classic) => [|i]; first by rewrite bigcup_const //; exists 0%N.
by split=> //; rewrite P1 ltry.
Qed.

(* The product is a probability measure. *)
Lemma independent_measure n (P : nat -> {measure set T -> \bar R}) : (forall i, P i [set: T]%classic = 1) ->
  exists2 product : {measure set (projT2 (vectors T n)) -> \bar R}, forall S, product S = independent P S
    & product [set: _]%classic = 1.
Proof.
elim: n P => [|n IH] P P1 /=; first by exists (P 0%N).
have [Q QE Q1] := IH (fun i => P i.+1) (fun i => P1 i.+1).
exists [the measure _ _ of product_measure1 (P 0%N) (probability_sigma_finite Q1)] => [S|] /=.
  by rewrite /product_measure1; apply: eq_integral => z _ /=; rewrite QE.
by rewrite -setMTT product_measure1E // P1 Q1 mule1.
Qed.
End Independent.
