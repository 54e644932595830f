(* Proofs on PPNS and PNCF: sets that are possible on one of two neighbors only. *)
From Dpassay Require Import Prelude.
From mathcomp Require Import zify.
From Dpassay Require Import Statements RatingCollection RatingErrors RatingTheorem3 XMap Draws.
Import Statements.Finite.

Arguments drawn : simpl never.

Section Quotas.
Variable R : realType.

Lemma half01 : 0 < (2%:R^-1 : R) <= (2%:R - 1) / 2%:R.
Proof. by rewrite invr_gt0 ltr0n /= (_ : 2%:R - 1 = 1) ?mul1r //; ring. Qed.

Lemma up_one (x : R) : 0 < x -> x <= 1 -> up_to_whole x = 1%N.
Proof.
move=> x0 x1; have c0 := ceil_gt0 x0; have c1 : ceil x <= 1 by rewrite -ceil_ge_int.
by rewrite /up_to_whole; have -> : ceil x = 1; first by apply: le_anti; rewrite c1 /= -gtz0_ge1.
Qed.
Lemma rounded_one (x : R) : 0 < x -> x <= 1 -> rounded x = 1%N.
Proof.
move=> x0 x1; have h0 : 0 < (2%:R^-1 : R) by rewrite invr_gt0 ltr0n.
have f0 : 0 <= floor (x + 2%:R^-1) by rewrite floor_ge0 addr_ge0 // ltW.
have : floor (x + 2%:R^-1) < 2%:Z.
  by rewrite -floor_lt_int (@le_lt_trans _ _ (1 + 2%:R^-1)) ?ler_add2r // ltr_add2l invf_lt1 ?ltr0n // ltr1n.
by rewrite /rounded; case: (floor _) f0 => // -[|[|m]].
Qed.

Definition one_each (whole : R -> nat) := forall x, 0 < x -> x <= 1 -> whole x = 1%N.
Lemma first_share : 2%:R^-1 * (1 - 2%:R^-1) ^+ 0 * 2%:R = 1 :> R. Proof. by field. Qed.
Lemma second_share : 2%:R^-1 * (1 - 2%:R^-1) ^+ 1 * 2%:R = 2%:R^-1 :> R. Proof. by field. Qed.
Lemma quotas_algorithm : algorithm_quotas (2%:R^-1 : R) 2 = [:: 1%N].
Proof. by rewrite /algorithm_quotas /= first_share up_one ?ltr01. Qed.
Lemma quotas_scheme whole : one_each whole -> quotas whole (2%:R^-1 : R) 2 2 0 2 = [:: 1%N; 1%N].
Proof.
by move=> one; rewrite /= first_share one ?ltr01 //= second_share one ?invr_gt0 ?ltr0n // invf_le1 ?ltr0n // ler1n.
Qed.
Lemma defined_algorithm : algorithm_defined 4 (2%:R^-1 : R) 2.
Proof. by rewrite /algorithm_defined quotas_algorithm. Qed.
Lemma defined_scheme whole : one_each whole -> scheme_defined whole 4 (2%:R^-1 : R) 2.
Proof. by move=> one; rewrite /scheme_defined quotas_scheme // => -[|[|i]]. Qed.

Lemma ahead (x y : R) b : x < y -> (x < y) || ((x == y) && b) = true.
Proof. by move=> ->. Qed.
Lemma behind (x y : R) b : y < x -> (x < y) || ((x == y) && b) = false.
Proof. by move=> yx; rewrite ltNge (ltW yx) gt_eqF. Qed.

Lemma sqrt_of (a b : R) : 0 <= a -> b = a ^+ 2 -> Num.sqrt b = a.
Proof. by move=> a0 ->; rewrite sqrtr_sqr ger0_norm. Qed.
Lemma sqrt_ge (a b : nat) : (a * a <= b)%N -> a%:R <= Num.sqrt b%:R :> R.
Proof. by move=> ab; apply: sqr_le; rewrite ?sqrtr_ge0 // sqr_sqrtr ?ler0n // -natrX ler_nat -mulnn. Qed.
End Quotas.

