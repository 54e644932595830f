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
move=> R eps' tie w w' w0 w'0 H.
have Hq : (size (quotas (2%:R^-1 : R) 2 2.-1 0 2) * 2 < 4.-1)%N by rewrite quotas_algorithm.
have := H 4%N _ 2%:R^-1 2%N _ _ ord0 [set lift ord0 ord0; lift ord0 (lift ord0 (lift ord0 ord0))] (half01 R) isT Hq (D_neighbors R).
by rewrite ppns_impossible // mulr0 leNgt ppns_possible.
Qed.

Lemma PP_ORIG_proof : PP_ORIG_variant.
Proof.
move=> R tie w w0; exists 4%N; eexists; exists 2%:R^-1, 2%N; do 2 eexists.
exists ord0, [set lift ord0 ord0; lift ord0 (lift ord0 (lift ord0 ord0))].
split; first by split; [exact: half01 | by [] | rewrite quotas_original | exact: D_neighbors].
by split; [apply: original_possible | apply: original_impossible].
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
move=> R tie w w' w0 w'0 H.
have Hq : (size (quotas (2%:R^-1 : R) 2 2.-1 0 2) * 2 < 4.-1)%N by rewrite quotas_algorithm.
pose fakes : {set 'I_4} := [set ord0; lift ord0 ord0].
have := H 4%N _ 2%:R^-1 2%N _ fakes (lift ord0 (lift ord0 ord0)) (half01 R) isT Hq.
have nt : lift ord0 (lift ord0 ord0) \notin fakes by rewrite !inE.
have cf : #|fakes| = 2%N by rewrite cards2.
move=> /(_ _ _ nt cf (@F_like R) (fun f _ => F_top tie _ _ f)) => /(_ ord0 [set lift ord0 (lift ord0 ord0); lift ord0 (lift ord0 (lift ord0 ord0))]).
rewrite !inE eqxx /= => /(_ isT isT) E.
suff: 0 < (0 : R) by rewrite ltxx.
by rewrite -[X in _ < X]E; apply: F_listed.
Qed.

Section Truncation.
Variables (R : realType) (tie : rel nat).
(* One item: the target and the first candidate rated it, or the target alone; the other two candidates did not. *)
Let D : ratings R [finType of 'I_4] _ := table (u := 4) (n := 1) [:: [:: Some 1]; [:: None]; [:: None]; [:: None]].
Let D' : ratings R [finType of 'I_4] _ := table (u := 4) (n := 1) [:: [:: Some 1]; [:: Some 1]; [:: None]; [:: None]].
Let u0 : 'I_4 := ord0.
Let u1 : 'I_4 := lift ord0 ord0.
Let u2 : 'I_4 := lift ord0 (lift ord0 ord0).
Let u3 : 'I_4 := lift ord0 (lift ord0 (lift ord0 ord0)).

Lemma T_neighbors : one_rating D D'.
Proof.
exists u1, ord0; split=> // j s; rewrite [s]ord1.
by case: (user4 j) => ->.
Qed.

Lemma T_cos j : j != u0 -> cosine D u0 j = 0.
Proof. by case: (user4 j) => -> // _; rewrite /cosine big_mkcond big_ord1 /= mul0r. Qed.
Lemma T'_cos2 : cosine D' u0 u2 = 0.
Proof. by rewrite /cosine big_mkcond big_ord1 /= mul0r. Qed.
Lemma T'_cos3 : cosine D' u0 u3 = 0.
Proof. by rewrite /cosine big_mkcond big_ord1 /= mul0r. Qed.
Lemma T'_cos1 : cosine D' u0 u1 = 1.
Proof.
have n1 : user_norm D' u0 u1 = 1.
  by apply: sqrt_of; rewrite ?ler01 // big_mkcond big_ord1 /= /value_of /=; ring.
have n2 : user_norm D' u1 u0 = 1.
  by apply: sqrt_of; rewrite ?ler01 // big_mkcond big_ord1 /= /value_of /=; ring.
by rewrite /cosine n1 n2 big_mkcond big_ord1 /= /value_of /=; field.
Qed.

Lemma T_kth : kth_similarity tie 2 D u0 = 0.
Proof. by apply: big1 => i /andP[i0 _]; apply: T_cos. Qed.

Lemma T'_rank1 : rank tie D' u0 u1 = 0%N.
Proof.
rewrite /rank big_mkcond !big_ord_recl big_ord0 /= -/u0 -/u1 -/u2 -/u3 T'_cos1 T'_cos2 T'_cos3.
by rewrite !behind ?ltr01.
Qed.

Lemma T'_kth : kth_similarity tie 2 D' u0 = 0.
Proof.
apply: big1 => i; case: (user4 i) => -> //; rewrite ?T'_cos2 ?T'_cos3 // T'_rank1.
by [].
Qed.

Variables (eps RS RS' rho : R) (w w' : 'I_4 -> R).
Hypotheses (eps0 : 0 < eps) (rho01 : 0 < rho < 1) (RS0 : 0 <= RS) (RS'0 : 0 <= RS').
Hypotheses (w0 : forall i, 0 < w i) (w'0 : forall i, 0 < w' i).

Lemma width_ge0 (r : R) : 0 <= r -> 0 <= 4%:R * 2%:R * r / eps * ln (2%:R * (4.-1 - 2)%:R / rho).
Proof.
move=> r0; have /andP[p0 p1] := rho01.
rewrite mulr_ge0 ?divr_ge0 ?mulr_ge0 ?ler0n ?(ltW eps0) // ln_ge0 // mulr1 ler_pdivl_mulr // mul1r.
by rewrite (le_trans (ltW p1)) // ler1n.
Qed.

Lemma T_possible : 0 < pncf tie 2 eps RS rho w D u0 [set u2; u3].
Proof.
rewrite /pncf T_kth min_l ?width_ge0 // addr0 subr0.
have -> : [set i | (i != u0) && (0 < cosine D u0 i)] = set0.
  by apply/setP => j; rewrite !inE; case: eqP => //= /eqP j0; rewrite T_cos // ltxx.
rewrite cards0 subn0 setD0 sub0set mulr1 drawn_gt0 //; last by rewrite cards2.
by apply/subsetP => j; rewrite !inE => /orP[] /eqP -> /=; rewrite T_cos // lexx.
Qed.

Lemma T_impossible : pncf tie 2 eps RS' rho w' D' u0 [set u2; u3] = 0.
Proof.
rewrite /pncf T'_kth min_l ?width_ge0 // addr0.
rewrite [X in _ * X](_ : _ = 0) ?mulr0 //; apply/eqP; rewrite pnatr_eq0 eqb0; apply/subsetPn.
by exists u1; rewrite !inE //= T'_cos1 ltr01.
Qed.
End Truncation.

Lemma PP_PNCF_NOT_proof : PP_PNCF_NOT_variant.
Proof.
move=> R eps rho tie w RS eps0 rho01 w0 RS0.
exists 4%N; eexists; exists 2%N; do 2 eexists.
exists ord0, [set lift ord0 (lift ord0 ord0); lift ord0 (lift ord0 (lift ord0 ord0))].
split=> //; split; first exact: T_neighbors.
by split; [apply: T_possible | apply: T_impossible].
Qed.
