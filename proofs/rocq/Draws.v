(* Proofs on draws without replacement, and on the steps of Theorems 3 and 4 of X-Map. *)
From Dpassay Require Import Prelude Statements RatingCollection RatingErrors RatingTheorem3 XMap.
Import Statements.Finite.

(* --- Draws without replacement ----------------------------------------------------------------------------------- *)

Section Draws.
Variables (R : realType) (I : finType) (w : I -> R).
Hypothesis w0 : forall i, 0 < w i.

Lemma pool_sum_ge0 (pool : {set I}) : 0 <= \sum_(j in pool) w j.
Proof. by apply: sumr_ge0 => j _; apply: ltW. Qed.

Lemma drawn_ge0 k (pool S : {set I}) : 0 <= drawn w k pool S.
Proof.
elim: k pool S => [|k IH] pool S /=; first exact: ler0n.
by apply: sumr_ge0 => i _; rewrite mulr_ge0 // divr_ge0 ?pool_sum_ge0 // ltW.
Qed.

Lemma drawn_gt0 k (pool S : {set I}) : S \subset pool -> #|S| = k -> 0 < drawn w k pool S.
Proof.
elim: k pool S => [|k IH] pool S Sp Sk /=; first by rewrite Sk ltr01.
have /card_gt0P [i iS] : (0 < #|S|)%N by rewrite Sk.
have ip : i \in pool := subsetP Sp i iS.
rewrite (bigD1 i) /=; last by rewrite inE iS ip.
rewrite ltr_paddr //.
  by apply: sumr_ge0 => j _; rewrite mulr_ge0 ?drawn_ge0 // divr_ge0 ?pool_sum_ge0 // ltW.
rewrite mulr_gt0 ?IH ?setSD //; last by move: Sk; rewrite (cardsD1 i) iS /= add1n => -[].
rewrite divr_gt0 // (bigD1 i) //= ltr_paddr //.
by apply: sumr_ge0 => j _; apply: ltW.
Qed.

(* Only sets of k elements of the pool can be drawn. *)
Lemma drawn_eq0 k (pool S : {set I}) : ~~ ((S \subset pool) && (#|S| == k)) -> drawn w k pool S = 0.
Proof.
elim: k pool S => [|k IH] pool S /= H.
  by case: eqP H => //= S0; rewrite (cards0_eq S0) sub0set.
apply: big1 => i; rewrite inE => /andP[iS ip]; rewrite IH ?mulr0 //.
apply: contra H => /andP[SD /eqP Sk]; rewrite (cardsD1 i) iS /= Sk eqxx andbT.
apply/subsetP => j jS; have [->//|ji] := eqVneq j i.
have /(subsetP SD) : j \in S :\ i by rewrite !inE ji.
by rewrite !inE ji.
Qed.

(* The chances of all sets sum to 1. *)
Lemma drawn_sum k (pool : {set I}) : (k <= #|pool|)%N -> \sum_S drawn w k pool S = 1.
Proof.
elim: k pool => [|k IH] pool kp /=.
  rewrite (bigD1 set0) //= cards0 eqxx big1 ?addr0 // => S S0.
  by rewrite cards_eq0 (negbTE S0).
have W0 : 0 < \sum_(j in pool) w j.
  have /card_gt0P [i ip] : (0 < #|pool|)%N by apply: leq_trans kp.
  by rewrite (bigD1 i) //= ltr_paddr // sumr_ge0 // => j _; apply: ltW.
rewrite (eq_bigr (fun S : {set I} => \sum_(i in pool) if i \in S then w i / (\sum_(j in pool) w j) * drawn w k (pool :\ i) (S :\ i) else 0)); last first.
  move=> S _; rewrite [RHS](bigID (mem S)) /= [X in _ = _ + X]big1 ?addr0; last by move=> i /andP[_ /negbTE ->].
  rewrite (eq_bigl (fun i => (i \in pool) && (i \in S))); last by move=> i; rewrite !inE andbC.
  by apply: eq_bigr => i /andP[_ ->].
rewrite exchange_big /=.
rewrite (eq_bigr (fun i => w i / (\sum_(j in pool) w j))); last first.
  move=> i ip; rewrite -big_mkcond /= -mulr_sumr -[RHS]mulr1; congr (_ * _).
  rewrite -(IH (pool :\ i)); last by move: kp; rewrite (cardsD1 i) ip.
  rewrite [RHS](bigID (fun S : {set I} => i \in S)) /= [X in _ = X + _]big1 ?add0r; last first.
    move=> S iS; apply: drawn_eq0; apply: contraL iS => /andP[/subsetP SP _].
    by apply/negP => /SP; rewrite !inE eqxx.
  rewrite (reindex_onto (fun S : {set I} => i |: S) (fun S => S :\ i)) /=; last by move=> S iS; rewrite setD1K.
  apply: eq_big => S; last by move=> /andP[_ /eqP ->].
  rewrite setU11 /=; apply/eqP/idP => [<-|iS]; first by rewrite !inE eqxx.
  by rewrite setU1K.
by rewrite -mulr_suml divff // lt0r_neq0.
Qed.

Lemma drawn1 (pool : {set I}) i : i \in pool -> drawn w 1 pool [set i] = w i / \sum_(j in pool) w j.
Proof.
move=> ip /=; rewrite (eq_bigl (pred1 i)) => [|j]; last first.
  by rewrite !inE; case: eqP => // ->.
by rewrite big_pred1_eq setDv cards0 eqxx mulr1.
Qed.

End Draws.

Section TwoCandidates.
Variable R : realType.

Lemma ln2_gt0 : 0 < ln (2%:R : R).
Proof. by rewrite ln_gt0 // ltr1n. Qed.

Lemma expR_ln2 : expR (ln (2%:R : R)) = 2%:R.
Proof. by rewrite lnK // posrE ltr0n. Qed.

Let s : 'I_2 -> R := fun i => if i == ord0 then 2%:R^-1 else 0.
Let SS : R := (8%:R * ln 2%:R)^-1.
Let rho : R := 4%:R^-1.
Let i1 : 'I_2 := lift ord0 ord0.

Lemma SS_gt0 : 0 < SS.
Proof. by rewrite invr_gt0 mulr_gt0 ?ltr0n ?ln2_gt0. Qed.

Lemma half_gt0 : 0 < 2%:R^-1 :> R.
Proof. by rewrite invr_gt0 ltr0n. Qed.

Lemma kth_s : kth 1 s = 2%:R^-1.
Proof. by rewrite /kth /s -val_eqE /= inordK. Qed.

Lemma width_s : width 1 s 1 SS rho = 2%:R^-1.
Proof.
rewrite /width kth_s; have -> : 4%:R * 1%:R * SS / 1 * ln (1%:R * (2 - 1)%:R / rho) = 1 :> R.
  rewrite subn1 /= !mul1r /rho invrK -[4%N]/(2 * 2)%N natrM lnM ?posrE ?ltr0n // /SS; field.
  by rewrite lt0r_neq0 // ln2_gt0.
by rewrite min_l // invf_le1 ?ltr0n // ler1n.
Qed.

Lemma setting_s : theorem3_setting 1 s 1 SS rho.
Proof.
split=> //; split=> [i j|]; first by rewrite /s; case: (user2 i) => ->; case: (user2 j) => -> //= _; rewrite ltW ?half_gt0.
split=> [i|]; first by rewrite /s; case: ifP => _; rewrite ?lexx ?ler01 // ltW ?half_gt0 //= invf_le1 ?ltr0n // ler1n.
by rewrite ltr01 SS_gt0 /rho invr_gt0 ltr0n /= invf_lt1 ?ltr0n // ltr1n.
Qed.

Lemma weight_s i : expR (1 * Num.max (s i) (kth 1 s - width 1 s 1 SS rho) / (4%:R * 1%:R * SS)) = if i == ord0 then 2%:R else 1.
Proof.
rewrite kth_s width_s subrr mul1r; case: (user2 i) => -> /=; last by rewrite max_l // mul0r expR0.
rewrite max_l ?ltW ?half_gt0 // -[in RHS]expR_ln2; congr expR; rewrite /s /= /SS; field.
by rewrite lt0r_neq0 // ln2_gt0.
Qed.

Lemma XM_T3_STRICT_at :
  ~ (forall (N k : nat) (s : 'I_N.+1 -> R) (eps' SS rho : R), theorem3_setting k s eps' SS rho ->
       let threshold := kth k s - width k s eps' SS rho in
       1 - rho <= \sum_(S : {set 'I_N.+1} | [forall j in S, threshold <= s j]) selected k s eps' SS rho S ->
       1 - rho <= \sum_(S : {set 'I_N.+1} | [forall j in S, threshold < s j]) selected k s eps' SS rho S).
Proof.
move=> /(_ _ _ _ _ _ _ setting_s) /=; rewrite kth_s width_s subrr.
have w0 i : 0 < expR (1 * Num.max (s i) (kth 1 s - width 1 s 1 SS rho) / (4%:R * 1%:R * SS)) by apply: expR_gt0.
have all_sum : \sum_(S : {set 'I_2} | [forall j in S, 0 <= s j]) selected 1 s 1 SS rho S = 1.
  rewrite -[RHS](drawn_sum w0 (k := 1) (pool := [set: _])) ?cardsT ?card_ord //.
  apply: eq_bigl => S; apply/forallP => j; apply/implyP => _; rewrite /s.
  by case: ifP => _; rewrite // ltW ?half_gt0.
rewrite all_sum ler_subl_addr ler_addl => /(_ _).
have rho0 : 0 <= rho by rewrite invr_ge0 ler0n.
move=> /(_ rho0).
have -> : \sum_(S : {set 'I_2} | [forall j in S, 0 < s j]) selected 1 s 1 SS rho S = 2%:R / 3%:R.
  rewrite (bigD1 [set ord0]) /=; last first.
    by apply/forallP => j; apply/implyP; rewrite inE => /eqP ->; rewrite /s /= half_gt0.
  rewrite big1 ?addr0 => [|S /andP[/forallP HS S0]]; last first.
    apply: drawn_eq0; rewrite subsetT /=; apply: contra S0 => /cards1P [i Si].
    have := HS i; rewrite Si inE eqxx /=; case: (user2 i) => -> //=.
    by rewrite /s /= ltxx.
  rewrite /selected drawn1 ?inE // (eq_bigl xpredT) => [|j]; last by rewrite inE.
  rewrite (eq_bigr (fun j : 'I_2 => if j == ord0 then 2%:R else 1)) => [|j _]; last exact: weight_s.
  by rewrite weight_s /= !big_ord_recl big_ord0 /=; field.
rewrite -subr_ge0 [X in 0 <= X](_ : _ = - (1 / 12%:R)); last by rewrite /rho; field.
by rewrite oppr_ge0 leNgt divr_gt0 ?ltr0n ?ltr01.
Qed.
End TwoCandidates.

Section ThreeCandidates.
Variable R : realType.
Let s : 'I_3 -> R := fun i => if i == ord0 then 1 else if i == inord 1 then 3%:R^-1 else 0.

Lemma user3 (y : 'I_3) : [\/ y = ord0, y = inord 1 | y = inord 2].
Proof. by case: y => [[|[|[|m]]] hm] //; [constructor 1 | constructor 2 | constructor 3]; apply: val_inj; rewrite /= ?inordK. Qed.

Lemma s0 : s ord0 = 1. Proof. by []. Qed.
Lemma s1 : s (inord 1) = 3%:R^-1.
Proof. by rewrite /s -val_eqE /= inordK // eqxx. Qed.
Lemma s2 : s (inord 2) = 0.
Proof. by rewrite /s -!val_eqE /= !inordK. Qed.

Lemma third_gt0 : 0 < 3%:R^-1 :> R.
Proof. by rewrite invr_gt0 ltr0n. Qed.
Lemma third_lt1 : 3%:R^-1 < 1 :> R.
Proof. by rewrite invf_lt1 ?ltr0n // ltr1n. Qed.

Let rho : R := 2%:R^-1.

Lemma setting3 : theorem3_setting 2 s 1 1 rho.
Proof.
have t0 := third_gt0; have t1 := third_lt1.
split=> //; split=> [i j|].
  case: (user3 i) => ->; case: (user3 j) => ->; rewrite ?s0 ?s1 ?s2 ?inordK //= => _; rewrite ?lexx ?ler01 ?ltW //.
split=> [i|]; first by case: (user3 i) => ->; rewrite ?s0 ?s1 ?s2 ?lexx ?ler01 //= !ltW.
by rewrite ltr01 /rho invr_gt0 ltr0n /= invf_lt1 ?ltr0n // ltr1n.
Qed.

Lemma kth3 : kth 2 s = 3%:R^-1. Proof. exact: s1. Qed.

Lemma width3_gt0 : 0 < width 2 s 1 1 rho.
Proof.
rewrite /width lt_minr kth3 third_gt0 /= !mulr1 invr1 mulr1 mulr_gt0 ?mulr_gt0 ?ltr0n //.
by rewrite ln_gt0 // /rho invrK -!natrM ltr1n.
Qed.

Lemma width3_le : width 2 s 1 1 rho <= 3%:R^-1.
Proof. by rewrite /width le_minl kth3 lexx. Qed.

Lemma XM_T4_AB_at :
  ~ (forall (N k : nat) (s : 'I_N.+1 -> R) (eps' SS rho : R) (a b : 'I_N.+1), theorem3_setting k s eps' SS rho ->
       let w := width k s eps' SS rho in
       let P (event : pred {set 'I_N.+1}) := \sum_(S | event S) selected k s eps' SS rho S in
       kth k s + w < s a -> s b < kth k s -> 0 < P (fun S => a \notin S) ->
       P (fun S => (a \notin S) && (b \in S)) <= expR (- (eps' * w / (4%:R * k%:R * SS))) * P (fun S => a \notin S)).
Proof.
move=> /(_ _ _ _ _ _ _ ord0 (inord 2) setting3) /=.
set w := width _ _ _ _ _; have w0 : 0 < w := width3_gt0.
have pos i : 0 < expR (1 * Num.max (s i) (kth 2 s - width 2 s 1 1 rho) / (4%:R * 2%:R * 1)) by apply: expR_gt0.
have A : kth 2 s + w < s ord0.
  rewrite kth3 s0; apply: le_lt_trans (ler_add (lexx _) width3_le) _.
  have -> : 3%:R^-1 + 3%:R^-1 = 2%:R / 3%:R :> R by field.
  by rewrite ltr_pdivr_mulr ?ltr0n // mul1r ltr_nat.
have B : s (inord 2) < kth 2 s by rewrite s2 kth3 third_gt0.
move=> /(_ A B).
have AB : \sum_(S : {set 'I_3} | (ord0 \notin S) && (inord 2 \in S)) selected 2 s 1 1 rho S =
    \sum_(S : {set 'I_3} | ord0 \notin S) selected 2 s 1 1 rho S.
  rewrite [RHS](bigID (fun S : {set 'I_3} => inord 2 \in S)) /= [X in _ = _ + X]big1 ?addr0 // => S /andP[S0 S2].
  apply: drawn_eq0; rewrite subsetT /=; apply/eqP => Sk.
  have : (#|S| <= #|[set inord 1 : 'I_3]|)%N.
    apply: subset_leq_card; apply/subsetP => i iS; rewrite inE.
    by move: iS; case: (user3 i) => -> iS //; [rewrite iS in S0 | rewrite iS in S2].
  by rewrite Sk cards1.
rewrite AB.
have Apos : 0 < \sum_(S : {set 'I_3} | ord0 \notin S) selected 2 s 1 1 rho S.
  rewrite (bigD1 [set inord 1; inord 2]) /=; last by rewrite !inE -!val_eqE /= !inordK.
  rewrite ltr_paddr //; first by apply: sumr_ge0 => S _; apply: drawn_ge0.
  by apply: drawn_gt0 => //; rewrite cards2 -val_eqE /= !inordK.
move=> /(_ Apos); rewrite -[X in X <= _]mul1r ler_pmul2r // -{1}(expR0 R) ler_expR oppr_ge0 mul1r mulr1.
by rewrite leNgt divr_gt0 // mulr_gt0 ?ltr0n.
Qed.
End ThreeCandidates.

Lemma XM_T3_STRICT_proof : XM_T3_STRICT. Proof. exact: XM_T3_STRICT_at. Qed.
Lemma XM_T4_AB_proof : XM_T4_AB. Proof. exact: XM_T4_AB_at. Qed.