Section Ties.
Variables (R : realType) (b : ties R) (n : nat) (F : rel nat -> R).
Lemma over_ties_gt0 : (forall tie, 0 < F tie) -> 0 < over_ties b n F.
Proof.
move=> F0; have P t : 0 <= pr (tie_law b n) t * F (tie_first t) by rewrite mulr_ge0 ?pr_ge0 ?ltW.
rewrite lt_def sumr_ge0 // andbT; apply/eqP => /(psumr_eq0P (fun t _ => P t)) Z.
have := pr_sum1 (tie_law b n); rewrite big1 => [/eqP|t _]; first by rewrite eq_sym oner_eq0.
by apply/eqP; have /eqP := Z t isT; rewrite mulf_eq0 [X in _ || X](gt_eqF (F0 _)) orbF.
Qed.
Lemma over_ties_eq0 : (forall tie, F tie = 0) -> over_ties b n F = 0.
Proof. by move=> F0; apply: big1 => t _; rewrite F0 mulr0. Qed.
End Ties.

(* An item that everybody rated, with a positive rating, defines all similarities. *)
Lemma rated_by_all (R : realType) (n : nat) (I : finType) (D : ratings R [finType of 'I_n] I) (t : I) :
  (forall i, exists2 x, D i t = Some x & 0 < x) -> forall a, all_defined D a.
Proof.
move=> H a i _; have norm_gt0 j l : 0 < user_norm D j l.
  have [[x jt x0] [y lt _]] := (H j, H l); rewrite /user_norm sqrtr_gt0 (bigD1 t) ?jt ?lt //= ltr_paddr ?exprn_gt0 //.
  by apply: sumr_ge0 => s _; apply: sqr_ge0.
by rewrite /cosine_defined mulr_gt0.
Qed.

(* Stars given as rows, 0 for none. *)
Definition stars (R : realType) (u n : nat) (rows : seq (seq nat)) : ratings R [finType of 'I_u] [finType of 'I_n] :=
  fun x i => if nth 0%N (nth [::] rows x) i is a.+1 then Some a.+1%:R else None.
Lemma stars_ok (R : realType) u n rows : all (all (fun a => a <= 5)%N) rows -> star_ratings (@stars R u n rows).
Proof.
move=> /allP H x i; rewrite /stars; case E: (nth 0%N _ _) => [|a]; [by left | right; exists a.+1; split=> //=].
have [nx|xn] := ltnP x (size rows); last by move: E; rewrite [nth [::] _ _]nth_default // nth_nil.
have [ni|ni] := ltnP i (size (nth [::] rows x)); last by rewrite nth_default in E.
by rewrite -E; have /allP := H _ (mem_nth [::] nx); apply; apply: mem_nth.
Qed.

Local Definition u0 : 'I_4 := ord0.
Local Definition u1 : 'I_4 := lift ord0 ord0.
Local Definition u2 : 'I_4 := lift ord0 (lift ord0 ord0).
Local Definition u3 : 'I_4 := lift ord0 (lift ord0 (lift ord0 ord0)).

Lemma user4 (y : 'I_4) : [\/ y = u0, y = u1, y = u2 | y = u3].
Proof.
case: y => [[|[|[|[|m]]]] hm] //; [constructor 1 | constructor 2 | constructor 3 | constructor 4]; exact: val_inj.
Qed.

(* The target u0 and three candidates, of which l is the least similar: the others are the first partition. *)
Section Last.
Variables (R : realType) (tie : rel nat) (I : finType) (D : ratings R [finType of 'I_4] I) (l : 'I_4).
Hypothesis l0 : l != u0.
Hypothesis last : forall j, j != u0 -> j != l -> cosine D u0 l < cosine D u0 j.

Lemma rank_last : rank tie D u0 l = 2%N.
Proof.
rewrite /rank (eq_bigr (fun=> 1%N)) => [|j /andP[j0 jl]]; last by rewrite ahead ?last.
by rewrite big_mkcond !big_ord_recl big_ord0 /=; case: (user4 l) l0 => ->.
Qed.
Lemma rank_other j : j != u0 -> j != l -> (rank tie D u0 j < 2)%N.
Proof.
move=> j0 jl; rewrite /rank (bigD1 l) /=; last by rewrite l0 eq_sym.
rewrite behind ?last // add0n.
apply: (@leq_ltn_trans (\sum_(i | (i != u0) && (i != j) && (i != l)) 1)%N); first by apply: leq_sum => i _; exact: leq_b1.
by rewrite big_mkcond !big_ord_recl big_ord0 /=; case: (user4 j) j0 jl => ->; case: (user4 l) l0 => ->.
Qed.
Lemma in_part j i : j \in partition_of tie 2 D u0 i = (j != u0) && (i == (j == l))%N.
Proof.
rewrite inE; case: eqP => //= /eqP j0; case: (eqVneq j l) => [->|jl]; first by rewrite rank_last; case: i => [|[|i]].
by have := rank_other j0 jl; case: i => [|i] => [->//|jr]; rewrite leqNgt (leq_trans jr) // leq_pmull.
Qed.
Lemma top : partition_of tie 2 D u0 0 = ~: [set u0; l].
Proof. by apply/setP => j; rewrite in_part !inE negb_or; case: (j == l); rewrite ?andbF ?andbT. Qed.
Lemma second : partition_of tie 2 D u0 1 = [set l].
Proof. by apply/setP => j; rewrite in_part inE; case: (eqVneq j l) => [->|]; rewrite ?l0 ?andbF. Qed.
Lemma rest : partitions_from tie 2 D u0 1 = [set l].
Proof.
apply/setP => j; rewrite -second inE in_part; case: (eqVneq j u0) => //= j0.
case: (eqVneq j l) => [->|jl]; first by rewrite rank_last.
by rewrite leqNgt (rank_other j0 jl).
Qed.
Lemma beyond : partitions_from tie 2 D u0 2 = set0.
Proof.
apply/setP => j; rewrite !inE; case: (eqVneq j u0) => //= j0; rewrite leqNgt.
case: (eqVneq j l) => [->|jl]; first by rewrite rank_last.
by rewrite (ltn_trans (rank_other j0 jl)).
Qed.

Variables w w' : 'I_4 -> R.
Hypotheses (w0 : forall i, 0 < w i) (w'0 : forall i, 0 < w' i).
Variable x : 'I_4.
Hypotheses (x0 : x != u0) (xl : x != l).

Lemma in_top : [set x; l] :&: ~: [set u0; l] = [set x].
Proof. by apply/setP => j; rewrite !inE; case: (eqVneq j x) => [->|_]; rewrite ?(negbTE x0) ?(negbTE xl) //=; case: eqP; rewrite ?orbT. Qed.
Lemma in_rest : [set x; l] :&: [set l] = [set l].
Proof. by apply/setIidPr; rewrite sub1set !inE eqxx orbT. Qed.
Lemma drawn_x : 0 < drawn w 1 (~: [set u0; l]) [set x].
Proof. by rewrite drawn_gt0 ?cards1 // sub1set !inE negb_or x0. Qed.
Lemma drawn_l (v : 'I_4 -> R) : (forall i, 0 < v i) -> 0 < drawn v 1 [set l] [set l].
Proof. by move=> v0; rewrite drawn_gt0 ?cards1. Qed.

Lemma ppns_possible : 0 < ppns tie 2%:R^-1 2 w w' D u0 [set x; l].
Proof.
rewrite /ppns quotas_algorithm /= /drawn_from_partitions big_ord1 top rest in_top in_rest.
by rewrite !inE ![u0 == _]eq_sym (negbTE x0) (negbTE l0) mulr1 mulr_gt0 ?drawn_x ?drawn_l.
Qed.

Variable whole : R -> nat.
Hypothesis one : one_each whole.
Lemma scheme_possible : 0 < ppns_scheme whole tie 2%:R^-1 2 w D u0 [set x; l].
Proof.
rewrite /ppns_scheme quotas_scheme //= /drawn_from_partitions !big_ord_recl big_ord0 /= top second in_top in_rest beyond.
have -> : [set x; l] \subset ~: (u0 |: set0).
  by apply/subsetP => j; rewrite !inE orbF => /orP[] /eqP ->.
by rewrite !mulr1 mulr_gt0 ?drawn_x ?drawn_l.
Qed.
Lemma scheme_impossible : ppns_scheme whole tie 2%:R^-1 2 w D u0 (~: [set u0; l]) = 0.
Proof.
rewrite /ppns_scheme quotas_scheme // /drawn_from_partitions !big_ord_recl /= top setIid drawn_eq0 ?mul0r //.
by rewrite negb_and cardsCs setCK cards2 card_ord (eq_sym u0) l0 orbT.
Qed.
End Last.

(* No partition supplies both neighbors. *)
Lemma top_impossible (R : realType) tie (I : finType) (D : ratings R [finType of 'I_4] I) w w' a :
  ppns tie 2%:R^-1 2 w w' D a (partition_of tie 2 D a 0) = 0.
Proof.
rewrite /ppns quotas_algorithm /= [X in _ * X * _]drawn_eq0 ?mulr0 ?mul0r //.
rewrite (_ : _ :&: _ = set0) ?cards0 ?andbF //.
apply/setP => j; rewrite !inE; case: (j != a) => //=; set r := rank _ _ _ _.
by move: r => r; lia.
Qed.

(* Users 0 and 1 rated two items (3, 4), user 3 (x, 4), user 2 in another way. *)
Section Rows.
Variable R : realType.
Let D (row : seq nat) (x : nat) : ratings R _ _ := stars R (u := 4) (n := 3) [:: [:: 3; 4]; [:: 3; 4]; row; [:: x; 4]]%N.

Lemma D_stars row x : all (fun a => a <= 5)%N row -> (x <= 5)%N -> star_ratings (D row x).
Proof. by move=> rowP x5; apply: stars_ok; rewrite /= rowP x5. Qed.
Lemma D_defined b c row x a : all_defined (D (b :: c.+1 :: row) x) a.
Proof.
apply: (@rated_by_all _ _ _ _ (lift ord0 ord0)) => i.
by case: (user4 i) => ->; (eexists; [reflexivity | rewrite ltr0n]).
Qed.

Lemma cosine_of n (I : finType) (E : ratings R [finType of 'I_n] I) a i (c l m : R) : 0 < l -> 0 < m ->
  \sum_(t | E a t && E i t) value_of (E a t) ^+ 2 = l ^+ 2 -> \sum_(t | E i t && E a t) value_of (E i t) ^+ 2 = m ^+ 2 ->
  \sum_(t | E a t && E i t) value_of (E a t) * value_of (E i t) = c * (l * m) -> cosine E a i = c.
Proof.
by move=> l0 m0 L M P; rewrite /cosine /user_norm P L M !sqrtr_sqr !gtr0_norm // mulfK // mulf_neq0 // lt0r_neq0.
Qed.
Lemma cos_same row x : cosine (D row x) u0 u1 = 1.
Proof.
apply: (@cosine_of _ _ _ _ _ _ 5%:R 5%:R); rewrite ?ltr0n // big_mkcond !big_ord_recl big_ord0 /= /value_of /=; ring.
Qed.
Lemma cos_more x : cosine (D [:: 3; 4; 5]%N x) u0 u2 = 1.
Proof.
apply: (@cosine_of _ _ _ _ _ _ 5%:R 5%:R); rewrite ?ltr0n // big_mkcond !big_ord_recl big_ord0 /= /value_of /=; ring.
Qed.
Lemma cos_other x : cosine (D [:: 4; 3]%N x) u0 u2 = 24%:R / 25%:R.
Proof.
by apply: (@cosine_of _ _ _ _ _ _ 5%:R 5%:R); rewrite ?ltr0n // big_mkcond !big_ord_recl big_ord0 /= /value_of /=; field.
Qed.
Lemma cos_high row x : x \in [:: 0; 3]%N -> cosine (D row x) u0 u3 = 1.
Proof.
rewrite !inE => /orP[] /eqP ->; [apply: (@cosine_of _ _ _ _ _ _ 4%:R 4%:R) | apply: (@cosine_of _ _ _ _ _ _ 5%:R 5%:R)];
  rewrite ?ltr0n // big_mkcond !big_ord_recl big_ord0 /= /value_of /=; ring.
Qed.
(* 19/(5 sqrt 17). *)
Lemma cos_low row : cosine (D row 1) u0 u3 < 24%:R / 25%:R.
Proof.
have n1 : user_norm (D row 1) u0 u3 = 5%:R.
  by apply: sqrt_of; rewrite ?ler0n // big_mkcond !big_ord_recl big_ord0 /= /value_of /=; ring.
have n2 : user_norm (D row 1) u3 u0 = Num.sqrt 17%:R.
  by congr Num.sqrt; rewrite big_mkcond !big_ord_recl big_ord0 /= /value_of /=; ring.
have r17 : 4%:R <= Num.sqrt 17%:R :> R by rewrite sqrt_ge.
have r0 : 0 < Num.sqrt 17%:R :> R by rewrite sqrtr_gt0 ltr0n.
rewrite /cosine n1 n2 big_mkcond !big_ord_recl big_ord0 /= /value_of /= ltr_pdivr_mulr ?mulr_gt0 ?ltr0n //.
apply: lt_le_trans (_ : 24%:R / 25%:R * (5%:R * 4%:R) <= _); last by rewrite ler_wpmul2l ?divr_ge0 ?ler0n // ler_wpmul2l ?ler0n.
rewrite -subr_gt0 (_ : _ - _ = 5%:R^-1); last by field.
by rewrite invr_gt0 ltr0n.
Qed.
Lemma lt_one : 24%:R / 25%:R < 1 :> R.
Proof. by rewrite ltr_pdivr_mulr ?ltr0n // mul1r ltr_nat. Qed.

(* User 3 rates (1, 4) on the one dataset, and (3, 4) or (-, 4) on the other: then user 2 with (4, 3) is the last. *)
Definition before := D [:: 4; 3]%N 1.
Definition after (changed : bool) := D [:: 4; 3]%N (if changed then 3 else 0)%N.
Lemma changed_neighboring changed : neighboring changed before (after changed) u0.
Proof.
split; try exact: D_defined; try by apply: D_stars => //; case: changed.
exists u3, ord0; split; last by case: changed.
  by move=> j s; case: (user4 j) => -> //; rewrite xpair_eqE eqxx /=; case: s => [[|[|[|s]]] hs].
by rewrite /before /after; case: changed => // -[] /eqP; rewrite eqr_nat.
Qed.
Lemma before_last j : j != u0 -> j != u3 -> cosine before u0 u3 < cosine before u0 j.
Proof.
by case: (user4 j) => -> // _ _; rewrite ?cos_same ?cos_other ?(lt_trans (cos_low _) lt_one) ?cos_low.
Qed.
Lemma after_last changed j : j != u0 -> j != u2 -> cosine (after changed) u0 u2 < cosine (after changed) u0 j.
Proof.
by case: (user4 j) => -> // _ _; rewrite cos_other ?cos_same ?cos_high ?lt_one //; case: changed.
Qed.

(* Users 0 and 1 are the fakes of user 2, who rated (3, 4, 5). *)
Definition attacked := D [:: 3; 4; 5]%N 1.
Definition known_items : {set 'I_3} := [set ord0; lift ord0 ord0].
Lemma attack : knn_attack 2 attacked [set u0; u1] u2 known_items.
Proof.
split; rewrite ?inE ?cards2 //.
- by move=> t; rewrite !inE => /orP[] /eqP ->.
- by exists (lift ord0 (lift ord0 ord0)); rewrite ?inE.
by move=> f t; rewrite !inE => /orP[] /eqP ->; case: t => [[|[|[|t]]] ht].
Qed.
Lemma attacked_last j : j != u0 -> j != u3 -> cosine attacked u0 u3 < cosine attacked u0 j.
Proof.
by case: (user4 j) => -> // _ _; rewrite ?cos_same ?cos_more (lt_trans (cos_low _) lt_one).
Qed.
End Rows.

Lemma both_first : [set u1; u3] = ~: [set u0; u2].
Proof. by apply/setP => j; rewrite !inE; case: (user4 j) => ->. Qed.

Lemma PP_DP_proof : PP_DP.
Proof.
move=> R eps' b changed; split=> [w w' w0 w'0|eps RS n I p k D a i]; last exact: expR_gt0.
have nb := changed_neighboring R changed.
split=> H; [have := H _ _ _ 2%N _ _ _ [set u1; u3] (half01 R) (defined_algorithm R) nb
           |have := H _ _ _ 2%N _ _ _ [set u1; u3] (half01 R) (defined_scheme (@rounded_one R)) nb].
  rewrite [X in _ <= _ * X]over_ties_eq0 => [|tie].
    by rewrite mulr0 leNgt over_ties_gt0 // => tie; apply: ppns_possible => //; exact: before_last.
  by rewrite both_first -(top tie _ (@after_last R changed)) //; apply: top_impossible.
rewrite [X in _ <= _ * X]over_ties_eq0 => [|tie].
  by rewrite mulr0 leNgt over_ties_gt0 // => tie; apply: scheme_possible => //; [exact: before_last | exact: rounded_one].
by rewrite both_first; apply: scheme_impossible => //; [exact: after_last | exact: rounded_one].
Qed.

Lemma PP_ORIG_proof : PP_ORIG.
Proof.
move=> R changed; exists 4%N; eexists; exists 2%:R^-1, 2%N, (before R), (after R changed), u0, [set u1; u3]; split.
  by split; [exact: half01 | exact: defined_scheme (@up_one R) | exact: changed_neighboring].
move=> tie w w' w0 w'0; rewrite {2}both_first; split.
  by apply: scheme_possible => //; [exact: before_last | exact: up_one].
by apply: scheme_impossible => //; [exact: after_last | exact: up_one].
Qed.

Lemma PP_SEC2_proof : PP_SEC2.
Proof.
move=> R b w w' w0 w'0 H.
have stars5 : star_ratings (attacked R) by apply: D_stars.
have all f : f \in [set u0; u1] -> all_defined (attacked R) f by move=> _; apply: D_defined.
have := H _ _ _ _ _ _ _ _ (half01 R) (defined_algorithm R) stars5 (attack R) all.
move=> /(_ (fun f _ => over_ties_eq0 b 4 (fun tie => top_impossible tie _ _ _ f)) u0 [set u2; u3]).
rewrite !inE eqxx /= => /(_ isT isT) E.
suff: 0 < (0 : R) by rewrite ltxx.
by rewrite -[X in _ < X]E; apply: over_ties_gt0 => tie; apply: ppns_possible => //; apply: attacked_last.
Qed.

Section Truncation.
Variable R : realType.
(* The target (1, 1, 5); candidates (5, 5, 1), the first of which is (5, 5, -) in D'. *)
Let T (row : seq nat) : ratings R _ _ := stars R (u := 4) (n := 3) [:: [:: 1; 1; 5]; row; [:: 5; 5; 1]; [:: 5; 5; 1]]%N.
Let D := T [:: 5; 5; 1]%N.
Let D' := T [:: 5; 5; 0]%N.
(* The similarity of all candidates but the first in D'. *)
Let c : R := 15%:R / (Num.sqrt 27%:R * Num.sqrt 51%:R).

Lemma T_defined row a : all_defined (T (5 :: row)%N) a.
Proof. by apply: (@rated_by_all _ _ _ _ ord0) => i; case: (user4 i) => ->; (eexists; [reflexivity | rewrite ltr0n]). Qed.
Lemma T_neighbors : neighboring false D D' u0.
Proof.
split; try exact: T_defined; try exact: stars_ok.
exists u1, (lift ord0 (lift ord0 ord0)); split=> // j [[|[|[|m]]] hm] //; case: (user4 j) => -> //.
Qed.

Lemma T_norms j : j != u0 -> user_norm D u0 j = Num.sqrt 27%:R /\ user_norm D j u0 = Num.sqrt 51%:R.
Proof.
by case: (user4 j) => -> // _; split; congr Num.sqrt; rewrite big_mkcond !big_ord_recl big_ord0 /= /value_of /=; ring.
Qed.
Lemma T'_norms : user_norm D' u0 u1 = Num.sqrt 2%:R /\ user_norm D' u1 u0 = Num.sqrt 50%:R.
Proof. by split; congr Num.sqrt; rewrite big_mkcond !big_ord_recl big_ord0 /= /value_of /=; ring. Qed.

Lemma T_cos j : j != u0 -> cosine D u0 j = c.
Proof.
move=> j0; have [n1 n2] := T_norms j0; rewrite /cosine n1 n2; congr (_ / _); case: (user4 j) j0 => -> // _;
  by rewrite big_mkcond !big_ord_recl big_ord0 /= /value_of /=; ring.
Qed.
Lemma T'_cos j : j \in [:: u2; u3] -> cosine D' u0 j = c.
Proof. by rewrite !inE => /orP[] /eqP ->; [exact: (@T_cos u2) | exact: (@T_cos u3)]. Qed.
Lemma T'_cos1 : cosine D' u0 u1 = 1.
Proof.
have [n1 n2] := T'_norms; rewrite /cosine n1 n2 -sqrtrM ?ler0n // (@sqrt_of _ 10%:R) ?ler0n //; last by ring.
by rewrite big_mkcond !big_ord_recl big_ord0 /= /value_of /=; field.
Qed.

Lemma c_gt0 : 0 < c.
Proof. by rewrite divr_gt0 ?mulr_gt0 ?sqrtr_gt0 ?ltr0n. Qed.
(* Less than 15/35. *)
Lemma cc_lt1 : c + c < 1.
Proof.
have P : 35%:R <= Num.sqrt 27%:R * Num.sqrt 51%:R :> R.
  by rewrite (_ : 35%:R = 5%:R * 7%:R) ?ler_pmul ?ler0n ?sqrt_ge // -natrM.
rewrite /c -mulrDl ltr_pdivr_mulr ?mul1r; last by apply: lt_le_trans P; rewrite ltr0n.
by apply: lt_le_trans P; rewrite -natrD ltr_nat.
Qed.

Lemma candidates4 : [seq i <- enum 'I_4 | i != u0] = [:: u1; u2; u3].
Proof.
by apply: (inj_map val_inj); rewrite -(filter_map _ (fun m => m != 0%N)) val_enum_ord.
Qed.
Lemma T_sorted (k : nat) : (k < 3)%N -> kth_similarity k.+1 D u0 = c.
Proof.
rewrite /kth_similarity candidates4 /= !T_cos // sorted_sort; first by case: k => [|[|[|k]]].
  by move=> x y z yx zy; apply: le_trans zy yx.
by rewrite /= !lexx.
Qed.
Lemma T'_sorted : [/\ kth_similarity 1 D' u0 = 1 & kth_similarity 2 D' u0 = c].
Proof.
rewrite /kth_similarity candidates4 /= T'_cos1 !T'_cos // sorted_sort //.
  by move=> x y z yx zy; apply: le_trans zy yx.
by rewrite /= lexx (le_trans _ (ltW cc_lt1)) // ler_addl ltW ?c_gt0.
Qed.

Variables (eps rho : R).
Hypotheses (eps0 : 0 < eps) (rho01 : 0 < rho < 1).

Lemma width_gt0 (k : nat) (r : R) : (0 < k < 3)%N -> 0 < r -> 0 < 4%:R * k%:R * r / eps * ln (k%:R * (4.-1 - k)%:R / rho).
Proof.
move=> /andP[k0 k3] r0; have /andP[p0 p1] := rho01.
rewrite mulr_gt0 ?divr_gt0 ?mulr_gt0 ?ltr0n // ln_gt0 // ltr_pdivl_mulr // mul1r -natrM.
by rewrite (lt_le_trans p1) // ler1n muln_gt0 k0 subn_gt0.
Qed.

Section Weights.
Variables (RS : R) (w : 'I_4 -> R).
Hypotheses (RS0 : 0 < RS) (w0 : forall i, 0 < w i).

(* Candidates as similar as the k-th are in the pool when nobody is sure. *)
Lemma T_possible k (S : {set 'I_4}) : (0 < k < 3)%N -> u0 \notin S -> #|S| = k -> 0 < pncf k eps RS rho w D u0 S.
Proof.
move=> k3 S0 Sk; rewrite /pncf; case: k k3 Sk => // k k3 Sk; rewrite T_sorted ?(ltnW k3) //.
set l := lambda _ _ _ _ _ _; have l0 : 0 <= l by rewrite le_minr T_sorted ?(ltnW k3) // (ltW c_gt0) ltW ?width_gt0.
have -> : [set i | (i != u0) && (c + l < cosine D u0 i)] = set0.
  by apply/setP => j; rewrite !inE; case: eqP => //= /eqP j0; rewrite T_cos // ltNge ler_addl l0.
rewrite cards0 subn0 setD0 sub0set mulr1 drawn_gt0 //.
apply/subsetP => j jS; rewrite !inE; have j0 : j != u0 by apply: contraNneq S0 => <-.
by rewrite j0 T_cos //= ler_subl_addr ler_addl l0.
Qed.

Lemma T_impossible_above : pncf 2 eps RS rho w D' u0 [set u2; u3] = 0.
Proof.
rewrite /pncf; have [_ ->] := T'_sorted; set l := lambda _ _ _ _ _ _.
have lc : l <= c by rewrite /l /lambda; have [_ ->] := T'_sorted; rewrite le_minl lexx.
rewrite [X in _ * X](_ : _ = 0) ?mulr0 //; apply/eqP; rewrite pnatr_eq0 eqb0; apply/subsetPn.
by exists u1; rewrite !inE //= T'_cos1 (le_lt_trans _ cc_lt1) // ler_add2l.
Qed.

Lemma T_impossible_below : lambda 1 eps RS rho D' u0 < 1 - c -> pncf 1 eps RS rho w D' u0 [set u2] = 0.
Proof.
have l0 : 0 <= lambda 1 eps RS rho D' u0.
  by rewrite /lambda; have [-> _] := T'_sorted; rewrite le_minr ler01 ltW ?width_gt0.
rewrite /pncf; have [-> _] := T'_sorted; move: l0; set l := lambda _ _ _ _ _ _ => l0 lc.
have c1 : c <= 1 by rewrite (le_trans _ (ltW cc_lt1)) // ler_addl ltW ?c_gt0.
rewrite drawn_eq0 ?mul0r // negb_and; apply/orP; left; apply/subsetPn; exists u2.
  by rewrite !inE eqxx andbT T'_cos ?inE // -leNgt (le_trans c1) // ler_addl.
by rewrite !inE T'_cos ?inE //= negb_and -ltNge ltr_subr_addl -ltr_subr_addr lc.
Qed.
End Weights.

(* The widths of k = 1 that stay below c and 1 - c. *)
Lemma small_width : exists2 b, 0 < b & forall RS, 0 < RS <= b -> 4%:R * 1%:R * RS / eps * ln (1%:R * (4.-1 - 1)%:R / rho) < c.
Proof.
pose f := 4%:R * 1%:R * 1 / eps * ln (1%:R * (4.-1 - 1)%:R / rho); have f0 : 0 < f := @width_gt0 1 1 isT ltr01.
exists (c / (2%:R * f)); first by rewrite divr_gt0 ?c_gt0 // mulr_gt0 ?ltr0n.
move=> RS /andP[RS0 RSb].
have -> : 4%:R * 1%:R * RS / eps * ln (1%:R * (4.-1 - 1)%:R / rho) = f * RS by rewrite /f; ring.
apply: le_lt_trans (_ : c / 2%:R < c).
  by rewrite mulrC -ler_pdivl_mulr // -mulrA -invfM.
by rewrite ltr_pdivr_mulr ?ltr0n // mulr_natr mulr2n ltr_addl c_gt0.
Qed.
End Truncation.

Lemma PP_PNCF_NOT_proof : PP_PNCF_NOT.
Proof.
move=> R; split.
  exists 4%N; eexists; exists 2%N; do 2 eexists; exists u0, [set u2; u3].
  split; [by [] | split; first exact: T_neighbors].
  move=> eps rho RS RS' w w' eps0 rho01 RS0 RS'0 w0 w'0.
  by split; [apply: T_possible => //; rewrite ?inE ?cards2 | apply: T_impossible_above].
exists 4%N; eexists; exists 1%N; do 2 eexists; exists u0, [set u2].
split; [by [] | split; first exact: T_neighbors].
move=> eps rho eps0 rho01; have [b b0 small] := small_width eps0 rho01; exists b => // RS RS' w w' RSb RS'b w0 w'0.
have [RS0 _] := andP RSb; have [RS'0 _] := andP RS'b; have [k1 _] := T'_sorted R; have c1 := cc_lt1 R.
have lt_c := small _ RSb; have lt'_c := small _ RS'b.
split; rewrite ?k1 ?T_sorted //.
- by rewrite lt_minl lt_c orbT.
- by rewrite lt_minl (lt_trans lt'_c) ?orbT // (lt_trans _ c1) // ltr_addl c_gt0.
- by apply: T_possible; rewrite ?inE ?cards1.
- by apply: T_impossible_below => //; rewrite lt_minl (lt_trans lt'_c) ?orbT // ltr_subr_addl.
Qed.
