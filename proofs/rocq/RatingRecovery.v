(* Proofs on the bounds as functions of eps, the isometry property and completion. *)
From Dpassay Require Import Prelude Statements RatingCollection RatingErrors RatingTheorem3.
Import Statements.Finite.

Section Monotone.
Variable R : realType.

Lemma sqrt_tends (K t : R) : 0 <= K -> 0 < t -> exists e0 : R, 0 < e0 /\ forall eps, e0 <= eps -> Num.sqrt (K / eps) < t.
Proof.
move=> K0 t0; have t2 : 0 < t ^+ 2 by apply: exprn_gt0.
exists (K / t ^+ 2 + 1); have e0 : 0 < K / t ^+ 2 + 1 by rewrite ltr_paddl ?ltr01 // divr_ge0 // ltW.
split=> // eps He; have eps0 := lt_le_trans e0 He.
rewrite -[X in _ < X]ger0_norm ?(ltW t0) // -sqrtr_sqr ltr_sqrt // ltr_pdivr_mulr //.
rewrite mulrC -ltr_pdivr_mulr //; apply: lt_le_trans He.
by rewrite ltr_addl ltr01.
Qed.

Lemma inv_tends (K t : R) : 0 <= K -> 0 < t -> exists e0 : R, 0 < e0 /\ forall eps, e0 <= eps -> K / eps < t.
Proof.
move=> K0 t0; exists (K / t + 1); have e0 : 0 < K / t + 1 by rewrite ltr_paddl ?ltr01 // divr_ge0 // ltW.
split=> // eps He; have eps0 := lt_le_trans e0 He.
rewrite ltr_pdivr_mulr // mulrC -ltr_pdivr_mulr //; apply: lt_le_trans He.
by rewrite ltr_addl ltr01.
Qed.

Lemma expR_ge (x : R) : 0 <= x -> x <= expR x.
Proof. by move=> x0; apply: le_trans (expR_ge1Dx x0); rewrite ler_addr ler01. Qed.

End Monotone.

Lemma RC_MON_proof : RC_MON.
Proof.
move=> R m n d s rho0 gamma /andP[s0 smn] d1 /andP[g0 _].
have mn0 : (0 < m * n)%N by apply: leq_trans smn.
have mnR : 0 < m%:R * n%:R :> R by rewrite -natrM ltr0n.
have a0 : 0 < Num.sqrt (s%:R / gamma) by rewrite sqrtr_gt0 divr_gt0 ?ltr0n.
have C0 : 0 < 2%:R * m%:R * n%:R :> R by rewrite -mulrA mulr_gt0 ?ltr0n.
have d0 : 0 < d%:R :> R by rewrite ltr0n ltnW.
have c0 : 0 < 2%:R * (d%:R - 1) :> R by rewrite mulr_gt0 ?ltr0n ?D1gt0.
split; split.
- move=> eps eps' e0 ee'; have e0' := lt_trans e0 ee'; rewrite /bound6 -!addrA ltr_add2l.
  apply: ltr_le_add; first by rewrite ltr_pmul2r // ltr_pmul2l ?ltr0n // ltf_pinv.
  rewrite ler_wsqrtr // -!mulrA; do 3! rewrite ler_wpmul2l ?ler0n //.
  apply: ler_pmul.
  + by rewrite invr_ge0 mulr_ge0 ?ltW // addr_gt0 ?expR_gt0 ?ltr01.
  + by rewrite addr_ge0 ?ler01 // divr_ge0 ?ler0n // sqr_ge0.
  + rewrite lef_pinv ?posrE ?mulr_gt0 ?addr_gt0 ?expR_gt0 ?ltr01 //.
    by rewrite ler_pmul2r // ler_add2r ler_expR ler_pmul2r ?invr_gt0 ?ltr0n // ltW.
  rewrite ler_add2l ler_pmul2l ?ltr0n // lef_pinv ?posrE ?exprn_gt0 //.
  by rewrite ler_sqr ?nnegrE ltW.
