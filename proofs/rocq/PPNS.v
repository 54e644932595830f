(* Proofs on PPNS and PNCF: sets that are possible on one of two neighbors only. *)
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp.analysis Require Import reals ereal sequences exp measure.
From mathcomp.algebra_tactics Require Import ring.
From mathcomp Require Import zify.
From Dpassay Require Import Statements RatingCollection RatingErrors RatingTheorem3 XMap Draws.
Import Statements.Finite.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Arguments drawn : simpl never.

Section Quotas.
Variable R : realType.

Lemma half01 : 0 < (2%:R^-1 : R) < 1.
Proof. by rewrite invr_gt0 ltr0n /= invf_lt1 ?ltr0n // ltr1n. Qed.

Lemma ceil_one (x : R) : 0 < x -> x <= 1 -> `|ceil x|%N = 1%N.
Proof.
move=> x0 x1; have c0 := ceil_gt0 x0; have c1 : ceil x <= 1 by rewrite -ceil_ge_int.
by have -> : ceil x = 1; first by apply: le_anti; rewrite c1 /= -gtz0_ge1.
Qed.

Lemma quotas_algorithm : quotas (2%:R^-1 : R) 2 1 0 2 = [:: 1%N].
Proof. by rewrite /= expr0 mulr1 mulVf ?pnatr_eq0 // ceil_one ?ltr01. Qed.

Lemma quotas_original : quotas (2%:R^-1 : R) 2 2 0 2 = [:: 1%N; 1%N].
Proof.
have [h0 h1] := andP half01.
rewrite /= expr0 mulr1 mulVf ?pnatr_eq0 // ceil_one ?ltr01 //= subn1 /=.
have -> : 2%:R^-1 * (1 - 2%:R^-1) ^+ 1 * 2%:R = 2%:R^-1 :> R by field.
by rewrite ceil_one // ltW.
Qed.

Lemma ahead (x y : R) b : x < y -> (x < y) || ((x == y) && b) = true.
Proof. by move=> ->. Qed.
Lemma behind (x y : R) b : y < x -> (x < y) || ((x == y) && b) = false.
Proof. by move=> yx; rewrite ltNge (ltW yx) gt_eqF. Qed.

Lemma sqrt_of (a b : R) : 0 <= a -> b = a ^+ 2 -> Num.sqrt b = a.
Proof. by move=> a0 ->; rewrite sqrtr_sqr ger0_norm. Qed.
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

Section Border.
Variables (R : realType) (tie : rel nat).
Let row (a b : R) := [:: Some a; Some b].
(* The target (3, 4); candidates (3, 4), (4, 3), and (12, 5) or (12, -). *)
Let D : ratings R [finType of 'I_4] _ :=
  table (u := 4) (n := 2) [:: row 3%:R 4%:R; row 3%:R 4%:R; row 4%:R 3%:R; row 12%:R 5%:R].
Let D' : ratings R [finType of 'I_4] _ :=
  table (u := 4) (n := 2) [:: row 3%:R 4%:R; row 3%:R 4%:R; row 4%:R 3%:R; [:: Some 12%:R; None]].
Let u0 : 'I_4 := ord0.
Let u1 : 'I_4 := lift ord0 ord0.
Let u2 : 'I_4 := lift ord0 (lift ord0 ord0).
Let u3 : 'I_4 := lift ord0 (lift ord0 (lift ord0 ord0)).

Lemma user4 (y : 'I_4) : [\/ y = u0, y = u1, y = u2 | y = u3].
Proof.
case: y => [[|[|[|[|m]]]] hm] //; [constructor 1 | constructor 2 | constructor 3 | constructor 4]; exact: val_inj.
Qed.

Lemma D_neighbors : one_rating D D'.
Proof.
exists u3, (lift ord0 ord0); split=> // j s.
by case: (user4 j) => ->; case: (user2 s) => ->.
Qed.

Lemma D_defined a : all_defined D a.
Proof. by apply: (@rated_by_all _ _ _ _ ord0) => i; case: (user4 i) => ->; (eexists; [reflexivity | rewrite ?ltr0n ?ltr01]). Qed.
Lemma D'_defined a : all_defined D' a.
Proof. by apply: (@rated_by_all _ _ _ _ ord0) => i; case: (user4 i) => ->; (eexists; [reflexivity | rewrite ?ltr0n ?ltr01]). Qed.

Lemma D_cos1 : cosine D u0 u1 = 1.
Proof.
have n1 : user_norm D u0 u1 = 5%:R.
  by apply: sqrt_of; rewrite ?ler0n // big_mkcond !big_ord_recl big_ord0 /= /value_of /=; ring.
have n2 : user_norm D u1 u0 = 5%:R.
  by apply: sqrt_of; rewrite ?ler0n // big_mkcond !big_ord_recl big_ord0 /= /value_of /=; ring.
by rewrite /cosine n1 n2 big_mkcond !big_ord_recl big_ord0 /= /value_of /=; field.
Qed.

Lemma D_cos2 : cosine D u0 u2 = 24%:R / 25%:R.
Proof.
have n1 : user_norm D u0 u2 = 5%:R.
  by apply: sqrt_of; rewrite ?ler0n // big_mkcond !big_ord_recl big_ord0 /= /value_of /=; ring.
have n2 : user_norm D u2 u0 = 5%:R.
  by apply: sqrt_of; rewrite ?ler0n // big_mkcond !big_ord_recl big_ord0 /= /value_of /=; ring.
by rewrite /cosine n1 n2 big_mkcond !big_ord_recl big_ord0 /= /value_of /=; field.
Qed.

Lemma D_cos3 : cosine D u0 u3 = 56%:R / 65%:R.
Proof.
have n1 : user_norm D u0 u3 = 5%:R.
  by apply: sqrt_of; rewrite ?ler0n // big_mkcond !big_ord_recl big_ord0 /= /value_of /=; ring.
have n2 : user_norm D u3 u0 = 13%:R.
  by apply: sqrt_of; rewrite ?ler0n // big_mkcond !big_ord_recl big_ord0 /= /value_of /=; ring.
by rewrite /cosine n1 n2 big_mkcond !big_ord_recl big_ord0 /= /value_of /=; field.
Qed.

Lemma D'_cos1 : cosine D' u0 u1 = 1. Proof. exact: D_cos1. Qed.
Lemma D'_cos2 : cosine D' u0 u2 = 24%:R / 25%:R. Proof. exact: D_cos2. Qed.
Lemma D'_cos3 : cosine D' u0 u3 = 1.
Proof.
have n1 : user_norm D' u0 u3 = 3%:R.
  by apply: sqrt_of; rewrite ?ler0n // big_mkcond !big_ord_recl big_ord0 /= /value_of /=; ring.
have n2 : user_norm D' u3 u0 = 12%:R.
  by apply: sqrt_of; rewrite ?ler0n // big_mkcond !big_ord_recl big_ord0 /= /value_of /=; ring.
by rewrite /cosine n1 n2 big_mkcond !big_ord_recl big_ord0 /= /value_of /=; field.
Qed.

Lemma lt21 : 24%:R / 25%:R < 1 :> R.
Proof. by rewrite ltr_pdivr_mulr ?ltr0n // mul1r ltr_nat. Qed.
Lemma lt32 : 56%:R / 65%:R < 24%:R / 25%:R :> R.
Proof.
apply: lt_by (_ : _ = 32%:R / 325%:R) _; first by field.
by rewrite divr_gt0 ?ltr0n.
Qed.
Lemma lt31 : 56%:R / 65%:R < 1 :> R. Proof. exact: lt_trans lt32 lt21. Qed.

Lemma D_rank1 : rank tie D u0 u1 = 0%N.
Proof.
rewrite /rank big_mkcond !big_ord_recl big_ord0 /= -/u0 -/u1 -/u2 -/u3 D_cos1 D_cos2 D_cos3.
by rewrite !behind ?lt21 ?lt31.
Qed.
Lemma D_rank2 : rank tie D u0 u2 = 1%N.
Proof.
rewrite /rank big_mkcond !big_ord_recl big_ord0 /= -/u0 -/u1 -/u2 -/u3 D_cos1 D_cos2 D_cos3.
by rewrite ahead ?lt21 // behind ?lt32.
Qed.
Lemma D_rank3 : rank tie D u0 u3 = 2%N.
Proof.
rewrite /rank big_mkcond !big_ord_recl big_ord0 /= -/u0 -/u1 -/u2 -/u3 D_cos1 D_cos2 D_cos3.
by rewrite !ahead ?lt31 ?lt32.
Qed.

Lemma D'_rank1 : (rank tie D' u0 u1 < 2)%N.
Proof.
rewrite /rank big_mkcond !big_ord_recl big_ord0 /= -/u0 -/u1 -/u2 -/u3 D'_cos1 D'_cos2 D'_cos3.
by rewrite (behind _ lt21) ltxx eqxx; case: (tie _ _).
Qed.
Lemma D'_rank3 : (rank tie D' u0 u3 < 2)%N.
Proof.
rewrite /rank big_mkcond !big_ord_recl big_ord0 /= -/u0 -/u1 -/u2 -/u3 D'_cos1 D'_cos2 D'_cos3.
by rewrite (behind _ lt21) ltxx eqxx; case: (tie _ _).
Qed.

Lemma D_part : partition_of tie 2 D u0 0 = [set u1; u2].
Proof. by apply/setP => j; rewrite !inE; case: (user4 j) => -> //; rewrite ?D_rank1 ?D_rank2 ?D_rank3. Qed.
Lemma D_rest : partitions_from tie 2 D u0 1 = [set u3].
Proof. by apply/setP => j; rewrite !inE; case: (user4 j) => -> //; rewrite ?D_rank1 ?D_rank2 ?D_rank3. Qed.
Lemma D_part1 : partition_of tie 2 D u0 1 = [set u3].
Proof. by apply/setP => j; rewrite !inE; case: (user4 j) => -> //; rewrite ?D_rank1 ?D_rank2 ?D_rank3. Qed.
Lemma D'_part : [set u1; u3] \subset partition_of tie 2 D' u0 0.
Proof. by apply/subsetP => j; rewrite !inE => /orP[] /eqP -> /=; rewrite ?D'_rank1 ?D'_rank3. Qed.

Let S : {set 'I_4} := [set u1; u3].
Lemma S_part : S :&: [set u1; u2] = [set u1].
Proof. by apply/setP => j; rewrite !inE; case: (user4 j) => ->. Qed.
Lemma S_rest : S :&: [set u3] = [set u3].
Proof. by apply/setP => j; rewrite !inE; case: (user4 j) => ->. Qed.

Variables w w' : 'I_4 -> R.
Hypotheses (w0 : forall i, 0 < w i) (w'0 : forall i, 0 < w' i).

Lemma ppns_possible : 0 < ppns tie 2%:R^-1 2 w w' D u0 S.
Proof.
rewrite /ppns quotas_algorithm /= /drawn_from_partitions big_ord1 D_part D_rest S_part S_rest.
have -> : u0 \notin S by rewrite !inE.
by rewrite mulr1 mulr_gt0 // drawn_gt0 ?cards1 // sub1set !inE.
Qed.

Lemma drawn_too_many : drawn w 1 (partition_of tie 2 D' u0 0) (S :&: partition_of tie 2 D' u0 0) = 0.
Proof.
rewrite (setIidPl D'_part); apply: drawn_eq0; rewrite negb_and; apply/orP; right.
by rewrite cards2.
Qed.

Lemma ppns_impossible : ppns tie 2%:R^-1 2 w w' D' u0 S = 0.
Proof. by rewrite /ppns quotas_algorithm /= /drawn_from_partitions big_ord1 /= drawn_too_many !mul0r. Qed.

Lemma original_possible : 0 < ppns_original tie 2%:R^-1 2 w D u0 S.
Proof.
rewrite /ppns_original quotas_original /= /drawn_from_partitions !big_ord_recl big_ord0 /= D_part D_part1 S_part S_rest.
have -> : S \subset ~: (u0 |: partitions_from tie 2 D u0 2).
  by apply/subsetP => j; rewrite !inE => /orP[] /eqP -> /=; rewrite ?D_rank1 ?D_rank3.
by rewrite !mulr1 mulr_gt0 // drawn_gt0 ?cards1 // sub1set !inE.
Qed.

Lemma original_impossible : ppns_original tie 2%:R^-1 2 w D' u0 S = 0.
Proof.
by rewrite /ppns_original quotas_original /= /drawn_from_partitions !big_ord_recl /= drawn_too_many !mul0r.
Qed.
End Border.

Lemma PP_DP_proof : PP_DP_variant.
Proof.
move=> R eps' b; suff no (w w' : weights R) : positive w -> positive w' -> ~ ppns_private eps' b w w'.
  by split=> [//|eps RS w]; apply: no => n I p k D a i; rewrite /w /paper_weight expR_gt0.
move=> w0 w'0 H; have Hq : (size (quotas (2%:R^-1 : R) 2 2.-1 0 2) * 2 < 4.-1)%N by rewrite quotas_algorithm.
have := H 4%N _ 2%:R^-1 2%N _ _ ord0 [set lift ord0 ord0; lift ord0 (lift ord0 (lift ord0 ord0))] (half01 R) isT Hq (D_neighbors R) (@D_defined R _) (@D'_defined R _).
rewrite [X in _ <= _ * X]over_ties_eq0 => [|tie]; last exact: ppns_impossible.
by rewrite mulr0 leNgt over_ties_gt0 // => tie; apply: ppns_possible.
Qed.

Lemma PP_ORIG_proof : PP_ORIG_variant.
Proof.
move=> R; exists 4%N; eexists; exists 2%:R^-1, 2%N; do 2 eexists.
exists ord0, [set lift ord0 ord0; lift ord0 (lift ord0 (lift ord0 ord0))].
split; first by split; [exact: half01 | by [] | rewrite quotas_original | exact: D_neighbors].
split; first exact: D_defined.
split; first exact: D'_defined.
by move=> tie w w' w0 w'0; split; [apply: original_possible | apply: original_impossible].
Qed.

Section Attack.
Variables (R : realType) (tie : rel nat).
Let row (a b : R) := [:: Some a; Some b].
(* Two fakes and the target, all (3, 4), and another user (12, 5). *)
Let D : ratings R [finType of 'I_4] _ :=
  table (u := 4) (n := 2) [:: row 3%:R 4%:R; row 3%:R 4%:R; row 3%:R 4%:R; row 12%:R 5%:R].
Let u0 : 'I_4 := ord0.
Let u1 : 'I_4 := lift ord0 ord0.
Let u2 : 'I_4 := lift ord0 (lift ord0 ord0).
Let u3 : 'I_4 := lift ord0 (lift ord0 (lift ord0 ord0)).

Lemma F_defined a : all_defined D a.
Proof. by apply: (@rated_by_all _ _ _ _ ord0) => i; case: (user4 i) => ->; (eexists; [reflexivity | rewrite ?ltr0n ?ltr01]). Qed.

Lemma F_cos1 : cosine D u0 u1 = 1. Proof. exact: D_cos1. Qed.
Lemma F_cos2 : cosine D u0 u2 = 1. Proof. exact: D_cos1. Qed.
Lemma F_cos3 : cosine D u0 u3 = 56%:R / 65%:R. Proof. exact: D_cos3. Qed.

Lemma F_rank1 : (rank tie D u0 u1 < 2)%N.
Proof.
rewrite /rank big_mkcond !big_ord_recl big_ord0 /= -/u0 -/u1 -/u2 -/u3 F_cos1 F_cos2 F_cos3.
by rewrite (behind _ (lt31 R)) ltxx eqxx; case: (tie _ _).
Qed.
Lemma F_rank2 : (rank tie D u0 u2 < 2)%N.
Proof.
rewrite /rank big_mkcond !big_ord_recl big_ord0 /= -/u0 -/u1 -/u2 -/u3 F_cos1 F_cos2 F_cos3.
by rewrite (behind _ (lt31 R)) ltxx eqxx; case: (tie _ _).
Qed.
Lemma F_rank3 : rank tie D u0 u3 = 2%N.
Proof.
rewrite /rank big_mkcond !big_ord_recl big_ord0 /= -/u0 -/u1 -/u2 -/u3 F_cos1 F_cos2 F_cos3.
by rewrite !ahead ?lt31.
Qed.

Lemma F_part : partition_of tie 2 D u0 0 = [set u1; u2].
Proof. by apply/setP => j; rewrite !inE; case: (user4 j) => -> //=; rewrite ?F_rank1 ?F_rank2 ?F_rank3. Qed.
Lemma F_rest : partitions_from tie 2 D u0 1 = [set u3].
Proof.
apply/setP => j; rewrite !inE mul1n leqNgt; case: (user4 j) => -> //=; rewrite ?F_rank1 ?F_rank2 ?F_rank3 //.
Qed.

Variables w w' : 'I_4 -> R.
Hypotheses (w0 : forall i, 0 < w i) (w'0 : forall i, 0 < w' i).

Lemma F_listed : 0 < ppns tie 2%:R^-1 2 w w' D u0 [set u2; u3].
Proof.
rewrite /ppns quotas_algorithm /= /drawn_from_partitions big_ord1 F_part F_rest.
have -> : [set u2; u3] :&: [set u1; u2] = [set u2] by apply/setP => j; rewrite !inE; case: (user4 j) => ->.
have -> : [set u2; u3] :&: [set u3] = [set u3] by apply/setP => j; rewrite !inE; case: (user4 j) => ->.
have -> : u0 \notin [set u2; u3] by rewrite !inE.
by rewrite mulr1 mulr_gt0 // drawn_gt0 ?cards1 // sub1set !inE.
Qed.

Lemma F_top (a : 'I_4) : ppns tie 2%:R^-1 2 w w' D a (partition_of tie 2 D a 0) = 0.
Proof.
rewrite /ppns quotas_algorithm /= [X in _ * X * _]drawn_eq0 ?mulr0 ?mul0r //.
rewrite (_ : _ :&: _ = set0) ?cards0 ?andbF //.
apply/setP => j; rewrite !inE; case: (j != a) => //=; set r := rank _ _ _ _.
by move: r => r; lia.
Qed.

Lemma F_like f t : f \in [set u0; u1] -> D f t = D u2 t.
Proof. by rewrite !inE => /orP[] /eqP ->. Qed.
End Attack.

Lemma PP_SEC2_proof : PP_SEC2_variant.
Proof.
move=> R b w w' w0 w'0 H.
have Hq : (size (quotas (2%:R^-1 : R) 2 2.-1 0 2) * 2 < 4.-1)%N by rewrite quotas_algorithm.
pose fakes : {set 'I_4} := [set ord0; lift ord0 ord0].
have := H 4%N _ 2%:R^-1 2%N _ fakes (lift ord0 (lift ord0 ord0)) (half01 R) isT Hq.
have nt : lift ord0 (lift ord0 ord0) \notin fakes by rewrite !inE.
have cf : #|fakes| = 2%N by rewrite cards2.
move=> /(_ _ _ nt cf (fun f _ => @F_defined R f) (@F_like R) (fun f _ => over_ties_eq0 b 4 (fun tie => F_top tie _ _ f))) => /(_ ord0 [set lift ord0 (lift ord0 ord0); lift ord0 (lift ord0 (lift ord0 ord0))]).
rewrite !inE eqxx /= => /(_ isT isT) E.
suff: 0 < (0 : R) by rewrite ltxx.
by rewrite -[X in _ < X]E; apply: over_ties_gt0 => tie; apply: F_listed.
Qed.

Section Truncation.
Variable R : realType.
(* The target (1, 1, 5); candidates (5, 5, 1), the first of which is (5, 5, -) in D'. *)
Let row : seq (option R) := [:: Some 5%:R; Some 5%:R; Some 1].
Let D : ratings R [finType of 'I_4] _ := table (u := 4) (n := 3) [:: [:: Some 1; Some 1; Some 5%:R]; row; row; row].
Let D' : ratings R [finType of 'I_4] _ :=
  table (u := 4) (n := 3) [:: [:: Some 1; Some 1; Some 5%:R]; [:: Some 5%:R; Some 5%:R; None]; row; row].
Let u0 : 'I_4 := ord0.
Let u1 : 'I_4 := lift ord0 ord0.
Let u2 : 'I_4 := lift ord0 (lift ord0 ord0).
Let u3 : 'I_4 := lift ord0 (lift ord0 (lift ord0 ord0)).
(* The similarity of all candidates but the first in D'. *)
Let c : R := 15%:R / (Num.sqrt 27%:R * Num.sqrt 51%:R).

Lemma T_neighbors : one_rating D D'.
Proof.
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

Lemma T_defined a : all_defined D a.
Proof. by apply: (@rated_by_all _ _ _ _ ord0) => i; case: (user4 i) => ->; (eexists; [reflexivity | rewrite ?ltr0n ?ltr01]). Qed.
Lemma T'_defined a : all_defined D' a.
Proof. by apply: (@rated_by_all _ _ _ _ ord0) => i; case: (user4 i) => ->; (eexists; [reflexivity | rewrite ?ltr0n ?ltr01]). Qed.

Lemma c_gt0 : 0 < c.
Proof. by rewrite divr_gt0 ?mulr_gt0 ?sqrtr_gt0 ?ltr0n. Qed.
(* Less than 15/35. *)
Lemma cc_lt1 : c + c < 1.
Proof.
have root (a b : nat) : (a * a <= b)%N -> a%:R <= Num.sqrt b%:R :> R.
  by move=> ab; apply: sqr_le; rewrite ?sqrtr_ge0 // sqr_sqrtr ?ler0n // -natrX ler_nat -mulnn.
have P : 35%:R <= Num.sqrt 27%:R * Num.sqrt 51%:R :> R.
  by rewrite (_ : 35%:R = 5%:R * 7%:R) ?ler_pmul ?ler0n ?root // -natrM.
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
move=> R; pose u2 : 'I_4 := lift ord0 (lift ord0 ord0); split.
  exists 4%N; eexists; exists 2%N; do 2 eexists; exists ord0, [set u2; lift ord0 (lift ord0 (lift ord0 ord0))].
  split; first by split; [by [] | exact: T_neighbors | exact: T_defined | exact: T'_defined].
  move=> eps rho RS RS' w w' eps0 rho01 RS0 RS'0 w0 w'0.
  by split; [apply: T_possible => //; rewrite ?inE ?cards2 | apply: T_impossible_above].
exists 4%N; eexists; exists 1%N; do 2 eexists; exists ord0, [set u2].
split; first by split; [by [] | exact: T_neighbors | exact: T_defined | exact: T'_defined].
move=> eps rho eps0 rho01; have [b b0 small] := small_width eps0 rho01; exists b => // RS RS' w w' RSb RS'b w0 w'0.
have [RS0 _] := andP RSb; have [RS'0 _] := andP RS'b; have [k1 _] := T'_sorted R; have c1 := cc_lt1 R.
have lt_c := small _ RSb; have lt'_c := small _ RS'b.
split; rewrite ?k1 ?T_sorted //.
- by rewrite lt_minl lt_c orbT.
- by rewrite lt_minl (lt_trans lt'_c) ?orbT // (lt_trans _ c1) // ltr_addl c_gt0.
- by apply: T_possible; rewrite ?inE ?cards1.
- by apply: T_impossible_below => //; rewrite lt_minl (lt_trans lt'_c) ?orbT // ltr_subr_addl.
Qed.
