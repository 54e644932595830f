(* The law of weighted draws without replacement as an integral. *)
From Dpassay Require Import Prelude.
From mathcomp.classical Require Import boolp classical_sets functions.
From mathcomp.analysis Require Import signed topology normedtype derive realfun.
From mathcomp.analysis Require Import measure lebesgue_measure lebesgue_integral.
From Dpassay Require Import Statements Core Selection Accuracy Calculus Integral.
Import Statements.Selection.

Import Num.Def.
Import numFieldNormedType.Exports.

Section Law.
Variables (R : realType) (I : finType) (w : I -> R) (d : R).
Hypothesis w0 : forall i, 0 < w i.
Hypothesis d0 : 0 < d.

(* Sum over the subsets A of l of (-1)^|A| d / (c + w(A)). *)
Fixpoint expansion (l : seq I) (c : R) : R :=
  if l is i :: l' then expansion l' c - expansion l' (c + w i) else d / c.

Lemma expansion_recursion (l : seq I) (c : R) : uniq l -> 0 < c ->
  \sum_(i <- l) w i * expansion (rem i l) c = (\sum_(i <- l) w i + c) * expansion l c - (if l is [::] then d else 0).
Proof.
elim: l c => [|a l IH] c /=; first by move=> _ c0; rewrite !big_nil; field; rewrite gt_eqF.
move=> /andP[al ul] c0; rewrite !big_cons eqxx subr0.
rewrite (eq_big_seq (fun i => w i * expansion (rem i l) c - w i * expansion (rem i l) (c + w a))); last first.
  move=> i il; rewrite (_ : (a == i) = false) /= ?mulrBr //.
  by apply/negbTE; apply: contraNneq al => ->.
rewrite sumrB !IH ?addr_gt0 //.
set X := match l with [::] => d | _ => 0 end; set S := \sum_(i <- l) w i.
set A := expansion l c; set B := expansion l (c + w a); ring.
Qed.

Lemma draws_expansion k (l : seq I) (gone : {set I}) : size l = k -> uniq l -> (forall i, i \in l -> i \notin gone) ->
  d = \sum_(j | (j \notin gone) && (j \notin l)) w j ->
  \sum_(s : k.-tuple I | [set i in s] == [set i in l]) draws w gone s = expansion l d.
Proof.
elim: k l gone => [|k IH] l gone.
  move=> /size0nil-> _ _ _; rewrite big_mkcond sum_tuple0 /= divff ?gt_eqF //.
  by case: eqP => // -[]; apply/setP => i; rewrite !inE.
move=> sl ul lg dE.
have W : \sum_(j | j \notin gone) w j = \sum_(i <- l) w i + d.
  rewrite (bigID (fun j => j \in l)) /= -dE; congr (_ + _).
  rewrite big_uniq //; apply: eq_bigl => j; rewrite andbC andb_idr //; exact: lg.
have W0 : 0 < \sum_(i <- l) w i + d.
  by apply: ltr_paddl => //; apply: sumr_ge0 => i _; apply: ltW.
have nil : (if l is [::] then d else 0) = 0 by case: (l) sl.
rewrite big_mkcond sum_tupleS (bigID (fun i => i \in l)) /= [X in _ + X]big1 ?addr0; last first.
  move=> i il; rewrite big1 // => s _; case: eqP => // /setP/(_ i).
  by rewrite !inE eqxx (negbTE il).
