(* Proofs of the claims on the rating collection mechanisms. *)
From Dpassay Require Import Prelude.
From mathcomp.classical Require Import classical_sets.
From mathcomp Require Import zify.
From Dpassay Require Import Statements Measures.
Import Statements.Finite.

(* a <= b from an identity for b - a. *)
Lemma le_by (R : numDomainType) (a b c : R) : b - a = c -> 0 <= c -> a <= b.
Proof. by move=> <-; rewrite subr_ge0. Qed.
Lemma lt_by (R : numDomainType) (a b c : R) : b - a = c -> 0 < c -> a < b.
Proof. by move=> <-; rewrite subr_gt0. Qed.

Section Laws.
Variables (R : realType) (D : Type) (T : finType) (nb : D -> D -> Prop).

Lemma mechanismP (p : D -> T -> R) (claim : (D -> law R T) -> Prop) :
  (forall x t, 0 <= p x t) -> (forall x, \sum_t p x t = 1) ->
  (forall M : D -> law R T, (forall x t, pr (M x) t = p x t) -> claim M) -> mechanism p claim.
Proof. by move=> p0 p1 H; exists (fun x => Law (p0 x) (p1 x)); split=> //; apply: H. Qed.

Lemma chance1 (mu : law R T) t : chance mu [set t] = pr mu t.
Proof. by rewrite /chance big_set1. Qed.

Lemma dpP eps (M : D -> law R T) :
  dp nb eps M <-> (forall x y, nb x y -> forall t, pr (M x) t <= expR eps * pr (M y) t).
Proof.
split=> H x y nxy.
  by move=> t; have := H x y nxy [set t]; rewrite !chance1 addr0.
by move=> E; rewrite addr0 /chance mulr_sumr ler_sum // => t _; apply: H.
Qed.

Lemma exactly_dpP eps (M : D -> law R T) : dp nb eps M ->
  (exists x y t, [/\ nb x y, 0 < pr (M y) t & expR eps * pr (M y) t <= pr (M x) t]) -> exactly_dp nb eps M.
Proof.
move=> Hdp [x [y [t [nxy py pxy]]]] eps'; split.
  by move/dpP => /(_ x y nxy t) /(le_trans pxy); rewrite ler_pmul2r // ler_expR.
move=> le; apply/dpP => u v nuv s; move/dpP: Hdp => /(_ u v nuv s) /le_trans; apply.
by rewrite ler_wpmul2r ?pr_ge0 // ler_expR.
Qed.

(* A point that one input can give and a neighbor cannot. *)
Lemma not_dpP eps (M : D -> law R T) x y t : nb x y -> 0 < pr (M x) t -> pr (M y) t = 0 -> ~ dp nb eps M.
Proof. by move=> nxy px py /dpP /(_ x y nxy t); rewrite py mulr0 leNgt px. Qed.

End Laws.

Section Products.
Variables (R : realType) (D : Type) (T : finType) (n : nat).