- move=> t t0; have t2 : 0 < t / 2%:R by rewrite divr_gt0 ?ltr0n.
  have K10 : 0 <= 4%:R * Num.sqrt (s%:R / gamma) by rewrite mulr_ge0 ?ler0n ?ltW.
  have [e1 [e10 H1]] := inv_tends K10 t2.
  have K20 : 0 <= 36%:R * (m%:R * n%:R) / gamma by rewrite divr_ge0 ?mulr_ge0 ?ler0n ?ltW.
  have [e2 [e20 H2]] := sqrt_tends K20 t2.
  exists (1 + e1 + e2) => eps He.
  have eps1 : 1 <= eps by apply: le_trans He; rewrite -addrA ler_addl addr_ge0 ?ltW.
  have epse1 : e1 <= eps by apply: le_trans He; rewrite addrAC ler_addr addr_ge0 ?ltW ?ltr01.
  have epse2 : e2 <= eps by apply: le_trans He; rewrite ler_addr addr_ge0 ?ltW ?ltr01.
  have eps0 : 0 < eps := lt_le_trans ltr01 eps1.
  rewrite /bound6 -[X in `|X - _|]addrA [X in `|X - _|]addrC addrK ger0_norm; last first.
    by rewrite addr_ge0 ?sqrtr_ge0 // mulr_ge0 ?sqrtr_ge0 // divr_ge0 ?ler0n ?ltW.
  rewrite [t]splitr; apply: ltr_add; first by rewrite mulrAC H1.
  apply: le_lt_trans (H2 _ epse2); rewrite ler_wsqrtr //.
  apply: (@le_trans _ _ (2%:R * m%:R * n%:R / (eps / 2%:R * gamma) * 9%:R)); last first.
    rewrite le_eqVlt; apply/orP; left; apply/eqP; field.
    by rewrite !lt0r_neq0.
  have h2 : 0 < eps / 2%:R by rewrite divr_gt0 ?ltr0n.
  apply: ler_pmul.
  + by rewrite divr_ge0 ?(ltW C0) // mulr_ge0 ?(ltW g0) // addr_ge0 ?ler01 // ltW ?expR_gt0.
  + by rewrite addr_ge0 ?ler01 // divr_ge0 ?ler0n // sqr_ge0.
  + rewrite ler_pmul2l // lef_pinv ?posrE ?mulr_gt0 ?addr_gt0 ?expR_gt0 ?ltr01 ?invr_gt0 ?ltr0n //.
    rewrite ler_pmul2r //; apply: le_trans (expR_ge (ltW h2)) _.
    by rewrite ler_addl ler01.
  have -> : 9%:R = 1 + 8%:R :> R by ring.
  rewrite ler_add2l ler_pdivr_mulr ?exprn_gt0 // ler_pemulr ?ler0n //.
  by rewrite exprn_ege1.
- move=> eps eps' e0 ee'; have e0' := lt_trans e0 ee'; rewrite /bound7 ltr_add2l ltr_pmul2l //.
  have den (x : R) : 0 < (expR x + d%:R) * gamma by rewrite mulr_gt0 // addr_gt0 ?expR_gt0.
  rewrite ltr_sqrt; last by rewrite divr_gt0 // mulr_gt0.
  rewrite ltr_pmul2l ?(mulr_gt0 C0) // ltf_pinv ?posrE // ltr_pmul2r // ltr_add2r.
  by rewrite ltr_expR.
