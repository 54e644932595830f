(* Proofs of the claims on errors, their moments and Theorem 3 for randomized response. *)
From Dpassay Require Import Prelude.
From mathcomp.classical Require Import boolp classical_sets.
From mathcomp.analysis Require Import measure.
From Dpassay Require Import Statements RatingCollection.
Import Statements.Finite.

(* Nonnegative and positive terms, from hypotheses on their parts. *)
Ltac nneg := match goal with
  | |- is_true (0 <= _) =>
    first [ done | assumption | exact: ler0n | exact: ler01 | exact: sqr_ge0 | exact: sqrtr_ge0
          | (apply: ltW; exact: expR_gt0) | (apply: ltW; assumption) | (rewrite subr_ge0; first [done | assumption | (apply: ltW; assumption)])
          | (apply: exprn_ge0; nneg) | (apply: addr_ge0; nneg) | (apply: mulr_ge0; nneg) | (rewrite invr_ge0; nneg) ]
  | |- is_true (0 < _) =>
    first [ done | assumption | exact: ltr01 | exact: expR_gt0 | (rewrite ltr0n; done) | (rewrite subr_gt0; first [done | assumption])
          | (apply: exprn_gt0; nneg) | (apply: addr_gt0; nneg) | (apply: mulr_gt0; nneg) | (rewrite invr_gt0; nneg)
          | (apply: ltr_paddr; nneg) | (apply: ltr_paddl; nneg) ]
  end.

Section Moments.
Variables (R : realType) (d : nat) (eps : R).
Let e := expR eps.
Let D : R := d%:R.

