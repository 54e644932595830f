(* The standard Gaussian law: its mass is finite, and a linear form of independent draws has no atoms. *)
From mathcomp.classical Require Import boolp classical_sets functions.
From Dpassay Require Import Prelude.
From mathcomp.analysis Require Import signed topology normedtype numfun measure lebesgue_measure lebesgue_integral.
From Dpassay Require Import Statements Measures.
Import Statements.Finite.

Section Gaussian.
Variable R : realType.
Local Notation mu := (@lebesgue_measure R).
Local Open Scope ereal_scope.

Lemma bell_gt0 (z : R) : (0 < bell z)%R. Proof. exact: expR_gt0. Qed.
Lemma bell_le1 (z : R) : (bell z <= 1)%R.
Proof. by rewrite -expR0 /bell ler_expR oppr_le0 divr_ge0 ?sqr_ge0 ?ler0n. Qed.

(* On |z| >= k it is at most e^2 / 4^k. *)
Lemma bell_tail (z : R) k : (k%:R <= `|z| -> bell z <= expR 2 / 4 ^+ k)%R.
Proof.
move=> kz; apply: (@le_trans _ _ (expR (2 - k%:R * 2))%R).
  rewrite /bell ler_expR -subr_ge0.
  rewrite (_ : _ - _ = (`|z| - 2) ^+ 2 / 2 + 2 * (`|z| - k%:R))%R.
    by rewrite addr_ge0 ?divr_ge0 ?sqr_ge0 // mulr_ge0 ?subr_ge0.
  have -> : (z ^+ 2 = `|z| ^+ 2)%R by rewrite real_normK ?num_real.
  by field.
rewrite expRB ler_pmul2l ?expR_gt0 // lef_pinv ?posrE ?expR_gt0 ?exprn_gt0 //; last by rewrite ltr0n.
rewrite expRMm; apply: ler_expn2r; [by rewrite nnegrE ler0n | by rewrite nnegrE ltW ?expR_gt0 | ].
have e2 : (2 <= expR 1 :> R)%R by exact: expR_ge1Dx.
have : (2 * 2 <= expR 1 * expR 1 :> R)%R by apply: ler_pmul; rewrite ?ler0n.
by rewrite -expRD (_ : 2 * 2 = 4)%R 1?(_ : 1 + 1 = 2)%R //; ring.
Qed.

Definition around (c : R) : set R := `[(- c)%R, c]%classic.
Lemma in_around c (z : R) : (`|z| <= c)%R -> \1_(around c) z = 1%R :> R.
Proof. by move=> zc; rewrite indicE mem_set // /around /= in_itv /= -ler_norml. Qed.
Lemma length_around c : (0 < c)%R -> mu (around c) = (2 * c)%:E.
Proof.
move=> c0; rewrite /around lebesgue_measure_itv hlength_itv /= lte_fin gtr_opp // -EFinB.
by congr EFin; ring.
Qed.
Let ball k := around k.+1%:R.
Lemma geometric_bound (e m : R) k : (0 < e -> m <= 2 ^+ k -> e / 4 ^+ k * (2 * m) <= 4 * e / (2 * 2 ^+ k))%R.
Proof.
move=> e0 mP; have -> : (4 ^+ k = 2 ^+ k * 2 ^+ k :> R)%R by rewrite -exprMn; congr (_ ^+ k)%R; ring.
have P0 : (0 < 2 ^+ k :> R)%R by rewrite exprn_gt0 // ltr0n.
move: (2 ^+ k)%R P0 mP => P P0 mP; rewrite -subr_ge0 (_ : _ - _ = 2 * e / (P * P) * (P - m))%R.
  by rewrite mulr_ge0 ?subr_ge0 // divr_ge0 ?mulr_ge0 ?ler0n // ltW.
by field; rewrite gt_eqF.
Qed.
Let a k : R := (expR 2 / 4 ^+ k)%R.
Let a_gt0 k : (0 < a k)%R.
Proof. by rewrite divr_gt0 ?expR_gt0 // exprn_gt0 // ltr0n. Qed.

