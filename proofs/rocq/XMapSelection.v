(* Proofs on X-Map: who leaves and the similarity, replacement selection, and the steps of Theorems 3 and 4. *)
From Dpassay Require Import Prelude Statements RatingCollection RatingErrors RatingTheorem3 XMap.
Import Statements.Finite.

Section OneItem.
Variable R : realType.
(* (4, 4, 1) and (5, -, 1): centered (1, 1) and (2, -). *)
Let A : ratings R _ _ := table (u := 2) (n := 3) [:: [:: Some 4%:R; Some 4%:R; Some 1]; [:: Some 5%:R; None; Some 1]].
Let u0 : 'I_2 := ord0.
Let u1 : 'I_2 := lift ord0 ord0.
Let i0 : 'I_3 := ord0.
Let i1 : 'I_3 := lift ord0 ord0.

Lemma B00 : centered A u0 i0 = 1. 
Proof. by rewrite /centered /user_mean /= big_mkcond [X in _ / X]big_mkcond !big_ord_recl !big_ord0 /=; field. Qed.
Lemma B01 : centered A u0 i1 = 1. 
Proof. by rewrite /centered /user_mean /= big_mkcond [X in _ / X]big_mkcond !big_ord_recl !big_ord0 /=; field. Qed.
Lemma B10 : centered A u1 i0 = 2%:R. 
Proof. by rewrite /centered /user_mean /= big_mkcond [X in _ / X]big_mkcond !big_ord_recl !big_ord0 /=; field. Qed.
Lemma B11 : centered A u1 i1 = 0. Proof. by []. Qed.

Lemma XM_T2_N_at :
  ~ (forall (U I : finType) (D : ratings R U I) (i j : I) (x : U), i != j -> ~~ (D x i && D x j) ->
       0 < lengths false D i j -> 0 < lengths false (leaves x D) i j ->
       similarity false D i j = similarity false (leaves x D) i j).
Proof.
have d : dot A i0 i1 = 1 by rewrite /dot !big_ord_recl big_ord0 B00 B01 B10 B11; ring.
have d' : dot (leaves u1 A) i0 i1 = 1 by rewrite dot_leaves d B10 B11; ring.
have n0 : norm false A i0 i1 = Num.sqrt 5%:R by congr Num.sqrt; rewrite !big_ord_recl big_ord0 B00 B10; ring.
have n1 : norm false A i1 i0 = Num.sqrt 1 by congr Num.sqrt; rewrite !big_ord_recl big_ord0 B01 B11; ring.
have n0' : norm false (leaves u1 A) i0 i1 = Num.sqrt 1.
  by congr Num.sqrt; rewrite !big_ord_recl big_ord0 !centered_leaves /= B00; ring.
have n1' : norm false (leaves u1 A) i1 i0 = Num.sqrt 1.
  by congr Num.sqrt; rewrite !big_ord_recl big_ord0 !centered_leaves /= B01; ring.
move=> /(_ _ _ A i0 i1 u1 isT isT); rewrite /similarity d d' /lengths n0 n1 n0' n1' sqrtr1 !mulr1 !div1r invr1.
rewrite sqrtr_gt0 ltr0n ltr01 => /(_ isT isT) /(f_equal GRing.inv); rewrite invrK invr1 => h.
have := sqr_sqrtr (ler0n R 5); rewrite h expr1n => /eqP.
by rewrite -[1]/(1%:R) eqr_nat.
Qed.
End OneItem.

Section MeanSquare.
Variable R : realType.
(* (4, 4, 1, -) and (5, 5, 1, 1): centered (1, 1) and (2, 2). *)
Let A : ratings R _ _ := table (u := 2) (n := 4)
  [:: [:: Some 4%:R; Some 4%:R; Some 1; None]; [:: Some 5%:R; Some 5%:R; Some 1; Some 1]].
Let u0 : 'I_2 := ord0.
Let u1 : 'I_2 := lift ord0 ord0.
Let i0 : 'I_4 := ord0.
Let i1 : 'I_4 := lift ord0 ord0.
(* The root of the mean square over the co-raters. *)
Let len (U : finType) (S : {set U}) (v : U -> R) : R := Num.sqrt ((\sum_(x in S) v x ^+ 2) / \sum_(x in S) 1).