transitivity (\sum_(i in l) w i / (\sum_(i <- l) w i + d) * expansion (rem i l) d).
  apply: eq_bigr => i il; have ig := lg i il.
  have E : \sum_(s : k.-tuple I | [set j in s] == [set j in rem i l]) draws w (i |: gone) s = expansion (rem i l) d.
    apply: IH.
    - by rewrite size_rem // sl.
    - exact: rem_uniq.
    - move=> j; rewrite mem_rem_uniq // !inE negb_or => /andP[-> jl]; exact: lg.
    - rewrite dE; apply: eq_bigl => j; rewrite mem_rem_uniq // !inE negb_or negb_and negbK.
      by have [->|ji] := eqVneq j i; rewrite /= ?il ?andbF.
  rewrite -E mulr_sumr [RHS]big_mkcond; apply: eq_bigr => s _.
  rewrite /draw (negbTE ig) W.
  have [D|D] := eqVneq (draws w (i |: gone) s) 0; first by rewrite D !mulr0 !if_same.
  have /andP[_ /forall_inP us] := draws_uniq D.
  have is' : i \notin s by apply: us; rewrite !inE eqxx.
  congr (if _ then _ else _); apply/eqP/eqP => /setP H; apply/setP => j; move: (H j); rewrite !inE mem_rem_uniq // !inE.
  - by have [->|ji] /= := eqVneq j i; rewrite ?(negbTE is').
  - by have [->|ji] /= := eqVneq j i; rewrite ?il.
rewrite -big_uniq //= (eq_bigr (fun i => w i * expansion (rem i l) d * (\sum_(i <- l) w i + d)^-1)); last first.
  by move=> i _; rewrite mulrAC.
by rewrite -mulr_suml expansion_recursion // nil subr0 mulrAC divff ?mul1r // gt_eqF.
Qed.

(* An antiderivative of t^(c/d - 1) times the product over l. *)
Fixpoint primitive (l : seq I) (c : R) (t : R) : R :=
  if l is i :: l' then primitive l' c t - primitive l' (c + w i) t else d / c * expR (c / d * ln t).

Lemma primitive1 l c : primitive l c 1 = expansion l c.
Proof. by elim: l c => [|i l IH] c /=; [rewrite ln1 mulr0 expR0 mulr1 | rewrite !IH]. Qed.

Definition product (l : seq I) (t : R) : R := \prod_(i <- l) (1 - expR (w i / d * ln t)).

Lemma power_derive (a t : R) : 0 < t -> is_derive t 1 (fun u : R => expR (a * ln u)) (a * expR ((a - 1) * ln t)).
Proof.
move=> t0; pose proof (is_derive1_ln t0) as dl.
have E : a * expR ((a - 1) * ln t) = expR (a * ln t) * (a * t^-1).
  by rewrite mulrBl mul1r expRB lnK ?posrE //; ring.
by rewrite E; apply: (@is_derive1_comp R expR (fun u => a * ln u)).
Qed.

Lemma primitive_derive l c (t : R) : 0 < c -> 0 < t ->
  is_derive t 1 (primitive l c) (expR ((c / d - 1) * ln t) * product l t).
Proof.
move=> c0 t0; elim: l c c0 => [|i l IH] c c0 /=.
  rewrite /product big_nil mulr1; pose proof (power_derive (c / d) t0) as D.
  have -> : (fun t => d / c * expR (c / d * ln t)) = (d / c) *: (fun t => expR (c / d * ln t)) by [].
  by apply: is_derive_eq; rewrite /GRing.scale /= mulrA (_ : d / c * (c / d) = 1) ?mul1r //; field; rewrite !gt_eqF.
pose proof (IH c c0) as D1; pose proof (IH (c + w i) (addr_gt0 c0 (w0 i))) as D2.
have -> : (fun t => primitive l c t - primitive l (c + w i) t) = primitive l c - primitive l (c + w i) by [].
apply: is_derive_eq; rewrite /product big_cons -/(product l t).
have -> : (c + w i) / d - 1 = (c / d - 1) + w i / d by ring.
rewrite [(c / d - 1 + w i / d) * ln t]mulrDl expRD.
by rewrite [X in _ = _ * X]mulrBl [X in _ = _ * (X - _)]mul1r [RHS]mulrBr mulrA.
Qed.

Lemma power_le1 (a t : R) : 0 <= a -> 0 < t <= 1 -> expR (a * ln t) <= 1.
Proof.
move=> a0 /andP[t0 t1]; rewrite -(@expR0 R) ler_expR mulr_ge0_le0 //.
by rewrite -(@ln1 R) ler_ln ?posrE ?ltr01.
Qed.

Lemma primitive_bound l c (t : R) : d <= c -> 0 < t <= 1 -> `|primitive l c t| <= 2 ^+ size l * t.
Proof.
move=> dc t01; have [t0 t1] := andP t01; elim: l c dc => [|i l IH] c dc /=.
  have c0 := lt_le_trans d0 dc; rewrite expr0 ger0_norm; last by rewrite mulr_ge0 ?expR_ge0 // divr_ge0 // ltW.
  apply: ler_pmul; rewrite ?expR_ge0 ?divr_ge0 ?(ltW d0) ?(ltW c0) //; first by rewrite ler_pdivr_mulr // mul1r.
  rewrite -{2}(@lnK _ t) ?posrE // ler_expR -[X in _ <= X]mul1r ler_wnmul2r //.
    by rewrite -(@ln1 R) ler_ln ?posrE ?ltr01.
  by rewrite ler_pdivl_mulr // mul1r.
apply: le_trans (ler_norm_sub _ _) _; rewrite exprS -mulrA mulr_natl mulr2n; apply: ler_add; apply: IH => //.
by apply: le_trans dc _; rewrite ler_addl ltW.
Qed.

Lemma factor01 i (t : R) : 0 < t <= 1 -> 0 <= 1 - expR (w i / d * ln t) <= 1.
Proof.
move=> t01; apply/andP; split; last by rewrite ler_subl_addr ler_addl expR_ge0.
by rewrite subr_ge0; apply: power_le1 => //; apply: divr_ge0; apply: ltW.
Qed.

Lemma product01 l (t : R) : 0 < t <= 1 -> 0 <= product l t <= 1.
Proof.
move=> t01; rewrite /product; elim: l => [|i l /andP[p0 p1]]; first by rewrite big_nil ler01 lexx.
by rewrite big_cons; have /andP[f0 f1] := factor01 i t01; rewrite mulr_ge0 //= mulr_ile1.
Qed.

Lemma product_falling l (t u : R) : 0 < t -> t <= u -> u <= 1 -> product l u <= product l t.
Proof.
move=> t0 tu u1; have u0 := lt_le_trans t0 tu.
have u01 : 0 < u <= 1 by rewrite u0.
apply: ler_prod => i _; case/andP: (factor01 i u01) => -> _ /=.
rewrite ler_add2l ler_opp2 ler_expR; apply: ler_wpmul2l; first by rewrite divr_ge0 // ltW.
by rewrite ler_ln // posrE.
Qed.

Lemma product_derive l (t : R) : 0 < t -> exists df, is_derive t 1 (product l) df.
Proof.
move=> t0; elim: l => [|i l [df D]].
  exists 0; have -> : product [::] = cst 1 by rewrite funeqE => u; rewrite /product big_nil.
  exact: is_derive_cst.
pose proof (power_derive (w i / d) t0) as P.
have -> : product (i :: l) = (cst 1 - (fun u => expR (w i / d * ln u))) * product l.
  by rewrite funeqE => u; rewrite /product big_cons.
eexists; exact: is_deriveM.
Qed.

Lemma product_continuous l (t : R) : 0 < t -> {for t, continuous (product l)}.
Proof.
move=> t0; have [df D] := product_derive l t0.
apply: differentiable_continuous; apply/derivable1_diffP; exact: ex_derive.
Qed.

Lemma integral_product l :
  (\int[@lebesgue_measure R]_(t in `]0%R, 1%R]%classic) (product l t)%:E)%E = (expansion l d)%:E.