- move=> t t0; have t2 : 0 < t / (2%:R * (d%:R - 1)) by rewrite divr_gt0.
  have K20 : 0 <= 2%:R * m%:R * n%:R * d%:R / gamma by rewrite divr_ge0 ?mulr_ge0 ?ler0n ?ltW.
  have [e2 [e20 H2]] := sqrt_tends K20 t2.
  exists e2 => eps He; have eps0 := lt_le_trans e20 He.
  rewrite /bound7 [X in `|X - _|]addrC addrK ger0_norm; last by rewrite mulr_ge0 ?sqrtr_ge0 ?ltW.
  rewrite mulrC -ltr_pdivl_mulr //; apply: le_lt_trans (H2 _ He); rewrite ler_wsqrtr //.
  rewrite -[X in _ <= X]mulrA -invfM ler_pmul2l ?(mulr_gt0 C0) // lef_pinv ?posrE ?mulr_gt0 ?addr_gt0 ?expR_gt0 //.
  rewrite mulrC ler_pmul2r //; apply: le_trans (expR_ge (ltW eps0)) _.
  by rewrite ler_addl ltW.
Qed.

Section Isometry.
Variable R : realType.

Lemma square_on_delta m n (Omega : {set 'I_m * 'I_n}) i j : square_on Omega (delta_mx i j : 'M[R]_(m, n)) = ((i, j) \in Omega)%:R.
Proof.
rewrite /square_on (eq_bigr (fun c => (c == (i, j))%:R)); last first.
  by move=> [i' j'] _; rewrite mxE xpair_eqE /=; case: (_ && _); rewrite ?expr1n ?expr0n.
have [ij|ij] := boolP ((i, j) \in Omega).
  by rewrite (bigD1 (i, j)) //= eqxx big1 ?addr0 // => c /andP[_ /negbTE ->].
by rewrite big1 // => c cO; case: eqP => // cij; rewrite -cij cO in ij.
Qed.

Lemma square_on_ge0 m n (Omega : {set 'I_m * 'I_n}) (A : 'M[R]_(m, n)) : 0 <= square_on Omega A.
Proof. by apply: sumr_ge0 => c _; apply: sqr_ge0. Qed.

Lemma missing m n (Omega : {set 'I_m * 'I_n}) : Omega != [set: _] -> exists i j, (i, j) \notin Omega.
Proof.
move=> /eqP OT; have [/existsP[[i j] ij]|/existsPn H] := boolP [exists c, c \notin Omega]; first by exists i, j.
by case: OT; apply/setP => c; rewrite inE; have := H c; rewrite negbK.
Qed.

End Isometry.

Lemma RC_RIP_proof : RC_RIP.
Proof.
move=> R m n Omega r0 alpha /missing [i [j /negbTE ij]] r00 a1 /(_ (delta_mx i j)).
rewrite mxrank_delta => /(_ r00); rewrite !square_on_delta ij inE mul0r mulr1.
by rewrite leNgt subr_gt0 a1.
Qed.

Lemma RC_5_proof : RC_5.
Proof. by move=> [R [m [n [Omega [r0 [alpha [OT r00 a1 H]]]]]]]; apply: RC_RIP_proof H. Qed.

Section Observed.
Variables (R : realType) (m n : nat) (p : R).
Notation I := ('I_m * 'I_n)%type.

Lemma observed_prod (h : I -> bool -> R) :
  \sum_(Omega : {set I}) observed_law p Omega * \prod_c h c (c \in Omega) = \prod_c (p * h c true + (1 - p) * h c false).
Proof.
rewrite (eq_bigr (fun c => \sum_(b : bool) (if b then p else 1 - p) * h c b)); last by move=> c _; rewrite big_bool.
rewrite bigA_distr_bigA /= (reindex (fun f : {ffun I -> bool} => [set c | f c])) /=; last first.
  exists (fun A : {set I} => [ffun c => c \in A]) => [f _|A _]; first by apply/ffunP => c; rewrite ffunE inE.
  by apply/setP => c; rewrite inE ffunE.
apply: eq_bigr => f _; rewrite /observed_law -big_split /=.
by apply: eq_bigr => c _; rewrite inE.
Qed.

Lemma observed_sum : \sum_(Omega : {set I}) observed_law p Omega = 1.
Proof.
have H := observed_prod (fun _ _ => 1).
rewrite [RHS]big1 in H; last by move=> c _; ring.
by rewrite -[RHS]H; apply: eq_bigr => Omega _; rewrite big1 ?mulr1.
Qed.

Hypothesis p0 : 0 < p.
Variable A : 'M[R]_(m, n).
Let F := square_on [set: _] A.
Let W (c : I) (b : bool) : R := A c.1 c.2 ^+ 2 * (b%:R / p - 1).

Lemma deviation Omega : square_on Omega A / p - F = \sum_c W c (c \in Omega).
Proof.
rewrite /F /square_on mulr_suml [X in X - _]big_mkcond /=.
rewrite [X in _ - X](eq_bigl xpredT) => [|c]; last by rewrite inE.
rewrite -sumrB; apply: eq_bigr => c _; rewrite /W.
by case: (c \in Omega) => /=; ring.
Qed.

Lemma W_one c : \sum_(Omega : {set I}) observed_law p Omega * W c (c \in Omega) ^+ 2 = (1 - p) / p * A c.1 c.2 ^+ 4.
Proof.
have := observed_prod (fun i b => if i == c then W c b ^+ 2 else 1).
rewrite (bigD1 c) //= eqxx [\prod_(i | i != c) _]big1 ?mulr1 => [H|i /negbTE ->]; last by ring.
rewrite (eq_bigr (fun Omega => observed_law p Omega * \prod_i (if i == c then W c (i \in Omega) ^+ 2 else 1))).
  by rewrite H /W /=; field; apply: lt0r_neq0.
move=> Omega _; congr (_ * _); rewrite (bigD1 c) //= eqxx big1 ?mulr1 // => i /negbTE -> //.
Qed.

Lemma W_two c c' : c != c' -> \sum_(Omega : {set I}) observed_law p Omega * (W c (c \in Omega) * W c' (c' \in Omega)) = 0.
Proof.
move=> cc'; have c'c : c' != c by rewrite eq_sym.
have := observed_prod (fun i b => if i == c then W c b else if i == c' then W c' b else 1).
rewrite (bigD1 c) //= eqxx.
have -> : p * W c true + (1 - p) * W c false = 0 by rewrite /W /=; field; apply: lt0r_neq0.
rewrite mul0r => H; rewrite -[RHS]H; apply: eq_bigr => Omega _; congr (_ * _).
rewrite (bigD1 c) // (bigD1 c') //= eqxx (negbTE c'c) eqxx.
by rewrite [\prod_(i | _ && _) _]big1 ?mulr1 // => i /andP[/negbTE -> /negbTE ->].
Qed.

Lemma variance : \sum_(Omega : {set I}) observed_law p Omega * (square_on Omega A / p - F) ^+ 2 =
  (1 - p) / p * \sum_c A c.1 c.2 ^+ 4.
Proof.
rewrite (eq_bigr (fun Omega => \sum_c \sum_c' observed_law p Omega * (W c (c \in Omega) * W c' (c' \in Omega)))).
  rewrite exchange_big mulr_sumr /=; apply: eq_bigr => c _.
  rewrite exchange_big (bigD1 c) //= [X in _ + X]big1 ?addr0; last by move=> c' c'c; rewrite W_two // eq_sym.
  by rewrite -W_one; apply: eq_bigr => Omega _; rewrite expr2.
move=> Omega _; rewrite deviation expr2 mulr_suml mulr_sumr; apply: eq_bigr => c _.
by rewrite mulr_sumr mulr_sumr.
Qed.

End Observed.

Lemma RC_RIP_REP_proof : RC_RIP_REP.
Proof.
move=> R m n p mu alpha A /andP[p0 p1] a0 mu0 mn0 HA; set F := square_on [set: _] A.
have q0 : 0 <= 1 - p by rewrite subr_ge0.
have mnR : 0 < m%:R * n%:R :> R by rewrite -natrM ltr0n.
apply: mechanismP => [_ Omega|_|M HM].
- by rewrite /observed_law /=; apply: prodr_ge0 => c _; case: ifP => _ //; apply: ltW.
- exact: observed_sum.
have F0 : 0 <= F := square_on_ge0 _ _.
have rhs0 : 0 <= (1 - p) * mu / (p * alpha ^+ 2 * (m%:R * n%:R)).
  by rewrite divr_ge0 ?mulr_ge0 ?sqr_ge0 ?ler0n // ltW.
have [F00|Fn0] := eqVneq F 0.
  rewrite /chance big_pred0 // => Omega; rewrite inE -/F F00 subr0 mulr0; apply/negbTE.
  rewrite -leNgt; have -> : square_on Omega A = 0; last by rewrite mul0r normr0.
  apply: le_anti; rewrite square_on_ge0 andbT -F00 /F /square_on.
  rewrite [X in _ <= X](bigID (mem Omega)) /= (eq_bigl (fun c => (c \in [set: _]) && (c \in Omega))) => [|c].
    by rewrite ler_addl sumr_ge0 // => c _; apply: sqr_ge0.
  by rewrite inE.
have Fgt0 : 0 < F by rewrite lt_def Fn0.
have aF : 0 < (alpha * F) ^+ 2 by rewrite exprn_gt0 // mulr_gt0.
rewrite -(ler_pmul2l aF).
have N0 Omega : 0 <= (square_on Omega A / p - F) ^+ 2 by apply: sqr_ge0.
have -> : chance (M tt) [set Omega | `|square_on Omega A / p - F| > alpha * F] =
    chance (M tt) [set Omega | (alpha * F) ^+ 2 < (square_on Omega A / p - F) ^+ 2].
  apply: eq_bigl => Omega; rewrite !inE -[X in _ = (_ < X)]real_normK ?num_real //.
  by rewrite ltr_sqr // nnegrE ?normr_ge0 // mulr_ge0 // ltW.