Lemma entrywise_law (M : 'I_n -> D -> law R T) x :
  (forall z, 0 <= entrywise M x z) /\ \sum_z entrywise M x z = 1.
Proof.
split=> [z|]; first by apply: prodr_ge0 => i _; apply: pr_ge0.
rewrite /entrywise -(bigA_distr_bigA (fun i t => pr (M i (x i)) t)) /=.
by rewrite big1 // => i _; rewrite pr_sum1.
Qed.

End Products.

Lemma expR_mul (R : realType) (eps : R) n : expR (n%:R * eps) = expR eps ^+ n.
Proof. exact: expRMm. Qed.

Lemma sum_below n k : (k <= n)%N -> (\sum_(i < n) (i < k)%N = k)%N.
Proof.
move=> kn; rewrite -(big_mkord predT (fun i => (i < k)%N : nat)) (@big_cat_nat _ _ _ k) //=.
rewrite big_nat (eq_bigr (fun _ => 1%N)) => [|i /andP[_ ->] //]; rewrite -big_nat sum_nat_const_nat.
by rewrite big_nat big1 => [|i /andP[ki _]]; [lia | rewrite ltnNge ki].
Qed.

Section Response.
Variables (R : realType) (d : nat) (eps : R).
Hypothesis eps0 : 0 <= eps.
Let e := expR eps.

Lemma e_ge1 : 1 <= e.
Proof. by rewrite /e -(expR0 R) ler_expR. Qed.
Lemma e_gt0 : 0 < e. Proof. exact: expR_gt0. Qed.
Lemma den_gt0 : 0 < e + d%:R.
Proof. by rewrite ltr_paddr ?ler0n ?e_gt0. Qed.

Lemma rr_entry_gt0 x z : 0 < rr_entry (d := d) eps x z.
Proof. by rewrite divr_gt0 ?den_gt0 //; case: ifP => _; rewrite ?ltr01 // expR_gt0. Qed.

Lemma rr_entry_sum x : \sum_z rr_entry (d := d) eps x z = 1.
Proof.
rewrite -mulr_suml (bigD1 x) //= eqxx (eq_bigr (fun _ => 1)); last by move=> z /negbTE ->.
by rewrite sumr_const cardC1 card_ord /= divff // gt_eqF // den_gt0.
Qed.

Lemma rr_entry_le x y z : rr_entry (d := d) eps x z <= (if x == y then 1 else e) * rr_entry (d := d) eps y z.
Proof.
rewrite /rr_entry mulrA ler_pmul2r ?invr_gt0 ?den_gt0 //.
have [<-|nxy] := eqVneq x y; first by rewrite mul1r.
have ee : e <= e * e by rewrite -[X in X <= _]mulr1 ler_pmul2l ?e_gt0 ?e_ge1.
case: ifP => _; case: ifP => _; rewrite ?mulr1 -?/e ?e_ge1 //.
exact: le_trans e_ge1 ee.
Qed.

Lemma rr_entry_attained x y : x != y -> rr_entry (d := d) eps x x = e * rr_entry (d := d) eps y x.
Proof. by move=> /negbTE nxy; rewrite /rr_entry eqxx nxy mulrA mulr1. Qed.

Lemma rr_vector_gt0 (I : finType) (x z : {ffun I -> 'I_d.+1}) : 0 < rr_vector eps x z.
Proof. by apply: prodr_gt0 => i _; apply: rr_entry_gt0. Qed.

Lemma rr_vector_sum (I : finType) (x : {ffun I -> 'I_d.+1}) : \sum_z rr_vector eps x z = 1.
Proof.
rewrite /rr_vector -(bigA_distr_bigA (fun i z => rr_entry eps (x i) z)) /=.
by rewrite big1 // => i _; rewrite rr_entry_sum.
Qed.

Lemma prod_differing n (x y : {ffun 'I_n -> 'I_d.+1}) :
  \prod_i (if x i == y i then 1 else e) = e ^+ differing x y.
Proof.
rewrite /differing; elim/big_rec2: _ => [|i m p _ ->]; first by rewrite expr0.
by case: eqP => _ /=; rewrite ?mul1r ?add0n // exprD expr1.
Qed.

Lemma rr_vector_le n (x y z : {ffun 'I_n -> 'I_d.+1}) :
  rr_vector eps x z <= e ^+ differing x y * rr_vector eps y z.
Proof.
rewrite -prod_differing /rr_vector -big_split /=; apply: ler_prod => i _.
by rewrite ltW ?rr_entry_gt0 //= rr_entry_le.
Qed.

Lemma rr_vector_attained n (x y : {ffun 'I_n -> 'I_d.+1}) :
  rr_vector eps x x = e ^+ differing x y * rr_vector eps y x.
Proof.
rewrite -prod_differing /rr_vector -big_split /=; apply: eq_bigr => i _.
by case: eqP => [->|/eqP]; [rewrite mul1r | exact: rr_entry_attained].
Qed.

Lemma differing_le n (x y : {ffun 'I_n -> 'I_d.+1}) : (differing x y <= n)%N.
Proof. by rewrite -[leqRHS]card_ord -sum1_card; apply: leq_sum => i _; case: (_ != _). Qed.

Lemma rr_vector_mechanism (I : finType) (claim : (_ -> law R [finType of {ffun I -> 'I_d.+1}]) -> Prop) :
  (forall M : _ -> law R [finType of {ffun I -> 'I_d.+1}], (forall x z, pr (M x) z = rr_vector eps x z) -> claim M) ->
  mechanism (@rr_vector R I d eps) claim.
Proof. by apply: mechanismP => [x z|x]; [rewrite ltW ?rr_vector_gt0 | exact: rr_vector_sum]. Qed.

Lemma rr_vector_exact n k (M : _ -> law R [finType of {ffun 'I_n -> 'I_d.+1}]) :
  (forall x z, pr (M x) z = rr_vector eps x z) -> (0 < d)%N -> (k <= n)%N ->
  exists x y t, [/\ differing x y = k, 0 < pr (M y) t & expR (k%:R * eps) * pr (M y) t <= pr (M x) t].
Proof.
move=> HM d0 kn; pose x := [ffun i : 'I_n => if (i < k)%N then inord 1 else ord0 : 'I_d.+1].
pose y := [ffun i : 'I_n => ord0 : 'I_d.+1].
have dxy : differing x y = k.
  rewrite /differing (eq_bigr (fun i : 'I_n => (i < k)%N : nat)); last first.
    by move=> i _; rewrite !ffunE; case: ltnP => _; rewrite ?eqxx // -val_eqE /= inordK.
  exact: sum_below.
exists x, y, x; split=> //; first by rewrite HM rr_vector_gt0.
by rewrite !HM expR_mul (rr_vector_attained x y) dxy.
Qed.

End Response.

Lemma RC_T2_proof : RC_T2.
Proof.
move=> R n d eps eps0; apply: rr_vector_mechanism => // M HM.
have H : dp (@all_pairs _) (n%:R * eps) M.
  apply/dpP => x y _ t; rewrite !HM expR_mul; apply: le_trans (rr_vector_le eps0 x y t) _.
  by rewrite ler_pmul2r ?rr_vector_gt0 // ler_weexpn2l ?e_ge1 ?differing_le.
split=> // d0 n0; apply: exactly_dpP => //.
by have [x [y [t [_ H1 H2]]]] := rr_vector_exact HM d0 (leqnn n); exists x, y, t.
Qed.

(* The half of RC-T1-TIGHT on randomized response. *)
Lemma response_tight (R : realType) (n d k : nat) (eps : R) : 0 <= eps -> (0 < d)%N -> (0 < k <= n)%N ->
  mechanism (@rr_vector R [finType of 'I_n] d eps) (exactly_dp (fun x y => differing x y = k) (k%:R * eps)).
Proof.
move=> eps0 d0 /andP[k0 kn]; apply: rr_vector_mechanism => // M HM.
apply: exactly_dpP => //; last exact: rr_vector_exact.
by apply/dpP => x y nxy t; rewrite !HM expR_mul -nxy rr_vector_le.
Qed.

Lemma RC_EPS0_REP_response_proof : RC_EPS0_REP_response.
Proof.
move=> R d eps eps0; apply: mechanismP => // [x z|x]; first by rewrite ltW ?rr_entry_gt0.
exact: rr_entry_sum.
Qed.

Lemma RC_NFOLD_proof : RC_NFOLD.
Proof.
split=> [R D d T nb eps M m M1 HM vector | R n eps eps0 n0].
  split=> [x y xy S mS|x]; last exact: independent_measure.
  by apply: independent_ratio => // i le A mA; apply: HM => //; exact: xy.
pose M (x : 'I_2) : law R [finType of 'I_2] :=
  Law (fun z => ltW (rr_entry_gt0 (d := 1) eps x z)) (rr_entry_sum eps x).
exists M; split.
  apply/dpP => x y _ z /=; apply: le_trans (rr_entry_le eps0 x y z) _.
  by rewrite ler_pmul2r ?rr_entry_gt0 //; case: ifP => _ //; apply: e_ge1.
apply: mechanismP => [x z|x|P HP]; try by have [] := entrywise_law (fun _ : 'I_n => M) x.
have HP' x z : pr (P x) z = rr_vector eps (finfun x) z.
  by rewrite HP; apply: eq_bigr => i _; rewrite ffunE.
apply: exactly_dpP => [|].
  apply/dpP => x y _ z; rewrite !HP' expR_mul; apply: le_trans (rr_vector_le eps0 (finfun x) (finfun y) z) _.
  by rewrite ler_pmul2r ?rr_vector_gt0 // ler_weexpn2l ?e_ge1 ?differing_le.
have HPx (x z : {ffun 'I_n -> 'I_2}) : pr (P x) z = rr_vector eps x z.
  by rewrite HP'; congr rr_vector; apply/ffunP => i; rewrite ffunE.
have [x [y [t [_ H1 H2]]]] := rr_vector_exact (M := fun x => P x) HPx isT (leqnn n).
by exists x, y, t.
Qed.

Lemma RC_IND3_proof : RC_IND3.
Proof.
move=> R n d eps eps' n1 d0 eps0; apply: mechanismP => [x z|x|M HM].
- by apply: sumr_ge0 => xi _; apply: prodr_ge0 => v _; rewrite ltW ?rr_entry_gt0.
- rewrite /rr_by_value (exchange_big_dep predT) //=.
  rewrite (eq_bigr (fun xi : {ffun _} => \prod_v rr_entry eps v (xi v))) => [|xi _].
    rewrite -(bigA_distr_bigA (fun v z => rr_entry eps v z)) /=.
    by rewrite big1 // => i _; rewrite rr_entry_sum.
  rewrite (big_pred1 [ffun k => xi (x k)]) // => z /=.
  by apply/forallP/eqP => [H|-> k]; [apply/ffunP => k; rewrite ffunE; apply/eqP | rewrite ffunE].
pose i0 := Ordinal (ltnW n1); pose i1 := Ordinal n1; pose one : 'I_d.+1 := inord 1.
have one0 : one != ord0 by rewrite -val_eqE /= inordK.
pose x := [ffun k : 'I_n => if k == i1 then one else ord0]; pose y := [ffun k : 'I_n => ord0 : 'I_d.+1].
have i10 : i1 != i0 by [].
apply: (@not_dpP _ _ _ _ _ _ x y x) => //; rewrite HM /rr_by_value.
  rewrite (bigD1 [ffun v => v]) /=; last by apply/forallP => k; rewrite !ffunE.
  rewrite ltr_paddr //.
    by apply: sumr_ge0 => xi _; apply: prodr_ge0 => v _; rewrite ltW ?rr_entry_gt0.
  by apply: prodr_gt0 => v _; rewrite rr_entry_gt0.
rewrite big_pred0 // => xi; apply/negbTE/forallP => H.
move: (H i0) (H i1); rewrite !ffunE eqxx [i0 == i1]eq_sym (negbTE i10) => /eqP <- /eqP h.
by rewrite h eqxx in one0.
Qed.
