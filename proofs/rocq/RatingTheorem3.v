(* Proofs on Euclidean norms, independent cells, Markov's inequality and Theorem 3 for randomized response. *)
From Dpassay Require Import Prelude Statements RatingCollection RatingErrors.
Import Statements.Finite.

Section Norms.
Variables (R : realType) (I : finType).
Implicit Types (P Q : pred I) (A B : I -> R).

Lemma sumsq_ge0 P A : 0 <= \sum_(c | P c) A c ^+ 2.
Proof. by apply: sumr_ge0 => c _; apply: sqr_ge0. Qed.

Lemma norm_on_sqr P A : norm_on P A ^+ 2 = \sum_(c | P c) A c ^+ 2.
Proof. by rewrite sqr_sqrtr ?sumsq_ge0. Qed.

Lemma norm_on_ge0 P A : 0 <= norm_on P A.
Proof. exact: sqrtr_ge0. Qed.

Lemma sqr_le (a b : R) : 0 <= b -> a ^+ 2 <= b ^+ 2 -> a <= b.
Proof.
move=> b0 ab; have [a0|a0] := ltP a 0; first exact: le_trans (ltW a0) b0.
by rewrite -ler_sqr.
Qed.

Lemma cauchy P A B :
  (\sum_(c | P c) A c * B c) ^+ 2 <= (\sum_(c | P c) A c ^+ 2) * (\sum_(c | P c) B c ^+ 2).
Proof.
set S := \sum_(c | _) A c ^+ 2; set T := \sum_(c | _) B c ^+ 2; set C := \sum_(c | _) _ * _.
have [S0|S0] := eqVneq S 0.
  have A0 c : P c -> A c = 0.
    by move=> Pc; apply/eqP; rewrite -sqrf_eq0; apply/eqP; apply: psumr_eq0P S0 c Pc => i _; apply: sqr_ge0.
  rewrite /C big1; last by move=> c Pc; rewrite A0 ?mul0r.
  by rewrite expr0n /= mulr_ge0 ?sumsq_ge0.
have Sgt0 : 0 < S by rewrite lt_def S0 sumsq_ge0.
have H : \sum_(c | P c) (S * B c - C * A c) ^+ 2 = S * (S * T - C ^+ 2).
  rewrite (eq_bigr (fun c => S ^+ 2 * B c ^+ 2 + (- (2%:R * S * C) * (A c * B c) + C ^+ 2 * A c ^+ 2))).
    by rewrite !big_split /= -!mulr_sumr -/S -/T -/C; ring.
  by move=> c _; ring.
have := sumsq_ge0 P (fun c => S * B c - C * A c).
by rewrite H pmulr_rge0 // subr_ge0.
Qed.

Lemma norm_onD P A B : norm_on P (fun c => A c + B c) <= norm_on P A + norm_on P B.
Proof.
apply: sqr_le; first by rewrite addr_ge0 ?norm_on_ge0.
rewrite sqrrD !norm_on_sqr.
rewrite (eq_bigr (fun c => A c ^+ 2 + (A c * B c) *+ 2 + B c ^+ 2)); last by move=> c _; rewrite sqrrD.
rewrite !big_split /= ler_add2r ler_add2l -mulr2n ler_pmuln2r //.
by apply: sqr_le; rewrite ?mulr_ge0 ?norm_on_ge0 // exprMn !norm_on_sqr cauchy.
Qed.

Lemma norm_on_if P Q A : norm_on P (fun c => if Q c then A c else 0) = norm_on (fun c => P c && Q c) A.
Proof. by congr Num.sqrt; rewrite big_mkcondr; apply: eq_bigr => c _; case: (Q c); rewrite // expr0n. Qed.

Lemma eq_norm_on P A B : (forall c, P c -> A c = B c) -> norm_on P A = norm_on P B.
Proof. by move=> AB; congr Num.sqrt; apply: eq_bigr => c Pc; rewrite AB. Qed.

Lemma norm_on_sub P Q A : (forall c, P c -> Q c) -> norm_on P A <= norm_on Q A.
Proof.
move=> PQ; rewrite ler_wsqrtr // [X in _ <= X](bigID P) /=.
rewrite [X in _ <= X + _](eq_bigl P); first by rewrite ler_addl sumr_ge0 // => c _; apply: sqr_ge0.
by move=> c; case Pc : (P c); rewrite ?andbF // PQ.
Qed.

End Norms.

Lemma RC_DEC_proof : RC_DEC.
Proof.
move=> R I in_X in_Z Theta X Z rho0 H; split; last first.
  by apply: le_trans H; apply: norm_on_sub => c /andP[].
rewrite -!norm_on_if.
apply: le_trans (ler_add (norm_onD _ _ _) (lexx _)).
apply: le_trans (norm_onD _ _ _).
rewrite le_eqVlt; apply/orP; left; apply/eqP; apply: eq_norm_on => c _.
by case: (in_X c) => /=; [ring | rewrite !add0r].
Qed.

Section Independent.
Variables (R : realType) (I T : finType) (p : I -> T -> R).
Hypothesis p1 : forall i, \sum_t p i t = 1.

Lemma expect_prod (g : I -> T -> R) :
  \sum_(z : {ffun I -> T}) (\prod_i p i (z i)) * \prod_i g i (z i) = \prod_i \sum_t p i t * g i t.
Proof.
rewrite (bigA_distr_bigA (fun i t => p i t * g i t)) /=.
by apply: eq_bigr => z _; rewrite big_split.
Qed.

Lemma expect_one c (f : T -> R) :
  \sum_(z : {ffun I -> T}) (\prod_i p i (z i)) * f (z c) = \sum_t p c t * f t.
Proof.
have := expect_prod (fun i t => if i == c then f t else 1).
rewrite (bigD1 c) //= eqxx [\prod_(i | i != c) _]big1 ?mulr1 => [<-|i /negbTE ic]; last first.
  by rewrite -[RHS](p1 i); apply: eq_bigr => t _; rewrite ic mulr1.
apply: eq_bigr => z _; congr (_ * _).
by rewrite (bigD1 c) //= eqxx big1 ?mulr1 // => i /negbTE ->.
Qed.

Lemma expect_two c c' (f f' : T -> R) : c != c' ->
  \sum_(z : {ffun I -> T}) (\prod_i p i (z i)) * (f (z c) * f' (z c')) = (\sum_t p c t * f t) * (\sum_t p c' t * f' t).