Lemma bell_series (z : R) : (bell z)%:E <= \sum_(k <oo) (a k * \1_(ball k) z)%:E.
Proof.
pose k := absz (floor `|z|).
have kf : (k%:R = (floor `|z|)%:~R :> R)%R by rewrite /k -[in RHS](@gez0_abs (floor `|z|)) ?floor_ge0.
have kz : (k%:R <= `|z| < k%:R + 1)%R by rewrite kf floor_le lt_succ_floor.
apply: (@le_trans _ _ (\sum_(0 <= i < k.+1) (a i * \1_(ball i) z)%:E)); last first.
  by apply: nneseries_lim_ge => i _; rewrite lee_fin mulr_ge0 // ltW.
rewrite big_nat_recr //= -[X in X <= _]add0e; apply: lee_add.
  by apply: sume_ge0 => i _; rewrite lee_fin mulr_ge0 // ltW.
case/andP: kz => k1 k2; rewrite lee_fin in_around ?mulr1; first exact: bell_tail.
by rewrite -addn1 natrD ltW.
Qed.

Lemma mass_finite : \int[mu]_t (bell t)%:E < +oo.
Proof.
apply: (@le_lt_trans _ _ (\int[mu]_t (\sum_(k <oo) (a k * \1_(ball k) t)%:E))).
  by apply: integral_mono => z; [rewrite lee_fin ltW ?bell_gt0 | exact: bell_series].
have mball k : measurable (ball k) by exact: measurable_itv.
rewrite integral_nneseries //; last 2 first.
- move=> k; apply/EFin_measurable_fun; apply: (@measurable_funrM _ _ _ _ (\1_(ball k) : R -> R) (a k)).
  exact: (@measurable_fun_indic _ _ R _ _ (mball k)).
- by move=> k z _; rewrite lee_fin mulr_ge0 // ltW.
have I k : \int[mu]_z (\1_(ball k) z)%:E = (2 * k.+1%:R)%:E.
  rewrite integral_indic //; last exact: mball.
  by rewrite classical_sets.setIT; apply: length_around; rewrite ltr0n.
have E k : \int[mu]_z (a k * \1_(ball k) z)%:E = (a k)%:E * (2 * k.+1%:R)%:E.
  rewrite -I -(integral_scale _ (a_gt0 k)) => [|z]; last by rewrite lee_fin.
  by apply: eq_integral => z _; rewrite EFinM.
under eq_nneseries do rewrite E.
apply: (@le_lt_trans _ _ (\sum_(k <oo) (0 + (4 * expR 2 / (2 ^ k.+1)%:R)%:E))).
  apply: lee_nneseries => k _; first by apply: mule_ge0; rewrite lee_fin; [exact: ltW | rewrite mulr_ge0 ?ler0n].
  rewrite add0e -EFinM lee_fin /a natrX exprS; apply: geometric_bound; rewrite ?expR_gt0 //.
  by rewrite -natrX ler_nat ltn_expl.
apply: (le_lt_trans (epsilon_trick _ _ _)) => //.
  by apply: mulr_ge0; [rewrite ler0n | exact: ltW (expR_gt0 _)].
by rewrite eseries0 // add0e ltry.
Qed.
Lemma mass_gt0 : 0 < \int[mu]_t (bell t)%:E.
Proof.
apply: (@lt_le_trans _ _ (\int[mu]_t ((expR (- (1 / 2)))%:E * (\1_(around 1) t)%:E))); last first.
  apply: integral_mono => z; first by apply: mule_ge0; rewrite lee_fin // ltW ?expR_gt0.
  rewrite -EFinM lee_fin indicE; case: (boolP (z \in _)) => zi; last by rewrite mulr0 ltW ?bell_gt0.
  rewrite mulr1 ler_expR ler_opp2 ler_pmul2r ?invr_gt0 ?ltr0n //.
  move/set_mem: zi; rewrite /around /= in_itv /= -ler_norml => z1.
  have -> : (z ^+ 2 = `|z| ^+ 2)%R by rewrite real_normK ?num_real.
  by rewrite exprn_ile1.
rewrite integral_scale ?expR_gt0 //; last by move=> z; rewrite lee_fin.
rewrite integral_indic //; last exact: measurable_itv.
rewrite classical_sets.setIT; apply: (@lt_le_trans _ _ ((expR (- (1 / 2)))%:E * (2 * 1)%:E)).
  by rewrite -EFinM lte_fin mulr_gt0 ?expR_gt0 // mulr1 ltr0n.
by rewrite le_eqVlt; apply/orP; left; apply/eqP; congr (_ * _); apply/esym/length_around; rewrite ltr01.
Qed.

Let mass : R := fine (\int[mu]_t (bell t)%:E).
Lemma massE : \int[mu]_t (bell t)%:E = mass%:E.
Proof. by rewrite /mass fineK // ge0_fin_numE ?mass_finite // ltW // mass_gt0. Qed.
Lemma mass_pos : (0 < mass)%R.
Proof. by rewrite -lte_fin -massE mass_gt0. Qed.

Lemma density_gt0 (z : R) : (0 < gaussian_density z)%R.
Proof. by rewrite divr_gt0 ?bell_gt0 ?mass_pos. Qed.

Lemma density_le (z : R) : (gaussian_density z <= mass^-1)%R.
Proof. by rewrite -[X in (_ <= X)%R]mul1r ler_pmul2r ?bell_le1 // invr_gt0 mass_pos. Qed.

(* The density integrates to 1. *)
Lemma density_total : \int[mu]_z (gaussian_density z)%:E = 1.
Proof.
have m0 : (0 < mass^-1)%R by rewrite invr_gt0 mass_pos.
transitivity (\int[mu]_z ((mass^-1)%:E * (bell z)%:E)).
  by apply: eq_integral => z _; rewrite -EFinM mulrC.
rewrite integral_scale // => [|z]; last by rewrite lee_fin ltW ?bell_gt0.
by rewrite massE -EFinM mulVf // gt_eqF // mass_pos.
Qed.

Lemma chance_ge0 k (E : seq R -> bool) : 0 <= gaussian_chance k E.
Proof.
elim: k E => [|k IH] E /=; first by rewrite lee_fin ler0n.
by apply: integral_ge0 => z _; apply: mule_ge0; rewrite ?lee_fin ?(ltW (density_gt0 _)).
Qed.

Lemma chance_all k (E : seq R -> bool) : (forall zs, E zs) -> gaussian_chance k E = 1.
Proof.
elim: k E => [|k IH] E HE /=; first by rewrite HE.
by under eq_integral do rewrite IH // mule1; exact: density_total.
Qed.

Lemma chance_none k (E : seq R -> bool) : (forall zs, E zs = false) -> gaussian_chance k E = 0.
Proof.
elim: k E => [|k IH] E HE /=; first by rewrite HE.
by under eq_integral do rewrite IH // mule0; rewrite integral0.
Qed.

Lemma chance_mono k (E F : seq R -> bool) : (forall zs, E zs -> F zs) -> gaussian_chance k E <= gaussian_chance k F.
Proof.
elim: k E F => [|k IH] E F EF /=; first by rewrite lee_fin ler_nat; case: (E [::]) (EF [::]) => // ->.
apply: integral_mono => z; first by apply: mule_ge0; rewrite ?chance_ge0 // lee_fin ltW // density_gt0.
by apply: lee_wpmul2l; [rewrite lee_fin ltW // density_gt0 | apply: IH => zs; exact: EF].
Qed.

Lemma chance_le1 k (E : seq R -> bool) : gaussian_chance k E <= 1.
Proof. by rewrite -(@chance_all k xpredT) //; exact: chance_mono. Qed.

Lemma point_null (f : R -> \bar R) (c : R) (b : R) : (0 < b)%R -> (forall z, 0 <= f z <= b%:E) -> (forall z, z != c -> f z = 0) ->
  \int[mu]_z f z = 0.
Proof.
move=> b0 f0 fc; apply/eqP; rewrite eq_le; apply/andP; split; last by apply: integral_ge0 => z _; case/andP: (f0 z).
apply: (@le_trans _ _ (\int[mu]_z (b%:E * (\1_[set c] z)%:E))).
  apply: integral_mono => z; first by case/andP: (f0 z).
  have [-> | /fc ->] := eqVneq z c; last by rewrite -EFinM lee_fin mulr_ge0 // ltW.
  by rewrite indicE mem_set // mule1; case/andP: (f0 c).
rewrite integral_scale // => [|z]; last by rewrite lee_fin.
rewrite integral_indic //.
rewrite classical_sets.setIT -[X in _ <= X](mule0 b%:E); apply: lee_wpmul2l; first by rewrite lee_fin ltW.
by rewrite le_eqVlt; apply/orP; left; apply/eqP; exact: lebesgue_measure_set1.
Qed.

Lemma chance_ext k (E F : seq R -> bool) : E =1 F -> gaussian_chance k E = gaussian_chance k F.
Proof. by move=> /funext ->. Qed.

(* A linear form that is not 0 is equal to a number with chance 0. *)
Lemma chance_linear k (u : nat -> R) (c : R) : (exists2 i, (i < k)%N & u i != 0%R) ->
  gaussian_chance k (fun zs => \sum_(i < k) u i * nth 0 zs i == c)%R = 0.
Proof.
elim: k u c => [|k IH] u c [i ik ui] //=.
have E z zs : (\sum_(i < k.+1) u i * nth 0 (z :: zs) i == c)%R = (\sum_(i < k) u i.+1 * nth 0 zs i == c - u 0%N * z)%R.
  by rewrite big_ord_recl /= [in RHS]eq_sym subr_eq eq_sym addrC.
have [[j jk uj] | none] := pselect (exists2 j, (j < k)%N & u j.+1 != 0%R).
  transitivity (\int[mu]_z (cst (0 : \bar R) z)); last exact: integral0.
  by apply: eq_integral => z _; rewrite (chance_ext _ (E z)) (IH (fun i => u i.+1)) ?mule0 //; exists j.
have u0 j : (j < k)%N -> u j.+1 = 0%R by move=> jk; apply: contra_notP none => /eqP uj; exists j.
case: i ik ui => [|i] ik ui; last by rewrite u0 ?eqxx in ui.
apply: (@point_null _ (c / u 0%N) mass^-1) => [|z|z zc]; first by rewrite invr_gt0 mass_pos.
  rewrite mule_ge0 ?chance_ge0 ?lee_fin ?(ltW (density_gt0 _)) //=.
  rewrite -[X in _ <= X]mule1; apply: lee_pmul; rewrite ?chance_ge0 ?chance_le1 ?lee_fin ?density_le //.
  exact: ltW (density_gt0 _).
rewrite chance_none ?mule0 // => zs; rewrite E big1 => [|j _]; last by rewrite u0 ?mul0r.
apply/negbTE; apply: contra zc => /eqP H; apply/eqP.
by rewrite -[c](subrK (u 0%N * z)%R) -H add0r mulrC mulKf.
Qed.
End Gaussian.