apply: le_trans (markov (M tt) ((alpha * F) ^+ 2) N0) _.
under eq_bigr do rewrite HM.
rewrite variance //.
have -> : (alpha * F) ^+ 2 * ((1 - p) * mu / (p * alpha ^+ 2 * (m%:R * n%:R))) =
    (1 - p) / p * (mu * F / (m%:R * n%:R) * F).
  by field; rewrite !lt0r_neq0 // ltr0n; move: mn0; rewrite muln_gt0 => /andP[].
rewrite ler_wpmul2l ?divr_ge0 ?(ltW p0) // {2}/F /square_on mulr_sumr.
rewrite [X in _ <= X](eq_bigl xpredT) => [|c]; last by rewrite inE.
apply: ler_sum => c _; by rewrite -[4%N]/(2 + 2)%N exprD ler_wpmul2r ?sqr_ge0 ?HA.
Qed.

Section Completion.
Variables (R : realType) (m n : nat).
Implicit Types (A B : 'M[R]_(m, n)) (Omega : {set 'I_m * 'I_n}).

Lemma frobeniusE Omega A : frobenius_on Omega A = norm_on (mem Omega) (fun c => A c.1 c.2).
Proof. by []. Qed.

Lemma frobeniusD Omega A B : frobenius_on Omega (A + B) <= frobenius_on Omega A + frobenius_on Omega B.
Proof.
rewrite !frobeniusE; apply: le_trans (norm_onD _ _ _).
by rewrite le_eqVlt; apply/orP; left; apply/eqP; apply: eq_norm_on => c _; rewrite mxE.
Qed.

Lemma frobeniusN Omega A : frobenius_on Omega (- A) = frobenius_on Omega A.
Proof. by congr Num.sqrt; apply: eq_bigr => c _; rewrite mxE sqrrN. Qed.

Lemma frobenius0 Omega : frobenius_on Omega (0 : 'M[R]_(m, n)) = 0.
Proof. by rewrite /frobenius_on /square_on big1 ?sqrtr0 // => c _; rewrite mxE expr0n. Qed.

Lemma square_all A : square_on [set: _] A = \sum_i \sum_j A i j ^+ 2.
Proof. by rewrite pair_bigA /=; apply: eq_bigl => c; rewrite inE. Qed.

Lemma square_all0 A : square_on [set: _] A = 0 -> A = 0.
Proof.
move=> H; apply/matrixP => i j; rewrite mxE; apply/eqP; rewrite -sqrf_eq0; apply/eqP.
by apply: (psumr_eq0P _ H (i := (i, j))) => [c _|]; rewrite ?inE //; apply: sqr_ge0.
Qed.

Lemma contraction0 : contraction (0 : 'M[R]_(m, n)).
Proof.
move=> v; rewrite mulmx0 big1 => [|j _]; last by rewrite mxE expr0n.
by apply: sumr_ge0 => i _; apply: sqr_ge0.
Qed.

Lemma contraction_small B : square_on [set: _] B <= 1 -> contraction B.
Proof.
move=> HB v; have v0 : 0 <= \sum_i v ord0 i ^+ 2 by apply: sumr_ge0 => i _; apply: sqr_ge0.
apply: (@le_trans _ _ ((\sum_i v ord0 i ^+ 2) * square_on [set: _] B)); last by rewrite ler_pimulr.
rewrite square_all exchange_big mulr_sumr; apply: ler_sum => j _; rewrite mxE.
exact: (cauchy xpredT).
Qed.

Lemma trace_square A : \tr (A^T *m A) = square_on [set: _] A.
Proof.
rewrite square_all exchange_big; apply: eq_bigr => j _; rewrite mxE.
by apply: eq_bigr => i _; rewrite mxE expr2.
Qed.

Lemma nuclear0 : nuclear_at_most (0 : 'M[R]_(m, n)) 0.
Proof. by move=> B _; rewrite trmx0 mul0mx mxtrace0. Qed.

Lemma nuclear_eq0 A : nuclear_at_most A 0 -> A = 0.
Proof.
move=> H; apply: square_all0; set S := square_on _ A.
have S0 : 0 <= S := square_on_ge0 _ _.
have S1 : 0 < 1 + S by rewrite ltr_paddr ?ltr01.
have sq : square_on [set: _] ((1 + S)^-1 *: A) = (1 + S)^-1 ^+ 2 * S.
  by rewrite /S /square_on mulr_sumr; apply: eq_bigr => c _; rewrite mxE exprMn.
have := H ((1 + S)^-1 *: A); rewrite -scalemxAr mxtraceZ trace_square -/S.
rewrite pmulr_rle0 ?invr_gt0 // => H'; apply: le_anti; rewrite S0 andbT; apply: H'.
apply: contraction_small; rewrite sq exprVn ler_pdivr_mull ?exprn_gt0 // mulr1.
apply: le_by (_ : _ = 1 + S + S ^+ 2) _; first by ring.
by rewrite !addr_ge0 ?ler01 ?sqr_ge0.
Qed.

Lemma completes0 Omega : completes Omega (0 : 'M[R]_(m, n)) 0 0.
Proof.
split=> [|A' _ c]; first by rewrite subr0 frobenius0.
move=> H B _; rewrite trmx0 mul0mx mxtrace0.
by have := H _ contraction0; rewrite mulmx0 mxtrace0.
Qed.

Lemma completes0_eq Omega A : completes Omega (0 : 'M[R]_(m, n)) 0 A -> A = 0.
Proof.
move=> [_ H]; apply: nuclear_eq0; apply: (H 0) nuclear0.
by rewrite subr0 frobenius0.
Qed.

End Completion.

Lemma RC_5_REP_proof : RC_5_REP.
Proof.
split=> [R m n Theta Z est rho [H _]|R m n Omega /missing [i [j /negbTE ij]]].
  have -> : est - Theta = (est - Z) + - (Theta - Z) by rewrite opprB addrA subrK.
  apply: le_trans (frobeniusD _ _ _) _; rewrite frobeniusN -/rho mulr_natl mulr2n.
  exact: ler_add.
have r0 : frobenius_on Omega (delta_mx i j - 0 : 'M[R]_(m, n)) = 0.
  by rewrite subr0 /frobenius_on square_on_delta ij sqrtr0.
exists (delta_mx i j), 0; rewrite r0; split=> //; first by rewrite mxrank_delta.
  by exists 0; apply: completes0.
move=> est /completes0_eq ->; rewrite sub0r frobeniusN /frobenius_on square_on_delta inE sqrtr1.
by split=> // C0; rewrite mulr0 ltr01.
Qed.

Lemma item_means_fail (R : realType) (C0 : R) : exists (m n : nat) (Theta : 'M[R]_(m, n)),
  C0 / Num.sqrt (share R ([set: 'I_m * 'I_n])) * frobenius_on [set: _] (Theta - Theta) <
  frobenius_on [set: _] (item_means [set: _] Theta - Theta).
Proof.
pose Theta : 'M[R]_(2, 1) := \matrix_(i, j) (if i == ord0 then 1 else -1).
exists 2%N, 1%N, Theta; rewrite subrr frobenius0 mulr0 sqrtr_gt0 square_all.
rewrite big_ord_recl ltr_paddr //.
  by apply: sumr_ge0 => i _; apply: sumr_ge0 => j _; apply: sqr_ge0.
rewrite big_ord_recl big_ord0 addr0 !mxE /=.
have -> : \sum_(k : 'I_2 | (k, ord0 : 'I_1) \in [set: _]) Theta k ord0 = 0.
  rewrite (eq_bigl xpredT) => [|k]; last by rewrite inE.
  by rewrite !big_ord_recl big_ord0 !mxE /= addr0 subrr.
by rewrite mul0r sub0r sqrrN expr1n ltr01.
Qed.

Lemma RC_5_ALL_proof : RC_5_ALL.
Proof.
move=> R; split=> [H|C0]; last exact: item_means_fail.
have [C0 {}H] := H (fun m n => @item_means R m n).
have [m [n [Theta]]] := item_means_fail C0.
by rewrite ltNge H.
Qed.
