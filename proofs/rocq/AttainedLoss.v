(* The privacy loss of the modified Laplace mechanism is attained. *)
From mathcomp.classical Require Import boolp classical_sets functions.
From Dpassay Require Import Prelude.
From mathcomp.analysis Require Import signed topology normedtype numfun measure lebesgue_measure lebesgue_integral.
From Dpassay Require Import Statements Measures Core Selection Noise RatingCollection ModifiedLaplace.
Import Statements.Selection.
Import Statements.Finite.

(* All releases are numbers in [1, 2]. *)
Section Tight.
Variables (R : realType) (eps : R).
Hypothesis eps0 : 0 < eps.
Local Notation mu := (@lebesgue_measure R).
Let b : R := 2 / eps.
Let b0 : 0 < b. Proof. by rewrite divr_gt0 ?ltr0n. Qed.
Definition boxed (z : option R) : bool := if z is Some a then 1 <= a <= 2 else false.
Definition interval : set R := `[1%R, 2%R]%classic.
Local Open Scope ereal_scope.

Lemma length_interval : mu interval = 1.
Proof.
rewrite /interval lebesgue_measure_itv hlength_itv /= lte_fin ltr1n -EFinB; congr EFin.
by rewrite (_ : 2 = 1 + 1)%R ?addrK //; ring.
Qed.

Lemma indicator_integral (c : R) : (0 < c)%R -> \int[mu]_z (c%:E * (\1_interval z)%:E) = c%:E.
Proof.
move=> c0; rewrite integral_scale // => [|z]; last by rewrite lee_fin.
rewrite integral_indic //; last exact: measurable_itv.
by rewrite classical_sets.setIT -[RHS]mule1; congr (_ * _); exact: length_interval.
Qed.

Lemma indicator_boxed z : (\1_interval z = (boxed (Some z))%:R :> R)%R.
Proof.
rewrite indicE /interval; congr (_%:R)%R; congr nat_of_bool.
by apply/idP/idP => [/set_mem|H]; [|apply/mem_set]; rewrite /= in_itv.
Qed.

(* The chance of a number in [1, 2] for a rating a. *)
Definition box_mass (a : R) : \bar R := \int[mu]_z ((laplace_density b (z - a))%:E * (\1_interval z)%:E).

Lemma box_mass_bounds (a : R) : (-1 <= a <= 1)%R -> 0 < box_mass a < +oo.
Proof.
move=> /andP[a1 a2]; pose low : R := (expR (- (2 - -1) / b) / (2 * b))%R; pose high : R := (1 / (2 * b))%R.
have bb : (0 < 2 * b)%R by rewrite mulr_gt0 ?ltr0n.
have low0 : (0 < low)%R by rewrite divr_gt0 ?expR_gt0.
have high0 : (0 < high)%R by rewrite divr_gt0 ?ltr01.
have L0 z : 0 <= (laplace_density b (z - a))%:E by rewrite lee_fin laplace_ge0.
have i0 z : 0 <= (\1_interval z)%:E :> \bar R by rewrite lee_fin.
apply/andP; split.
  apply: (@lt_le_trans _ _ low%:E); first by rewrite lte_fin.
  rewrite -indicator_integral //; apply: integral_mono => z; first by apply: mule_ge0 => //; rewrite lee_fin ltW.
  rewrite indicator_boxed /boxed; case: (boolP (1 <= z <= 2)%R) => [/andP[z1 z2]|_]; last by rewrite !mule0.
  rewrite !mule1 lee_fin /low /laplace_density ler_pmul2r ?invr_gt0 // ler_expR ler_pmul2r ?invr_gt0 // ler_opp2.
  rewrite ger0_norm; last by rewrite subr_ge0 (le_trans a2).
  exact: ler_sub.
apply: (@le_lt_trans _ _ high%:E); last by rewrite ltry.
rewrite -indicator_integral //; apply: integral_mono => z; first by apply: mule_ge0.
apply: lee_wpmul2r => //; rewrite lee_fin /high /laplace_density ler_pmul2r ?invr_gt0 //.
by rewrite -(expR0 R) ler_expR mulNr oppr_le0 divr_ge0 // ltW.
Qed.

Lemma box_mass_ratio : box_mass 1 = (expR eps)%:E * box_mass (- 1).
Proof.
rewrite /box_mass -integral_scale ?expR_gt0 // => [|z]; last first.
  by apply: mule_ge0; rewrite lee_fin ?laplace_ge0.
apply: eq_integral => z _; rewrite indicator_boxed /boxed; case: (boolP (1 <= z <= 2)%R) => [/andP[z1 z2]|_]; last by rewrite !mule0.
rewrite !mule1 -EFinM; congr EFin; rewrite /laplace_density [RHS]mulrA -expRD; congr (expR _ / _)%R.
have p1 : (0 <= z - 1)%R by rewrite subr_ge0.
have p2 : (0 <= z - -1)%R by rewrite subr_ge0 (le_trans _ z1) // (le_trans (lerN10 R)) ?ler01.
rewrite (ger0_norm p1) (ger0_norm p2).
by rewrite /b; field; rewrite gt_eqF.
Qed.

Lemma ml_none (s : seq (option R)) S : (forall zs, S zs = false) -> ml_chance eps s S = 0.
Proof.
elim: s S => [|x s IH] S S0; rewrite /= ?S0 // /ml_mean IH // mule0 adde0.
by under eq_integral do rewrite IH // mule0; rewrite integral0 mule0.
Qed.

Lemma box_step (a c : R) (s : seq (option R)) : (0 < c)%R -> ml_chance eps s (all boxed) = c%:E ->
  ml_chance eps (Some a :: s) (all boxed) = (number_chance eps (Some a) * c)%:E * box_mass a.
Proof.
move=> c0 E /=; rewrite /ml_mean ml_none // mule0 adde0 -/b [in RHS]EFinM -[RHS]muleA; congr (_ * _).
rewrite /box_mass -integral_scale // => [|z]; last by apply: mule_ge0; rewrite lee_fin ?laplace_ge0.
apply: eq_integral => z _; rewrite indicator_boxed muleCA; congr (_ * _).
case: (boolP (boxed (Some z))) => H; last by rewrite ml_none ?mule0 // => zs; rewrite (negbTE H).
by rewrite mule1 -E; congr ml_chance; apply/funext => zs; rewrite H.
Qed.

Lemma box_chance (I : Type) (s : seq I) (p : pred I) :
  exists2 c : R, (0 < c)%R &
    ml_chance eps [seq (if p i then Some (- 1)%R else Some 1%R) | i <- s] (all boxed) = c%:E /\
    ml_chance eps [seq Some 1%R | i <- s] (all boxed) = (expR ((count p s)%:R * eps))%:E * c%:E.
Proof.
have one : (-1 <= (1 : R) <= 1)%R by rewrite lexx andbT (le_trans (lerN10 R)) ?ler01.
have minus : (-1 <= (-1 : R) <= 1)%R by rewrite lexx (le_trans (lerN10 R)) ?ler01.
elim: s => [|i s [c c0 [E1 E2]]]; first by exists 1%R; rewrite ?ltr01 //= mul0r expR0 mul1e.
have N0 : (0 < number_chance eps (Some (1 : R)))%R by exact: number_gt0.
have Q0 : (0 < expR ((count p s)%:R * eps))%R by exact: expR_gt0.
have [/andP[m0 mf] /andP[k0 kf]] := (box_mass_bounds one, box_mass_bounds minus).
have [m mE] : exists m : R, box_mass 1 = m%:E
  by exists (fine (box_mass 1)); rewrite fineK; [| rewrite ge0_fin_numE; [exact: mf | exact: ltW m0]].
have [k kE] : exists k : R, box_mass (- 1) = k%:E
  by exists (fine (box_mass (- 1))); rewrite fineK; [| rewrite ge0_fin_numE; [exact: kf | exact: ltW k0]].
have mk : (m = expR eps * k)%R by have := box_mass_ratio; rewrite mE kE -EFinM => -[].
have {}k0 : (0 < k)%R by rewrite -lte_fin -kE.
have {}m0 : (0 < m)%R by rewrite -lte_fin -mE.
rewrite -EFinM in E2.
exists (number_chance eps (Some (1 : R)) * c * (if p i then k else m))%R.
  by apply: mulr_gt0; [exact: mulr_gt0 | case: ifP].
split; last rewrite [map _ _]/= (box_step 1 (mulr_gt0 Q0 c0) E2) mE -!EFinM; last first.
  rewrite (_ : count p (i :: s) = (p i + count p s)%N) //; congr EFin.
  by case: (p i); rewrite ?add0n ?natrD ?mk ?mulrDl ?mul1r ?expRD; ring.
by case: ifP => pi; rewrite [map _ _]/= pi (box_step _ c0 E1) ?mE ?kE -EFinM.
Qed.
End Tight.

Lemma RC_T1_TIGHT_proof : RC_T1_TIGHT.
Proof.
move=> R n k eps eps0 kn; split=> [x y S rx ry <-||d d0 k0]; first exact: ml_vector_ratio.
  have minus : -1 <= 1 :> R by rewrite (le_trans (lerN10 R)) ?ler01.
  pose p (i : 'I_n) := (i < k)%N.
  exists [ffun=> Some 1], [ffun i => if p i then Some (- 1) else Some 1]; split=> [i|].
    by rewrite !ffunE; case: ifP; rewrite /= !lexx ?minus.
  have ck : count p (enum 'I_n) = k.
    by rewrite -sum1_count big_enum_cond big_mkcond /= -[RHS](sum_below kn); apply: eq_bigr => i _; rewrite /p; case: ltnP.
  split.
    rewrite -ck -sum1_count big_enum_cond big_mkcond /=; apply: eq_bigr => i _; rewrite !ffunE.
    case: (p i); rewrite ?eqxx //; case: eqP => // -[] /eqP.
    by rewrite -subr_eq0 opprK -mulr2n pnatr_eq0.
  have [c c0 [E1 E2]] := box_chance eps0 (enum 'I_n) p.
  rewrite /ml_vector; have -> : [seq [ffun i => if p i then Some (- 1) else Some 1] i | i <- enum 'I_n] =
      [seq (if p i then Some (- 1) else Some 1 : option R) | i <- enum 'I_n].
    by apply: eq_map => i; rewrite ffunE.
  have -> : [seq [ffun=> Some 1 : option R] i | i <- enum 'I_n] = [seq Some (1 : R) | i <- enum 'I_n].
    by apply: eq_map => i; rewrite ffunE.
  by rewrite -/(boxed) E1 E2 ck lte_fin c0 ltry.
by apply: response_tight; rewrite ?k0 // ltW.
Qed.