Lemma C00 : centered A u0 i0 = 1. 
Proof. by rewrite /centered /user_mean /= big_mkcond [X in _ / X]big_mkcond !big_ord_recl !big_ord0 /=; field. Qed.
Lemma C01 : centered A u0 i1 = 1. 
Proof. by rewrite /centered /user_mean /= big_mkcond [X in _ / X]big_mkcond !big_ord_recl !big_ord0 /=; field. Qed.
Lemma C10 : centered A u1 i0 = 2%:R. 
Proof. by rewrite /centered /user_mean /= big_mkcond [X in _ / X]big_mkcond !big_ord_recl !big_ord0 /=; field. Qed.
Lemma C11 : centered A u1 i1 = 2%:R. 
Proof. by rewrite /centered /user_mean /= big_mkcond [X in _ / X]big_mkcond !big_ord_recl !big_ord0 /=; field. Qed.

Lemma len2 (S : {set 'I_2}) (v : 'I_2 -> R) :
  len S v = Num.sqrt (((if u0 \in S then v u0 ^+ 2 else 0) + (if u1 \in S then v u1 ^+ 2 else 0)) /
    ((if u0 \in S then 1 else 0) + (if u1 \in S then 1 else 0))).
Proof.
by rewrite /len big_mkcond [X in _ / X]big_mkcond !big_ord_recl !big_ord0 /= !addr0.
Qed.

Lemma len_norm (U : finType) (S : {set U}) : norm_on_entries S (@len U S).
Proof.
have lenE v : len S v = norm_on (mem S) v / Num.sqrt #|S|%:R.
  rewrite /len sumr_const -[#|_|%:R]/(1 *+ _) /norm_on -sqrtrV ?ler0n // -sqrtrM //.
  by apply: sumr_ge0 => x _; apply: sqr_ge0.
have s0 : 0 <= (Num.sqrt #|S|%:R)^-1 :> R by rewrite invr_ge0 sqrtr_ge0.
split=> [v v' vv|v|v|a v|v v'].
- by congr (Num.sqrt (_ / _)); apply: eq_bigr => x xS; rewrite vv.
- exact: sqrtr_ge0.
- move=> v0 x xS; have S0 : 0 < \sum_(y in S) 1 :> R by rewrite (bigD1 x) //= ltr_paddr ?ltr01 // sumr_ge0 // => y _; rewrite ler01.
  move: v0 => /eqP; rewrite /len sqrtr_eq0 ler_pdivr_mulr // mul0r => v0.
  apply/eqP; rewrite -sqrf_eq0; apply/eqP/le_anti; rewrite sqr_ge0 andbT (le_trans _ v0) // (bigD1 x) //= ler_addl.
  by apply: sumr_ge0 => y _; apply: sqr_ge0.
- rewrite !lenE mulrA; congr (_ / _); rewrite /norm_on -[`|a|]sqrtr_sqr -sqrtrM ?sqr_ge0 // mulr_sumr.
  by congr Num.sqrt; apply: eq_bigr => x _; rewrite exprMn.
- by rewrite !lenE -mulrDl ler_wpmul2r // norm_onD.
Qed.

Lemma XM_T2_NN_at :
  ~ (forall (U : finType) (len : {set U} -> (U -> R) -> R), (forall S, norm_on_entries S (len S)) ->
       (forall (I : finType) (D : ratings R U I) (i j : I) (x : U), i != j -> ~~ (D x i && D x j) ->
          dot D i j / lengths_by len D i j = dot (leaves x D) i j / lengths_by len (leaves x D) i j) ->
       forall (I : finType) (D : ratings R U I) (i j : I) (x : U), i != j -> D x i && D x j ->
         lengths_by len (leaves x D) i j <= lengths_by len D i j).
Proof.
move=> /(_ _ (@len [finType of 'I_2]) (@len_norm _)) H.
have len_local (S : {set 'I_2}) (v v' : 'I_2 -> R) : (forall x, x \in S -> v x = v' x) -> len S v = len S v'.
  by have [local _ _ _ _] := len_norm S; apply: local.
have premise (I : finType) (D : ratings R [finType of 'I_2] I) (i j : I) (x : 'I_2) : i != j -> ~~ (D x i && D x j) ->
    dot D i j / lengths_by (@len _) D i j = dot (leaves x D) i j / lengths_by (@len _) (leaves x D) i j.
  move=> _ xij; have cx : centered D x i * centered D x j = 0.
    by move: xij; rewrite /centered; case: (D x i) => [a|]; case: (D x j) => [b|] //= _; rewrite ?mulr0 ?mul0r.
  have S_eq : corated_by (leaves x D) i j = corated_by D i j.
    apply/setP => y; rewrite !inE /leaves; have [->|//] := eqVneq y x.
    by apply/esym/negbTE.
  have S_x : x \notin corated_by D i j by rewrite inE.
  rewrite dot_leaves cx subr0 /lengths_by S_eq; congr (_ / (_ * _)); apply: len_local => y yS.
    by rewrite centered_leaves; case: eqP => // yx; rewrite -yx yS in S_x.
  by rewrite centered_leaves; case: eqP => // yx; rewrite -yx yS in S_x.
have := H premise _ A i0 i1 u0 isT isT.
have l : lengths_by (@len _) A i0 i1 = 5%:R / 2%:R.
  rewrite /lengths_by !len2 !inE /= C00 C01 C10 C11.
  have -> : (1 ^+ 2 + 2%:R ^+ 2) / (1 + 1) = 5%:R / 2%:R :> R by field.
  by rewrite sqrt_sqr // divr_ge0 ?ler0n.
have l' : lengths_by (@len _) (leaves u0 A) i0 i1 = 4%:R.
  rewrite /lengths_by !len2 !inE /= !centered_leaves /= C10 C11.
  have -> : (0 + 2%:R ^+ 2) / (0 + 1) = 4%:R :> R by field.
  by rewrite sqrt_sqr // ler0n.
rewrite l l' -subr_ge0 (_ : _ - _ = - (3%:R / 2%:R)); last by field.
by rewrite oppr_ge0 leNgt divr_gt0 ?ltr0n.
Qed.
End MeanSquare.

Section Lone.
Variable R : realType.
(* (4, 4, 1) and (3, 3, 3): centered (1, 1) and (0, 0). *)
Let A : ratings R _ _ := table (u := 2) (n := 3) [:: [:: Some 4%:R; Some 4%:R; Some 1]; [:: Some 3%:R; Some 3%:R; Some 3%:R]].
Let u0 : 'I_2 := ord0.
Let u1 : 'I_2 := lift ord0 ord0.
Let i0 : 'I_3 := ord0.
Let i1 : 'I_3 := lift ord0 ord0.

Lemma E00 : centered A u0 i0 = 1. 
Proof. by rewrite /centered /user_mean /= big_mkcond [X in _ / X]big_mkcond !big_ord_recl !big_ord0 /=; field. Qed.
Lemma E01 : centered A u0 i1 = 1. 
Proof. by rewrite /centered /user_mean /= big_mkcond [X in _ / X]big_mkcond !big_ord_recl !big_ord0 /=; field. Qed.
Lemma E10 : centered A u1 i0 = 0. 
Proof. by rewrite /centered /user_mean /= big_mkcond [X in _ / X]big_mkcond !big_ord_recl !big_ord0 /=; field. Qed.
Lemma E11 : centered A u1 i1 = 0. 
Proof. by rewrite /centered /user_mean /= big_mkcond [X in _ / X]big_mkcond !big_ord_recl !big_ord0 /=; field. Qed.

Lemma XM_T2_DEN_at (c : bool) :
  ~ (forall (U I : finType) (D : ratings R U I) (i j : I), i != j -> 0 < lengths c D i j -> SS_defined c D i j).
Proof.
move=> /(_ _ _ A i0 i1 isT).
have n0 : norm c A i0 i1 = Num.sqrt 1.
  by congr Num.sqrt; rewrite big_mkcond !big_ord_recl big_ord0 /= !orbT E00 E10; ring.
have n1 : norm c A i1 i0 = Num.sqrt 1.
  by congr Num.sqrt; rewrite big_mkcond !big_ord_recl big_ord0 /= !orbT E01 E11; ring.
rewrite /lengths n0 n1 sqrtr1 mulr1 ltr01 => /(_ isT u0 isT isT).
have n0' : norm c (leaves u0 A) i0 i1 = Num.sqrt 0.
  by congr Num.sqrt; rewrite big_mkcond !big_ord_recl big_ord0 /= !centered_leaves /= E10 orbT; case: (c) => /=; ring.
by rewrite /lengths n0' sqrtr0 mul0r ltxx.
Qed.
End Lone.

Lemma XM_T2_N_proof : XM_T2_N. Proof. exact: XM_T2_N_at. Qed.
Lemma XM_T2_NN_proof : XM_T2_NN. Proof. exact: XM_T2_NN_at. Qed.
Lemma XM_T2_DEN_proof : XM_T2_DEN. Proof. by move=> R c; apply: XM_T2_DEN_at. Qed.

Section ReplacementLaw.
Variables (R : realType) (U I : finType) (target : pred I) (reading : ratings R U I -> Selection.links R I) (ti : I).
Variables (eps : R) (GS : ratings R U I -> I -> R) (D : ratings R U I).
Let w k := expR (eps * Selection.xsim (reading D) ti k / (2%:R * GS D k)).
Let prsE tj : prs target reading ti eps GS D tj =
  (if candidates target reading D ti tj then w tj else 0) / \sum_(k | candidates target reading D ti k) w k.
Proof. by []. Qed.

Lemma weights_gt0 k : candidates target reading D ti k -> 0 < \sum_(k | candidates target reading D ti k) w k.
Proof.
by move=> ck; rewrite (bigD1 k) //= ltr_paddr ?expR_gt0 // sumr_ge0 // => j _; rewrite ltW ?expR_gt0.
Qed.

Lemma prs_law : (exists k, candidates target reading D ti k) ->
  (forall tj, 0 <= prs target reading ti eps GS D tj) /\ \sum_tj prs target reading ti eps GS D tj = 1.
Proof.
move=> [k /weights_gt0 W0]; split=> [tj|].
  by rewrite prsE divr_ge0 ?(ltW W0) //; case: ifP => // _; rewrite ltW ?expR_gt0.
by rewrite (eq_bigr _ (fun tj _ => prsE tj)) -mulr_suml -big_mkcond /= divff // lt0r_neq0.
Qed.

Lemma prs_pos tj : candidates target reading D ti tj -> 0 < prs target reading ti eps GS D tj.
Proof. by move=> ck; rewrite prsE ck divr_gt0 ?expR_gt0 ?(weights_gt0 ck). Qed.

End ReplacementLaw.

Section Replacement.
Variable R : realType.
(* Items t_i, kept, lost, another; (4, 4, -, 1) and (4, -, 4, 1): centered (1, 1, -) and (1, -, 1). *)
Let A : ratings R _ _ := table (u := 2) (n := 4)
  [:: [:: Some 4%:R; Some 4%:R; None; Some 1]; [:: Some 4%:R; None; Some 4%:R; Some 1]].
Let u0 : 'I_2 := ord0.
Let u1 : 'I_2 := lift ord0 ord0.
Let ti : 'I_4 := ord0.
Let kept : 'I_4 := lift ord0 ord0.
Let lost : 'I_4 := lift ord0 (lift ord0 ord0).
Let target : pred 'I_4 := fun j => (j == kept) || (j == lost).

Lemma F00 : centered A u0 ti = 1. 
Proof. by rewrite /centered /user_mean /= big_mkcond [X in _ / X]big_mkcond !big_ord_recl !big_ord0 /=; field. Qed.
Lemma F01 : centered A u0 kept = 1. 
Proof. by rewrite /centered /user_mean /= big_mkcond [X in _ / X]big_mkcond !big_ord_recl !big_ord0 /=; field. Qed.
Lemma F10 : centered A u1 ti = 1. 
Proof. by rewrite /centered /user_mean /= big_mkcond [X in _ / X]big_mkcond !big_ord_recl !big_ord0 /=; field. Qed.
Lemma F12 : centered A u1 lost = 1. 
Proof. by rewrite /centered /user_mean /= big_mkcond [X in _ / X]big_mkcond !big_ord_recl !big_ord0 /=; field. Qed.

Lemma norm_pos (U I : finType) (D : ratings R U I) c i j x : D x j -> 0 < centered D x i ^+ 2 -> 0 < norm c D i j.
Proof.
move=> xj x0; rewrite sqrtr_gt0 (bigD1 x) /= ?xj ?orbT // ltr_paddr //.
by apply: sumr_ge0 => y _; apply: sqr_ge0.
Qed.

Variables (c : bool) (reading : ratings R [finType of 'I_2] [finType of 'I_4] -> Selection.links R [finType of 'I_4]).
Hypothesis reads : reads_xsim c target reading.
Let candidate D := candidates target reading D ti.

(* A common rater of ti and a target item, whose ratings of both are not her mean. *)
Lemma linked_candidate (D : ratings R [finType of 'I_2] [finType of 'I_4]) x k : target k -> D x ti -> D x k -> 0 < centered D x ti ^+ 2 -> 0 < centered D x k ^+ 2 ->
  candidate D k.
Proof.
move=> tk xi xk i0 k0; rewrite /candidate /candidates tk /=; have [_ _ direct] := reads D ti k.
have link : linked D ti k by apply/existsP; exists x; rewrite xi xk.
have := direct isT tk link (mulr_gt0 (norm_pos _ xk i0) (norm_pos _ xi k0)).
by case: (Selection.paths _ _ _).
Qed.

Lemma lost_candidate : candidate A lost.
Proof. by apply: (@linked_candidate A u1); rewrite ?F10 ?F12 ?expr1n ?ltr01. Qed.

Lemma kept_candidate : candidate (leaves u1 A) kept.
Proof. by apply: (@linked_candidate _ u0); rewrite // centered_leaves /= ?F00 ?F01 expr1n ltr01. Qed.

(* No path leads to an item that nobody rated. *)
Lemma lost_no_candidate : ~~ candidate (leaves u1 A) lost.
Proof.
apply/negP => /andP[_]; have [_ meta _] := reads (leaves u1 A) ti lost.
case E : (Selection.paths _ _ _) => [//|p ps] _; have [|s [_ last_s]] := meta p; first by rewrite E mem_head.
case/lastP: s last_s => [//|s j]; rewrite last_rcons rcons_path => -> /andP[_ /existsP[x /andP[_]]].
by case: (user2 x) => ->.
Qed.

Lemma some_candidate : exists k, candidate A k. Proof. by exists lost; apply: lost_candidate. Qed.
Lemma some_candidate' : exists k, candidate (leaves u1 A) k. Proof. by exists kept; apply: kept_candidate. Qed.

Lemma XM_T1_at eps GS eps' : ~ prs_private target reading ti eps GS eps'.
Proof.
move=> /(_ A u1 lost some_candidate some_candidate') [+ _].
rewrite {2}/prs -/(candidate (leaves u1 A) lost) (negbTE lost_no_candidate) mul0r mulr0 leNgt.
by have -> := prs_pos eps GS lost_candidate.
Qed.

Lemma XM_T1_I_at :
  ~ (forall D x, (exists k, candidate D k) -> (exists k, candidate (leaves x D) k) ->
       forall k, candidate D k = candidate (leaves x D) k).
Proof.
move=> /(_ A u1 some_candidate some_candidate' lost).
by rewrite lost_candidate (negbTE lost_no_candidate).
Qed.
End Replacement.

(* No meta-paths but the direct ones. *)
Lemma direct_paths (R : realType) (U I : finType) (c : bool) (target : pred I) :
  exists reading : ratings R U I -> Selection.links R I, reads_xsim c target reading.
Proof.
pose paths (D : ratings R U I) i j := if linked D i j then [:: [:: i; j]] else [::].
exists (fun D => Selection.Links (similarity c D) (fun _ _ => 1) (paths D) (fun _ => 1)) => D i j.
split=> //= [p|_ _]; rewrite /paths; last by move=> ->; rewrite mem_head.
by case: ifP => // ij; rewrite inE => /eqP ->; exists [:: j]; rewrite /= ij.
Qed.

Lemma XM_T1_proof : XM_T1.
Proof.
split; first exact: direct_paths; split=> [*|R]; first exact: prs_law.
do 4 eexists; split; last by move=> c reading eps eps' GS /XM_T1_at; apply.
by [].
Qed.
Lemma XM_T1_I_proof : XM_T1_I.
Proof.
by move=> R; do 4 eexists; split; last by move=> c reading /XM_T1_I_at; apply.
Qed.