Proof.
move=> cc'; have c'c : c' != c by rewrite eq_sym.
have := expect_prod (fun i t => if i == c then f t else if i == c' then f' t else 1).
rewrite (bigD1 c) // (bigD1 c') //= eqxx (negbTE c'c) eqxx.
rewrite [\prod_(i | _ && _) _]big1 ?mulr1 => [<-|i /andP[/negbTE ic /negbTE ic']]; last first.
  by rewrite -[RHS](p1 i); apply: eq_bigr => t _; rewrite ic ic' mulr1.
apply: eq_bigr => z _; congr (_ * _).
rewrite (bigD1 c) // (bigD1 c') //= eqxx (negbTE c'c) eqxx.
by rewrite [\prod_(i | _ && _) _]big1 ?mulr1 // => i /andP[/negbTE -> /negbTE ->].
Qed.

End Independent.

Section Markov.
Variables (R : realType) (T : finType) (mu : law R T) (N : T -> R).

Lemma chanceC (E : {set T}) : chance mu E = 1 - chance mu (~: E).
Proof.
rewrite -(pr_sum1 mu) (bigID (mem E)) /= -addrA /chance.
have -> : \sum_(t in ~: E) pr mu t = \sum_(t | t \notin E) pr mu t by apply: eq_bigl => t; rewrite inE.
by rewrite subrr addr0.
Qed.

Lemma chance_ge0 E : 0 <= chance mu E.
Proof. by apply: sumr_ge0 => t _; apply: pr_ge0. Qed.

Lemma markov t : (forall z, 0 <= N z) -> t * chance mu [set z | t < N z] <= \sum_z pr mu z * N z.
Proof.
move=> N0; rewrite [X in _ <= X](bigID (fun z => t < N z)) /= -[X in X <= _]addr0.
apply: ler_add; last by apply: sumr_ge0 => z _; rewrite mulr_ge0 ?pr_ge0.
rewrite /chance (eq_bigl (fun z => t < N z)) => [|z]; last by rewrite inE.
by rewrite mulr_sumr; apply: ler_sum => z tz; rewrite mulrC ler_wpmul2l ?pr_ge0 // ltW.
Qed.

Lemma markov_at_most t gamma : (forall z, 0 <= N z) -> 0 <= t -> 0 < gamma ->
  \sum_z pr mu z * N z <= gamma * t -> 1 - gamma <= chance mu [set z | N z <= t].
Proof.
move=> N0; rewrite le_eqVlt => /orP[/eqP <-|t0] g0 H.
  rewrite chanceC ler_add2l ler_opp2 (_ : chance _ _ = 0) ?ltW //.
  apply: big1 => z; rewrite !inE -ltNge => Nz.
  have E : \sum_z pr mu z * N z = 0.
    apply: le_anti; rewrite sumr_ge0 ?andbT; first by rewrite (le_trans H) ?mulr0.
    by move=> i _; rewrite mulr_ge0 ?pr_ge0.
  have := psumr_eq0P (fun i _ => mulr_ge0 (pr_ge0 mu i) (N0 i)) E (i := z) isT.
  by move/eqP; rewrite mulf_eq0 (gt_eqF Nz) orbF => /eqP.
rewrite chanceC ler_add2l ler_opp2 -(ler_pmul2l t0) [X in _ <= X]mulrC.
apply: le_trans H; apply: le_trans (markov t N0); rewrite ler_pmul2l //.
rewrite le_eqVlt; apply/orP; left; apply/eqP; apply: eq_bigl => z.
by rewrite !inE ltNge.
Qed.

End Markov.

Section Theorem3.
Variables (R : realType) (m n d : nat) (eps gamma rho0 : R) (Theta : 'I_m * 'I_n -> R).
Variable X : {ffun 'I_m * 'I_n -> 'I_d.+1}.
Hypotheses (d1 : (1 < d)%N) (Theta_range : forall c, 1 <= Theta c <= d%:R) (eps0 : 0 <= eps).
Let truth c : R := if X c != ord0 then (X c)%:R else Theta c.
Let g c (t : 'I_d.+1) : R := if t != ord0 then (truth c - t%:R) ^+ 2 else 0.
Let N (z : {ffun 'I_m * 'I_n -> 'I_d.+1}) : R := \sum_c g c (z c).

Lemma g_ge0 c t : 0 <= g c t.
Proof. by rewrite /g; case: ifP => // _; apply: sqr_ge0. Qed.

Lemma cell_mean c : \sum_t rr_entry eps (X c) t * g c t <= (d%:R - 1) * (2%:R * d%:R - 1) / 6%:R * d%:R / (expR eps + d%:R).
Proof.
have De := eDgt0 d eps.
have -> : \sum_t rr_entry eps (X c) t * g c t =
    \sum_(t : 'I_d.+1 | t != ord0) rr_entry eps (X c) t * (truth c - t%:R) ^+ 2.
  by rewrite [RHS]big_mkcond; apply: eq_bigr => t _; rewrite /g; case: ifP => _; rewrite ?mulr0.
rewrite sum_rated; last first.
  by rewrite /truth; case: eqP => /= [|_]; [right | left; rewrite subrr expr0n].
rewrite ler_pmul2r ?invr_gt0 //.
have t1 : 1 <= truth c <= d%:R.
  rewrite /truth; case: (eqVneq (X c) ord0) => [_|x0] //=.
  by rewrite ler_nat -ltnS ltn_ord andbT ler1n lt0n.
have := mse_le eps d1 t1; rewrite mse_created // => H.
have := ler_wpmul2r (ltW (Dgt0 R d1)) H => {}H; apply: le_trans H.
by rewrite sum_squares le_eqVlt; apply/orP; left; apply/eqP; field.
Qed.

Lemma noise_mean (M : _ -> law R [finType of {ffun 'I_m * 'I_n -> 'I_d.+1}]) :
  (forall x z, pr (M x) z = rr_vector eps x z) -> \sum_z pr (M X) z * N z <= tight_E m n d eps.
Proof.
move=> HM; rewrite (eq_bigr (fun z => \sum_c rr_vector eps X z * g c (z c))); last first.
  by move=> z _; rewrite HM mulr_sumr.
rewrite exchange_big /=.
have -> : tight_E m n d eps = \sum_(c : 'I_m * 'I_n) ((d%:R - 1) * (2%:R * d%:R - 1) / 6%:R * d%:R / (expR eps + d%:R)).
  rewrite sumr_const card_prod !card_ord -[RHS]mulr_natl natrM /tight_E; field.
  by rewrite lt0r_neq0 // den_gt0.
apply: ler_sum => c _; apply: le_trans (cell_mean c).
by rewrite (expect_one (fun c => rr_entry_sum eps (X c))).
Qed.

Lemma rho_le z : norm_on (rated X) (fun c => Theta c - (X c)%:R) <= rho0 * Num.sqrt #|rated X|%:R ->
  rho Theta z <= rho0 * Num.sqrt #|rated X|%:R + Num.sqrt (N z).
Proof.
move=> H; apply: le_trans (ler_add H (lexx _)).
have -> : rho Theta z = norm_on (rated z) (fun c => (if rated X c then Theta c - (X c)%:R else 0) + (truth c - (z c)%:R)).
  by apply: eq_norm_on => c _; rewrite /truth /rated; case: ifP => _; ring.
apply: le_trans (norm_onD _ _ _) _; rewrite norm_on_if; apply: ler_add.
  by apply: norm_on_sub => c /andP[].
by rewrite /norm_on /N big_mkcond.
Qed.

End Theorem3.

Lemma theorem3_response_mono (f h : forall (R : realType) (m n d : nat) (eps gamma : R), R) :
  (forall (R : realType) m n d (eps gamma : R), 0 <= eps -> 0 < gamma < 1 -> (1 < d)%N -> f R m n d eps gamma <= h R m n d eps gamma) ->
  theorem3_response f -> theorem3_response h.
Proof.
move=> fh H R m n d eps gamma rho0 Theta X eps0 g01 d1 hTheta s hX.
have [M [HM HC]] := H R m n d eps gamma rho0 Theta X eps0 g01 d1 hTheta hX.
exists M; split=> //; apply: le_trans HC _.
rewrite /chance [X in _ <= X](bigID (mem [set z | rho Theta z <= rho0 * Num.sqrt s + f R m n d eps gamma])) /=.
rewrite -[X in X <= _]addr0; apply: ler_add; last by apply: sumr_ge0 => z _; apply: pr_ge0.
rewrite le_eqVlt; apply/orP; left; apply/eqP; apply: eq_bigl => z; rewrite !inE.
by case: leP => hz; rewrite ?andbF // (le_trans hz) // ler_add2l fh.
Qed.

Section Compare.
Variables (R : realType) (m n d : nat) (eps gamma : R).
Hypotheses (eps0 : 0 <= eps) (g01 : 0 < gamma < 1) (d1 : (1 < d)%N).
Let K := m%:R * n%:R * d%:R / ((expR eps + d%:R) * gamma).

Lemma tight_EE : tight_E m n d eps / gamma = (d%:R - 1) * (2%:R * d%:R - 1) / 6%:R * K.
Proof.
have /andP[g0 _] := g01; rewrite /tight_E /K; field.
by rewrite (lt0r_neq0 g0) lt0r_neq0 // den_gt0.
Qed.

Lemma K_ge0 : 0 <= K.
Proof.
have /andP[g0 _] := g01.
by rewrite /K !mulr_ge0 ?ler0n // invr_ge0 mulr_ge0 ?ltW ?den_gt0.
Qed.

Lemma printed_E : 2%:R * (d%:R - 1) * Num.sqrt (2%:R * m%:R * n%:R * d%:R / ((expR eps + d%:R) * gamma)) =
  Num.sqrt (8%:R * (d%:R - 1) ^+ 2 * K).
Proof.
have -> : 8%:R * (d%:R - 1) ^+ 2 * K =
    (2%:R * (d%:R - 1)) ^+ 2 * (2%:R * m%:R * n%:R * d%:R / ((expR eps + d%:R) * gamma)).
  by rewrite /K; set v := (_ * gamma)^-1; ring.
by rewrite [RHS]sqrtrM ?sqr_ge0 // sqrtr_sqr ger0_norm // mulr_ge0 ?ler0n // ltW // D1gt0.
Qed.

Lemma coefficients_lt : (d%:R - 1) * (2%:R * d%:R - 1) / 6%:R < 8%:R * (d%:R - 1) ^+ 2 :> R.
Proof.
have D1 := D1gt0 R d1; have D2 : 0 <= d%:R - 2%:R :> R by rewrite subr_ge0 D2.
apply: lt_by (_ : _ = (d%:R - 1) * (46%:R * (d%:R - 2%:R) + 45%:R) / 6%:R) _; first by field.
by nneg.
Qed.

End Compare.

Lemma theorem3_tight : theorem3_response (fun R m n d eps gamma => Num.sqrt (tight_E m n d eps / gamma)).
Proof.
move=> R m n d eps gamma rho0 Theta X eps0 g01 d1 hTheta s hX; apply: rr_vector_mechanism => // M HM.
have /andP[g0 _] := g01.
have t0 : 0 <= tight_E m n d eps / gamma.
  have a1 := ltW (D1gt0 R d1).
  have a2 : 0 <= 2%:R * d%:R - 1 :> R by rewrite subr_ge0 -natrM ler1n muln_gt0 (ltnW d1).
  rewrite tight_EE // mulr_ge0 ?K_ge0 //; nneg.
pose N (z : {ffun 'I_m * 'I_n -> 'I_d.+1}) : R := \sum_c (if z c != ord0 then ((if X c != ord0 then (X c)%:R else Theta c) - (z c)%:R) ^+ 2 else 0).
have N0 z : 0 <= N z by apply: sumr_ge0 => c _; case: ifP => // _; apply: sqr_ge0.
have := @markov_at_most R _ (M X) N (tight_E m n d eps / gamma) gamma N0 t0 g0.
have -> : gamma * (tight_E m n d eps / gamma) = tight_E m n d eps.
  by rewrite mulrCA divff ?mulr1 // lt0r_neq0.
move=> /(_ (@noise_mean R m n d eps Theta X d1 hTheta M HM)) /le_trans; apply.
rewrite /chance [X in _ <= X](bigID (mem [set z | N z <= tight_E m n d eps / gamma])) /=.
rewrite -[X in X <= _]addr0; apply: ler_add; last by apply: sumr_ge0 => z _; apply: pr_ge0.
rewrite le_eqVlt; apply/orP; left; apply/eqP; apply: eq_bigl => z; rewrite !inE.
case: leP => hz; rewrite ?andbF // andbT; apply/esym.
by apply: le_trans (rho_le _ hX) _; rewrite ler_add2l ler_wsqrtr.
Qed.

Lemma RC_T3_TIGHT_response_proof : RC_T3_TIGHT_response.
Proof.
split=> [|R m n d eps gamma eps0 g01 d1 m0 n0]; first exact: theorem3_tight.
have K0 : 0 < m%:R * n%:R * d%:R / ((expR eps + d%:R) * gamma).
  have /andP[g0 _] := g01.
  by rewrite !mulr_gt0 ?ltr0n ?(ltnW d1) // invr_gt0 mulr_gt0 ?den_gt0.
rewrite tight_EE // printed_E // ltr_sqrt ?ltr_pmul2r ?coefficients_lt //.
by rewrite mulr_gt0 // mulr_gt0 ?ltr0n // exprn_gt0 // D1gt0.
Qed.

Lemma RC_T3_RR_proof : RC_T3_RR.
Proof.
apply: theorem3_response_mono theorem3_tight => R m n d eps gamma eps0 g01 d1.
rewrite tight_EE // printed_E // ler_wsqrtr // ler_wpmul2r ?K_ge0 //.
by rewrite ltW ?coefficients_lt.
Qed.