Proof.
rewrite -primitive1; apply: (integral_falling (f := product l) (F := primitive l d) (M := 2 ^+ size l)).
- exact: product01.
- exact: product_falling.
- exact: product_continuous.
- move=> t t0; have := primitive_derive l d0 t0.
  by rewrite divff ?gt_eqF // subrr mul0r expR0 mul1r.
- by move=> t t01; apply: primitive_bound.
Qed.

End Law.

Theorem law_of_draws : Statements.Selection.PP_PMF.
Proof.
move=> R I weight k S w0 /andP[k1 kI] Sk d.
have d0 : 0 < d.
  have /card_gt0P[i] : (0 < #|~: S|)%N by rewrite -(ltn_add2l #|S|) addn0 cardsC Sk.
  by rewrite inE => iS; apply: (left_gt0 w0 iS).
have enumS : [set i in enum S] = S by apply/setP => i; rewrite inE mem_enum.
have size_enum : size (enum S) = k by rewrite -cardE.
split.
  have -> : chosen weight k S = expansion weight d (enum S) d.
    rewrite /chosen -[in LHS]enumS; apply: draws_expansion => //.
    - exact: enum_uniq.
    - by move=> i _; rewrite inE.
    - by apply: eq_bigl => i; rewrite mem_enum inE.
  rewrite -(integral_product w0 d0); apply: eq_integral => t _; congr _%:E.
  by rewrite /product big_enum.
have pos (gone : {set I}) (l : seq I) : uniq l -> (forall i, i \in l -> i \notin gone) -> 0 < draws weight gone l.
  elim: l gone => [|i l IH] gone /=; first by rewrite ltr01.
  move=> /andP[il ul] lg; have ig : i \notin gone by apply: lg; rewrite inE eqxx.
  apply: mulr_gt0; first by rewrite /draw (negbTE ig) divr_gt0 //; apply: left_gt0 ig.
  apply: IH => // j jl; rewrite !inE negb_or lg ?inE ?jl ?orbT // andbT.
  by apply: contraNneq il => <-.
have sz : size (enum S) == k by rewrite size_enum.
rewrite /chosen (bigD1 (Tuple sz)) /=; last by rewrite enumS.
apply: ltr_spaddl; first by apply: pos => [|i _]; [apply: enum_uniq | rewrite inE].
by apply: sumr_ge0 => s _; apply: draws_ge0.
Qed.
