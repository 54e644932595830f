(* Selection probabilities: exact means of draws, and Manly's. *)
From Dpassay Require Import Prelude Statements Core Selection Accuracy Sums.
Import Statements.Selection.

Section Exact.
Variables (R : realType) (I : finType) (w : I -> R).
Hypothesis w0 : forall i, 0 < w i.
Implicit Types (gone : {set I}) (i j : I).

(* Chance that i is among the next k draws. *)
Definition incl gone k i : R := \sum_(s : k.-tuple I | i \in s) draws w gone s.

Lemma chosen_chanceE (P : {set I} -> bool) k : chosen_chance w k P = \sum_(s : k.-tuple I | P [set i in s]) drawn w s.
Proof.
rewrite /chosen_chance /chosen [RHS](partition_big (fun s : k.-tuple I => [set i in s]) P) //=.
apply: eq_bigr => S PS; apply: eq_bigl => s; rewrite andbC.
by case: eqP => //= ->; rewrite PS.
Qed.

Lemma inclusionE k i : inclusion w k i = incl set0 k i.
Proof. by rewrite /inclusion chosen_chanceE; apply: eq_bigl => s; rewrite inE. Qed.

Lemma inclS gone k i : (k < #|~: gone|)%N ->
  incl gone k.+1 i = \sum_j draw w gone j * (if j == i then 1 else incl (j |: gone) k i).
Proof.
move=> kg; rewrite /incl big_mkcond sum_tupleS; apply: eq_bigr => j _.
have [jg|jg] := boolP (j \in gone).
  by rewrite /draw jg mul0r big1 // => s _; rewrite /= /draw jg mul0r if_same.
have kj : (k <= #|~: (j |: gone)|)%N by rewrite -ltnS -cardC1.
case: eqP => [ji|/eqP ji].
  transitivity (\sum_(s : k.-tuple I) draw w gone j * draws w (j |: gone) s).
    by apply: eq_bigr => s _; rewrite -ji /= in_cons eqxx.
  by rewrite -mulr_sumr draws_sum1.
rewrite mulr_sumr [RHS]big_mkcond /=; apply: eq_bigr => s _.
by rewrite in_cons eq_sym (negbTE ji).
Qed.

Lemma draw_gt0 gone i : i \notin gone -> 0 < draw w gone i.
Proof. by move=> ig; rewrite /draw (negbTE ig) divr_gt0 //; apply: left_gt0 ig. Qed.

Lemma incl_step gone k i : i \notin gone -> (k < #|~: gone|)%N -> incl gone k i < incl gone k.+1 i.
Proof.
elim: k gone => [|k IH] gone ig kg.
  have E : incl gone 0 i = 0 by rewrite /incl big_pred0 // => s; rewrite (tuple0 s).
  rewrite inclS // E.
  rewrite (bigD1 i) //= eqxx mulr1; apply: ltr_paddr; last exact: draw_gt0.
  by apply: sumr_ge0 => j _; apply: mulr_ge0; [apply: draw_ge0 | case: eqP => _; [exact: ler01 | by apply: sumr_ge0 => s _; apply: draws_ge0]].
have kg' : (k < #|~: gone|)%N := ltnW kg.
rewrite !inclS // -subr_gt0 -sumrB.
have step j : j != i -> j \notin gone -> incl (j |: gone) k i < incl (j |: gone) k.+1 i.
  move=> ji jg; apply: IH; first by rewrite !inE negb_or eq_sym ji.
  by rewrite -ltnS -cardC1.
have [j /andP[ji jg]] : exists j, (j != i) && (j \notin gone).
  have /card_gt0P[j] : (0 < #|~: (i |: gone)|)%N by rewrite -ltnS -cardC1 //; apply: leq_trans kg.
  by rewrite !inE negb_or => jig; exists j.
rewrite (bigD1 j) //= -mulrBr (negbTE ji); apply: ltr_spaddl.
  by rewrite mulr_gt0 ?subr_gt0 ?step // draw_gt0.
apply: sumr_ge0 => l _; rewrite -mulrBr; case: eqP => [_|/eqP li]; first by rewrite subrr mulr0.
have [lg|lg] := boolP (l \in gone); first by rewrite /draw lg mul0r.
by apply: mulr_ge0; [apply: draw_ge0 | rewrite subr_ge0 ltW // step].
Qed.

Lemma inclusion_mono i (j k : nat) : (j < k)%N -> (k <= #|I|)%N -> inclusion w j i < inclusion w k i.
Proof.
rewrite !inclusionE; elim: k => // k IH; rewrite ltnS leq_eqVlt => /orP[/eqP->|jk] kI.
  by apply: incl_step; rewrite ?inE // setC0 cardsT.
apply: lt_trans (IH jk (ltnW kI)) _.
by apply: incl_step; rewrite ?inE // setC0 cardsT.
Qed.

Lemma inclusion_sum k : (k <= #|I|)%N -> \sum_i inclusion w k i = k%:R.
Proof.
move=> kI; transitivity (\sum_(s : k.-tuple I) drawn w s * k%:R); last first.
  by rewrite -mulr_suml draws_sum1 ?mul1r // setC0 cardsT.
transitivity (\sum_i \sum_(s : k.-tuple I) (if i \in s then drawn w s else 0)).
  by apply: eq_bigr => i _; rewrite inclusionE /incl big_mkcond.
rewrite exchange_big /=; apply: eq_bigr => s _; rewrite -big_mkcond /= sumr_const /drawn.
have [->|/(draws_uniq)/andP[us _]] := eqVneq (draws w set0 s) 0; first by rewrite mul0rn mul0r.
by rewrite -[LHS]mulr_natr; congr (_ * _%:R); rewrite -[RHS](size_tuple s) -(card_uniqP us); apply: eq_card.
Qed.

End Exact.

Section Power.
Variable R : realType.
Implicit Types A B u v : R.

Lemma power_ge0 A u : 0 <= power A u.
Proof. by rewrite /power; case: ifP => // _; apply: expR_ge0. Qed.

Lemma power_lt A B u : 0 < u -> 0 <= A -> A < B -> power A u < power B u.
Proof.
move=> u0 A0 AB; have B0 : 0 < B by apply: le_lt_trans AB.
rewrite /power (gt_eqF B0); case: eqP => [_|/eqP An]; first exact: expR_gt0.
have Ap : 0 < A by rewrite lt_neqAle eq_sym An.
by rewrite ltr_expR ltr_pmul2l // ltr_ln // posrE.
Qed.

Lemma power_le A B u : 0 < u -> 0 <= A -> A <= B -> power A u <= power B u.
Proof. by move=> u0 A0; rewrite le_eqVlt => /orP[/eqP->//|AB]; apply: ltW; apply: power_lt. Qed.

Lemma power_falls A u v : 0 <= A <= 1 -> u <= v -> power A v <= power A u.
Proof.
case/andP=> A0 A1 uv; rewrite /power; case: eqP => // /eqP An.
have Ap : 0 < A by rewrite lt_neqAle eq_sym An.
by rewrite ler_expR ler_wnmul2r // -(@ln1 R) ler_ln ?posrE ?ltr01.
Qed.

End Power.

(* Manly's means fall as the parameter grows. *)
Lemma manly_lemma1 (R : realType) (I : finType) (w mu mu' : I -> R) : (forall i, 0 < w i) -> (0 < #|I|)%N ->
  manly w mu -> manly w mu' -> (forall i, mu' i < mu i) <-> \sum_i mu' i < \sum_i mu i.
Proof.
move=> w0 I0 [A [/andP[A0 _] Emu]] [B [/andP[B0 _] Emu']]; split=> [lt|sums i].
  have /card_gt0P[i _] := I0.
  by rewrite (bigD1 i) //= [X in _ < X](bigD1 i) //=; apply: ltr_le_add => //; apply: ler_sum => j _; apply: ltW.
rewrite Emu Emu' ltr_add2l ltr_opp2; apply: power_lt => //.
rewrite ltNge; apply/negP => BA; move: sums; rewrite ltNge => /negP; apply.
by apply: ler_sum => j _; rewrite Emu Emu' ler_add2l ler_opp2; apply: power_le.
Qed.

Lemma best_case (R : realType) (n k : nat) (w1 : R) (s mu best : 'I_n -> R) :
  1 <= w1 -> (forall i, 0 <= s i <= 1) ->
  manly (fun i => w1 `^ s i) mu -> \sum_i mu i = k%:R ->
  manly (fun i : 'I_n => w1 `^ (if (i < k)%N then 1 else 0)) best -> \sum_i best i = k%:R ->
  \sum_(i < n | (i < k)%N) mu i <= \sum_(i < n | (i < k)%N) best i.
Proof.
move=> w11 s01 [A [A01 Emu]] summu [B [/andP[B0 B1] Ebest]] sumbest.
have [A0 A1] := andP A01; have wp : 0 < w1 := lt_le_trans ltr01 w11.
have lnw : 0 <= ln w1 by apply: ln_ge0.
have w1E : w1 `^ 1 = w1 by rewrite exp_funr1.
have w0E : w1 `^ 0 = 1 by rewrite exp_funr0.
have wle i : w1 `^ s i <= w1 by rewrite -{2}w1E ler_expR ler_wpmul2r //; case/andP: (s01 i).
have wge i : 1 <= w1 `^ s i by rewrite -w0E ler_expR ler_wpmul2r //; case/andP: (s01 i).
have [AB|BA] := leP B A.
  apply: ler_sum => i ik; rewrite Emu Ebest ik w1E ler_add2l ler_opp2.
  by apply: le_trans (power_le wp B0 AB) _; apply: power_falls.
rewrite -(ler_add2r (\sum_(i < n | ~~ (i < k)%N) mu i)).
have split (f : 'I_n -> R) : \sum_i f i = \sum_(i < n | (i < k)%N) f i + \sum_(i < n | ~~ (i < k)%N) f i.
  by rewrite [LHS](bigID (fun i : 'I_n => (i < k)%N)).
rewrite -split summu -sumbest split ler_add2l; apply: ler_sum => i /negbTE ik.
rewrite Emu Ebest ik w0E ler_add2l ler_opp2.
by apply: le_trans (power_falls A01 (wge i)) _; apply: power_le; rewrite ?ltr01 // ltW.
Qed.