Lemma sum_squares (theta : R) :
  \sum_(z : 'I_d.+1 | z != ord0) (theta - z%:R) ^+ 2 =
  D * theta ^+ 2 - theta * D * (D + 1) + D * (D + 1) * (2%:R * D + 1) / 6%:R.
Proof.
rewrite /D big_mkcond big_ord_recl /= add0r.
rewrite (eq_bigr (fun i : 'I_d => (theta - i.+1%:R) ^+ 2)); last by [].
elim: d => [|m IH]; first by rewrite big_ord0; field.
by rewrite big_ord_recr /= IH -addn1 natrD; field.
Qed.

Lemma sum_rated (x : 'I_d.+1) (f : 'I_d.+1 -> R) : f x = 0 \/ x = ord0 ->
  \sum_(z : 'I_d.+1 | z != ord0) rr_entry eps x z * f z = (\sum_(z : 'I_d.+1 | z != ord0) f z) / (e + D).
Proof.
move=> H; rewrite mulr_suml; apply: eq_bigr => z z0; rewrite /rr_entry mulrAC; congr (_ / _).
case: eqP => [zx|]; last by rewrite mul1r.
by case: H => H; [rewrite zx H mulr0 | rewrite zx H eqxx in z0].
Qed.

Hypothesis d1 : (1 < d)%N.
Lemma D2 : 2%:R <= D. Proof. by rewrite ler_nat. Qed.
Lemma Dgt0 : 0 < D. Proof. by rewrite ltr0n ltnW. Qed.
Lemma eDgt0 : 0 < e + D. Proof. exact: den_gt0. Qed.

Lemma mse_created (theta : R) :
  mean_squared_error eps theta (ord0 : 'I_d.+1) = theta ^+ 2 - theta * (D + 1) + (D + 1) * (2%:R * D + 1) / 6%:R.
Proof.
have De : D != 0 := lt0r_neq0 Dgt0. have eDe : e + D != 0 := lt0r_neq0 eDgt0.
rewrite /mean_squared_error sum_rated; last by right.
rewrite (eq_bigr (fun z => rr_entry eps ord0 z * 1) (fun z _ => esym (mulr1 _))).
rewrite (sum_rated (f := fun _ => 1)); last by right.
have -> : \sum_(z : 'I_d.+1 | z != ord0) (1 : R) = D.
  by rewrite sumr_const -/(1 *+ _) cardC1 card_ord.
by rewrite sum_squares; field; rewrite De eDe.
Qed.
Let bound : R := (D - 1) * (2%:R * D - 1) / 6%:R.

Lemma mse_gap theta : bound - mean_squared_error eps theta (ord0 : 'I_d.+1) = (theta - 1) * (D - theta).
Proof. by rewrite mse_created /bound; field. Qed.

Lemma bound_gap : (D - 1) ^+ 2 - bound = (D - 1) * (4%:R * (D - 2%:R) + 3%:R) / 6%:R.
Proof. by rewrite /bound; field. Qed.

Lemma D1gt0 : 0 < D - 1.
Proof. by rewrite subr_gt0 ltr1n. Qed.

Lemma bound_lt : bound < (D - 1) ^+ 2.
Proof.
have H := D1gt0; have D2 := D2; apply: lt_by bound_gap _.
have H2 : 0 <= D - 2%:R by rewrite subr_ge0.
by rewrite divr_gt0 ?ltr0n // mulr_gt0 // ltr_paddl ?ltr0n // mulr_ge0 ?ler0n.
Qed.

Lemma mse_le theta : 1 <= theta <= D -> mean_squared_error eps theta (ord0 : 'I_d.+1) <= bound.
Proof. by move=> /andP[t1 tD]; apply: le_by (mse_gap theta) _; nneg. Qed.

End Moments.

Lemma RC_EQ_REP_proof : RC_EQ_REP.
Proof.
move=> R d eps theta d1 _ t1; split; first by rewrite mse_le //= ltW ?bound_lt.
by move=> H; apply/esym/eqP; rewrite -subr_eq0 mse_gap //; case: H => ->; rewrite subrr ?mul0r ?mulr0.
Qed.

Lemma RC_EQ_proof : RC_EQ.
Proof.
move=> R; have H d (eps theta : R) : (1 < d)%N -> 0 <= eps -> 1 <= theta <= d%:R ->
    mean_squared_error eps theta (ord0 : 'I_d.+1) < (d%:R - 1) ^+ 2.
  by move=> d1 _ t1; apply: le_lt_trans (mse_le eps d1 t1) (bound_lt R d1).
split=> // H'; have t1 : (1 <= 1 :> R) && (1 <= 2%:R :> R) by rewrite lexx ler1n.
by have := H 2%N 0 1 isT (lexx 0) t1; rewrite H' // ltxx.
Qed.

Lemma range_needed (R : realType) (d : nat) (eps : R) : (1 < d)%N ->
  (d%:R - 1) ^+ 2 < mean_squared_error eps (2%:R * d%:R) (ord0 : 'I_d.+1).
Proof.
move=> d1; have D1 := D1gt0 R d1.
have D2 := D2 R d1; have H2 : 0 <= d%:R - 2%:R :> R by rewrite subr_ge0.
rewrite mse_created //; apply: lt_by (_ : _ = (8%:R * (d%:R - 2%:R) ^+ 2 + 35%:R * (d%:R - 2%:R) + 33%:R) / 6%:R) _.
  by field.
by rewrite divr_gt0 ?ltr0n // ltr_paddl ?ltr0n // addr_ge0 // mulr_ge0 ?ler0n ?sqr_ge0.
Qed.

(* One user, two items: the first is rated 1, the second is missing. *)
Lemma RC_RANGE_proof : RC_RANGE.
Proof.
move=> R d eps d1 _ H; have d0 : (0 < d)%N by exact: ltnW.
pose Theta : 'M[R]_(1, 2) := \matrix_(i, j) (if j == ord0 then 1 else 2%:R * d%:R).
pose X (i : 'I_1) (j : 'I_2) : 'I_d.+1 := if j == ord0 then inord 1 else ord0.
have := H 1%N 2%N Theta X (rank_leq_row _) _ ord0 (lift ord0 ord0) erefl.
rewrite !mxE /= leNgt range_needed //= => K; suff : false by [].
by apply: K => i j; rewrite mxE /X; case: (j == ord0) => //= _; rewrite inordK.
Qed.

Lemma RC_RANGE_REP_response_proof : RC_RANGE_REP_response.
Proof. by move=> R d eps theta d1 e0 t1; rewrite ltW //; have [_] := RC_EQ_proof R; apply. Qed.

Lemma RC_CONJ_proof : RC_CONJ.
Proof.
move=> R /(_ (fun _ => 0)) H; have h0 : (-1 <= 0 :> R) && (0 <= 1 :> R) by rewrite lerN10 ler01.
have hid (x : R) : -1 <= x <= 1 -> `|id x - x| <= 0 by rewrite subrr normr0.
have h1 : (-1 <= 1 :> R) && (1 <= 1 :> R) by rewrite lexx andbT (le_trans (lerN10 R)) ?ler01.
by have := H (fun _ _ => h0) id 0 hid 1 h1; rewrite sub0r normrN1 ler10.
Qed.

Lemma RC_IND2_proof : RC_IND2.
Proof.
move=> R n eps' dd T P zeta xi n1 P1 H.
pose i0 := Ordinal (ltnW n1); pose i1 := Ordinal n1.
pose x (i : 'I_n) : option R := if i == i0 then Some 0 else None.
pose y (i : 'I_n) : option R := Some 0.
pose S (z : 'I_n -> option R) := (z i0 == None) != (z i1 == None).
have Ex : [set t | S (one_noise x (zeta t) (xi t))]%classic = setT.
  by apply/seteqP; split=> // t _ /=; rewrite /S /one_noise /x /=; case: (zeta t).
have Ey : [set t | S (one_noise y (zeta t) (xi t))]%classic = set0.
  by apply/seteqP; split=> // t /=; rewrite /S /one_noise /y /=; case: (zeta t).
have h0 : (-1 <= 0 :> R) && (0 <= 1 :> R) by rewrite lerN10 ler01.
have := H x y S; rewrite Ex Ey P1 measure0 mule0 => H'.
suff: (1 <= 0 :> \bar R)%E by rewrite lee_fin ler10.
apply: H' => // [z|z]; last by right; exists 0.
by rewrite /x; case: eqP => _; [right; exists 0 | left].
Qed.

Lemma RC_UNION_proof : RC_UNION.
Proof.
move=> R d T P gamma A B P1 mA mB hA hB.
have mBA : measurable (B `\` A)%classic by apply: measurableD.
have mC : measurable (~` A `&` ~` B)%classic by apply: measurableI; apply: measurableC.
have E : ((~` A `&` ~` B) `|` (A `|` (B `\` A)))%classic = setT.
  apply/seteqP; split=> // t _ /=.
  have [At|nAt] := pselect (A t); first by right; left.
  by have [Bt|nBt] := pselect (B t); [right; right | left].
have hBA : (P (B `\` A)%classic <= (gamma / 2%:R)%:E)%E.
  by apply: le_trans hB; rewrite le_measure ?inE // => t [].
have /esym := P1; rewrite -E measureU //; last first.
- by apply/seteqP; split=> // t [[nA nB] [|[]]].
- by apply: measurableU.
rewrite measureU //; last by apply/seteqP; split=> // t [At []].
move=> one; rewrite EFinB lee_subl_addr // one lee_add2l //.
by apply: le_trans (lee_add hA hBA) _; rewrite -EFinD lee_fin -splitr.
Qed.

Lemma RC_RRX_proof : RC_RRX.
Proof.
move=> R d eps x d1 eps0 x0; have De := eDgt0 d eps; have Dg := Dgt0 R d1; have Dg1 := D1gt0 R d1.
set e := expR eps in De *; set D : R := d%:R in De Dg Dg1 *.
have e0 : 0 < e := expR_gt0 _.
have eD1 : 0 < e + (D - 1) by apply: addr_gt0.
have den : \sum_(z : 'I_d.+1 | z != ord0) rr_entry eps x z = (e + (D - 1)) / (e + D).
  have := rr_entry_sum eps x; rewrite (bigD1 ord0) //= {1}/rr_entry eq_sym (negbTE x0) -/e -/D.
  move=> /(canRL (addKr _)) ->; apply: (mulIf (lt0r_neq0 De)).
  by field; apply: lt0r_neq0.
rewrite /mean_squared_error sum_rated; last by left; rewrite subrr expr0n.
rewrite -/e -/D den.
have H : \sum_(z : 'I_d.+1 | z != ord0) (x%:R - z%:R) ^+ 2 <= (D - 1) * (D - 1) ^+ 2.
  rewrite (bigD1 x) //= subrr expr0n add0r /=.
  have -> : (D - 1) * (D - 1) ^+ 2 = \sum_(z : 'I_d.+1 | (z != ord0) && (z != x)) (D - 1) ^+ 2.
    rewrite sumr_const -[RHS]mulr_natl; congr (_ * _).
    have -> : #|[pred z : 'I_d.+1 | (z != ord0) && (z != x)]| = d.-1.
      have := cardC1 (ord0 : 'I_d.+1); rewrite card_ord (cardD1 x) inE x0 /= add1n => /(f_equal predn) /= <-.
      by apply: eq_card => z; rewrite !inE andbC.
    by rewrite /D -subn1 natrB // ltnW.
  apply: ler_sum => z /andP[z0 _].
  have absle (a b : 'I_d.+1) : a != ord0 -> (b%:R - a%:R : R) <= D - 1.
    move=> a0; rewrite ler_sub // ?ler_nat -1?ltnS //.
    by rewrite ler1n lt0n.
  rewrite -[X in X <= _]real_normK ?num_real // ler_sqr ?nnegrE ?normr_ge0 ?(ltW Dg1) //.
  by rewrite ler_norml ler_oppl opprB; apply/andP; split; apply: absle.
have -> : (D - 1) ^+ 2 * D / (e + D) = (D - 1) * (D - 1) ^+ 2 / (e + (D - 1)) + (D - 1) ^+ 2 * e / ((e + D) * (e + (D - 1))).
  by field; rewrite !lt0r_neq0.
apply: (@le_trans _ _ ((D - 1) * (D - 1) ^+ 2 / (e + (D - 1)))).
  set S := \sum_(z | _) _ in H *.
  have -> : S / (e + D) / ((e + (D - 1)) / (e + D)) = S / (e + (D - 1)) by field; rewrite !lt0r_neq0.
  by rewrite ler_pmul2r ?invr_gt0.
by rewrite ler_addl; nneg.
Qed.
