(* Weighted draws without replacement: they are a law, and how far their chances move with the weights. *)
From Dpassay Require Import Prelude Statements Core.
Import Statements.Selection.

Section Draws.
Variables (R : realType) (I : finType).
Implicit Types (w v : I -> R) (gone g : {set I}) (i j : I) (s : seq I).

Definition left w gone := \sum_(j | j \notin gone) w j.

Lemma left_ge w gone i : (forall j, 0 <= w j) -> i \notin gone -> w i <= left w gone.
Proof. by move=> w0 ig; rewrite /left (bigD1 i) //= ler_addl; apply: sumr_ge0. Qed.

Lemma left_gt0 w gone i : (forall j, 0 < w j) -> i \notin gone -> 0 < left w gone.
Proof. by move=> w0 ig; apply: lt_le_trans (w0 i) _; apply: left_ge => // j; apply: ltW. Qed.

Lemma draw_ge0 w gone i : (forall j, 0 < w j) -> 0 <= draw w gone i.
Proof.
move=> w0; rewrite /draw; case: ifP => // _; apply: divr_ge0; first exact: ltW.
by apply: sumr_ge0 => j _; apply: ltW.
Qed.

Lemma draws_ge0 w gone s : (forall j, 0 < w j) -> 0 <= draws w gone s.
Proof.
by move=> w0; elim: s gone => [|i s IH] gone /=; [exact: ler01 | apply: mulr_ge0; [apply: draw_ge0 | apply: IH]].
Qed.

Lemma draw_sum1 w gone : (forall j, 0 < w j) -> (0 < #|~: gone|)%N -> \sum_i draw w gone i = 1.
Proof.
move=> w0 /card_gt0P[i]; rewrite inE => ig.
rewrite (bigID (fun i => i \in gone)) /= big1 ?add0r; last by move=> j jg; rewrite /draw jg.
rewrite (eq_bigr (fun j => w j / left w gone)); last by move=> j /negbTE jg; rewrite /draw jg.
by rewrite -mulr_suml divff // gt_eqF //; apply: left_gt0 ig.
Qed.

Lemma cardC1 gone i : i \notin gone -> #|~: gone| = #|~: (i |: gone)|.+1.
Proof.
move=> ig; rewrite [LHS](cardsD1 i) inE ig add1n; congr S.
by apply: eq_card => j; rewrite !inE negb_or.
Qed.

Lemma draws_sum1 w gone k : (forall j, 0 < w j) -> (k <= #|~: gone|)%N ->
  \sum_(s : k.-tuple I) draws w gone s = 1.
Proof.
move=> w0; elim: k gone => [|k IH] gone kg; first by rewrite sum_tuple0.
rewrite sum_tupleS /= -[RHS](draw_sum1 w0 (leq_trans (ltn0Sn k) kg)).
apply: eq_bigr => i _; rewrite -mulr_sumr.
have [ig|ig] := boolP (i \in gone); first by rewrite /draw ig mul0r.
by rewrite IH ?mulr1 // -ltnS -cardC1.
Qed.

(* A bound on one draw, given any earlier ones, is a bound on any number of them. *)
Lemma draws_ratio w v (c : R) gone s : (forall j, 0 < w j) -> (forall j, 0 < v j) ->
  (forall g i, i \notin g -> draw w g i <= c * draw v g i) ->
  draws w gone s <= c ^+ size s * draws v gone s.
Proof.
move=> w0 v0 H; elim: s gone => [|i s IH] gone /=; first by rewrite mulr1.
have [ig|ig] := boolP (i \in gone); first by rewrite /draw ig !mul0r mulr0.
rewrite exprS mulrACA; apply: ler_pmul => //.
- exact: draw_ge0.
- exact: draws_ge0.
- exact: H.
Qed.

Lemma left_ratio w v (r : R) gone : (forall j, w j <= r * v j) -> left w gone <= r * left v gone.
Proof. by move=> wv; rewrite /left mulr_sumr; apply: ler_sum. Qed.

(* All weights move by a factor between 1/r and r: a draw by at most r^2. *)
Lemma draw_two_sided w v (r : R) gone i : (forall j, 0 < w j) -> (forall j, 0 < v j) -> 0 <= r ->
  (forall j, w j <= r * v j) -> (forall j, v j <= r * w j) -> i \notin gone ->
  draw w gone i <= r ^+ 2 * draw v gone i.
Proof.
move=> w0 v0 r0 wv vw ig; rewrite /draw (negbTE ig) -/(left w gone) -/(left v gone).
have W0 := left_gt0 w0 ig; have V0 := left_gt0 v0 ig.
rewrite ler_pdivr_mulr // mulrA mulrAC ler_pdivl_mulr //.
have := ler_pmul (ltW (w0 i)) (ltW V0) (wv i) (left_ratio gone vw).
by rewrite mulrACA -expr2 mulrA.
Qed.

Lemma drawn_private (D : Type) (nb : D -> D -> Prop) (w : D -> I -> R) (k : nat) (c eps : R) :
  (k <= #|I|)%N -> (forall x j, 0 < w x j) -> c ^+ k <= expR eps ->
  (forall x y, nb x y -> forall g i, i \notin g -> draw (w x) g i <= c * draw (w y) g i) ->
  private nb eps (fun x => @drawn R I (w x) k) /\ private nb eps (fun x => chosen (w x) k).
Proof.
move=> kI w0 ck H.
suff P : private nb eps (fun x => @drawn R I (w x) k) by split => //; apply: private_map.
apply: privateP.
- by move=> x s; apply: draws_ge0.
- by move=> x; apply: draws_sum1 => //; rewrite setC0 cardsT.
move=> x y xy s; apply: le_trans (draws_ratio _ _ (w0 x) (w0 y) (H x y xy)) _.
by rewrite size_tuple; apply: ler_wpmul2r => //; apply: draws_ge0.
Qed.

End Draws.

(* Weights e^z move by a factor of at most e^t when z moves by at most t. *)
Lemma expR_ratio (R : realType) (z z' t : R) : `|z - z'| <= t -> expR z <= expR t * expR z'.
Proof.
by move=> zt; rewrite -expRD ler_expR -ler_subl_addr; apply: le_trans (ler_norm _) zt.
Qed.

Lemma exponential_private (R : realType) (D : Type) (nb : D -> D -> Prop) (I : finType) (z : D -> I -> R) (k : nat) (t : R) :
  (k <= #|I|)%N -> 0 <= t -> (forall x y, nb x y -> forall i, `|z x i - z y i| <= t) ->
  private nb (2 * k%:R * t) (fun x => @drawn R I (fun i => expR (z x i)) k) /\
  private nb (2 * k%:R * t) (fun x => chosen (fun i => expR (z x i)) k).
Proof.
move=> kI t0 zt; apply: (@drawn_private R I D nb (fun x i => expR (z x i)) k (expR t ^+ 2)) => //.
- by move=> x j; apply: expR_gt0.
- by rewrite -exprM -expRMm natrM.
move=> x y xy g i ig; apply: draw_two_sided => //; try by move=> j; apply: expR_gt0.
- exact: expR_ge0.
- by move=> j; apply: expR_ratio; apply: zt.
- by move=> j; apply: expR_ratio; rewrite distrC; apply: zt.
Qed.

(* A score that moves by at most GS moves its exponent c q / (d GS) by at most c / d. *)
Lemma scaled_score (R : realType) (c d GS a b : R) : 0 <= c -> 0 < d -> 0 < GS -> `|a - b| <= GS ->
  `|c * a / (d * GS) - c * b / (d * GS)| <= c / d.
Proof.
move=> c0 d0 G0 ab; rewrite -mulrBl -mulrBr [`|_ / _|]normrM normrM (ger0_norm c0) normfV (gtr0_norm (mulr_gt0 d0 G0)).
rewrite invfM -!mulrA; apply: ler_wpmul2l => //.
by rewrite mulrCA ger_pmulr ?invr_gt0 // ler_pdivr_mulr // mul1r.
Qed.

(* One draw, when all log-weights move by at most t. *)
Lemma one_draw_private (R : realType) (D : Type) (nb : D -> D -> Prop) (I : finType) (z : D -> I -> R) (t eps : R) :
  eps = 2 * t -> (exists i : I, True) -> (forall x y, nb x y -> forall i, `|z x i - z y i| <= t) ->
  private nb eps (fun x => one_draw (fun i => expR (z x i))).
Proof.
move=> -> ex zt; have W0 x : 0 < \sum_i expR (z x i) by apply: sum_gt0 => // i; apply: expR_gt0.
apply: privateP => [x i|x|x y xy i].
- by rewrite divr_ge0 ?expR_ge0 // ltW.
- by rewrite -mulr_suml divff // gt_eqF.
rewrite /one_draw ler_pdivr_mulr // mulrA mulrAC ler_pdivl_mulr //.
have WW : \sum_i expR (z y i) <= expR t * \sum_i expR (z x i).
  by rewrite mulr_sumr; apply: ler_sum => j _; apply: expR_ratio; rewrite distrC; exact: zt.
have := ler_pmul (expR_ge0 _) (ltW (W0 y)) (expR_ratio (zt x y xy i)) WW.
by rewrite mulrACA -[expR t * expR t]expRD -[t + t]mulr2n -[t *+ 2]mulr_natl !mulrA.
Qed.

(* A mean by nonnegative weights of numbers in [-1, 1] is in [-1, 1]. *)
Lemma weighted_mean_range (R : realType) (T : Type) (xs : seq T) (w v : T -> R) :
  (forall t, 0 <= w t) -> (forall t, `|v t| <= 1) -> `|weighted_mean [seq (w t, v t) | t <- xs]| <= 1.
Proof.
move=> w0 v1; rewrite /weighted_mean !big_map /=; set A := \sum_(x <- xs) _; set W := \sum_(x <- xs) _.
have AW : `|A| <= W.
  rewrite /A /W; apply: le_trans (ler_norm_sum _ _ _) _; apply: ler_sum => t _.
  by rewrite normrM ger0_norm //; apply: ler_pimulr.
have [->|W0] := eqVneq W 0; first by rewrite invr0 mulr0 normr0.
have Wp : 0 < W by rewrite lt_neqAle eq_sym W0; apply: le_trans AW.
by rewrite normrM normfV (gtr0_norm Wp) ler_pdivr_mulr // mul1r.
Qed.

Lemma xsim_range (R : realType) (item : Type) (d : links R item) a b : in_range d -> `|xsim d a b| <= 1.
Proof. by case=> s1 g0 c0; do 2?[apply: weighted_mean_range => // ?]. Qed.

(* All weights move up, by a factor of at most r: a draw moves by at most r, either way. *)
Lemma draw_one_sided (R : realType) (I : finType) (w v : I -> R) (r : R) (g : {set I}) i :
  (forall j, 0 < w j) -> (forall j, 0 < v j) -> 1 <= r ->
  (forall j, w j <= v j) -> (forall j, v j <= r * w j) -> i \notin g ->
  draw w g i <= r * draw v g i /\ draw v g i <= r * draw w g i.
Proof.
move=> w0 v0 r1 wv vw ig; rewrite /draw (negbTE ig) -/(left w g) -/(left v g).
have W0 := left_gt0 w0 ig; have V0 := left_gt0 v0 ig.
have WV : left w g <= left v g by apply: ler_sum.
have VW : left v g <= r * left w g by apply: left_ratio.
split; rewrite ler_pdivr_mulr // mulrA mulrAC ler_pdivl_mulr //.
- by rewrite [r * _]mulrC -mulrA; apply: ler_pmul => //; apply: ltW.
- by apply: ler_pmul => //; apply: ltW.
Qed.

(* The k-th largest score: a set of k candidates that score at least it, one of them exactly it, and whose complement
   scores at most it. *)
Lemma top_k (R : realType) (I : finType) (q : I -> R) (k : nat) : (0 < k <= #|I|)%N ->
  exists (F : {set I}) (i0 : I), [/\ #|F| = k, i0 \in F, q i0 = kth_largest q k,
    forall i, i \in F -> kth_largest q k <= q i & forall i, i \notin F -> q i <= kth_largest q k].
Proof.
case/andP => k0 kI; rewrite /kth_largest sort_map.
set e := relpre _ _; set l := sort e (enum I).
have szl : size l = #|I| by rewrite size_sort -cardE.
have k1 : (k.-1 < size l)%N by rewrite szl prednK.
have [i1 _] : exists i1, i1 \in I by apply/card_gt0P; apply: leq_trans kI.
have ul : uniq l by rewrite sort_uniq enum_uniq.
have tr : transitive e by move=> a b c /=; rewrite /e /= => ab bc; apply: le_trans bc ab.
have sl : sorted e l by apply: sort_sorted => a b; rewrite /e /=; apply: le_total.
have rf : reflexive e by move=> a; rewrite /e /=.
have nl := sorted_leq_nth tr rf i1 sl.
exists [set i in take k l], (nth i1 l k.-1); rewrite (nth_map i1) //; split=> //.
- by rewrite cardsE (card_uniqP (take_uniq _ ul)) size_takel // szl.
- by rewrite inE; apply/(nthP i1); exists k.-1; rewrite ?nth_take ?prednK // size_takel ?szl // prednK.
- move=> i; rewrite inE => /(nthP i1)[m]; rewrite size_takel ?szl // => mk <-.
  rewrite nth_take //; apply: nl; rewrite ?inE ?szl //; first exact: leq_trans mk kI.
  + by rewrite -szl.
  + by rewrite -ltnS prednK.
move=> i; rewrite inE => nit.
have : i \in l by rewrite mem_sort mem_enum.
rewrite -{1}(cat_take_drop k l) mem_cat (negbTE nit) /= => /(nthP i1)[m].
rewrite size_drop nth_drop => ms <-; apply: nl; rewrite ?inE // -?ltn_subRL //.
by apply: leq_trans (leq_pred _) (leq_addr _ _).
Qed.

(* The k-th largest score moves by at most c when every score does. *)
Lemma kth_largest_le (R : realType) (I : finType) (q q' : I -> R) (c : R) (k : nat) : (0 < k <= #|I|)%N ->
  (forall i, q i <= q' i + c) -> kth_largest q k <= kth_largest q' k + c.
Proof.
move=> kI qq; have [F [i0 [Fk _ _ Fge _]]] := top_k q kI.
have [F' [i1 [Fk' i1F' qi1 _ F'le]]] := top_k q' kI.
rewrite leNgt; apply/negP => lt; suff /subset_leq_card : F \subset F' :\ i1.
  by move: Fk'; rewrite Fk (cardsD1 i1 F') i1F' add1n => <-; rewrite ltnn.
apply/subsetP => i iF; have qi : kth_largest q' k < q' i.
  by rewrite -(ltr_add2r c); apply: lt_le_trans lt _; apply: le_trans (Fge _ iF) (qq i).
rewrite !inE; apply/andP; split; first by apply: contraTneq qi => ->; rewrite qi1 ltxx.
by apply: contraTT qi => /F'le; rewrite -leNgt.
Qed.

Lemma soft_floor_le (R : realType) (I : finType) (q q' : I -> R) (c w0 : R) (k : nat) : (0 < k <= #|I|)%N ->
  (forall i, q i <= q' i + c) -> forall i, soft_floor k w0 q i <= soft_floor k w0 q' i + c.
Proof.
move=> kI qq i; have kk := kth_largest_le kI qq.
rewrite /soft_floor le_maxl; apply/andP; split.
- by apply: le_trans (qq i) _; rewrite ler_add2r le_maxr lexx.
- apply: le_trans (_ : kth_largest q' k + c - w0 <= _); first by rewrite ler_add2r.
  by rewrite addrAC ler_add2r le_maxr lexx orbT.
Qed.

(* Scores all of which rise, or all of which fall, by at most c: half the cost. *)
Lemma exponential_one_sided (R : realType) (D : Type) (nb : D -> D -> Prop) (I : finType) (z : D -> I -> R) (k : nat) (t : R) :
  (k <= #|I|)%N -> 0 <= t ->
  (forall x y, nb x y -> (forall i, z x i <= z y i <= z x i + t) \/ (forall i, z y i <= z x i <= z y i + t)) ->
  private nb (k%:R * t) (fun x => @drawn R I (fun i => expR (z x i)) k) /\
  private nb (k%:R * t) (fun x => chosen (fun i => expR (z x i)) k).
Proof.
move=> kI t0 zt; apply: (@drawn_private R I D nb (fun x i => expR (z x i)) k (expR t)) => //.
- by move=> x j; apply: expR_gt0.
- by rewrite -expRMm.
move=> x y xy g i ig.
have H (a b : D) : (forall j, z a j <= z b j <= z a j + t) ->
    draw (fun j => expR (z a j)) g i <= expR t * draw (fun j => expR (z b j)) g i /\
    draw (fun j => expR (z b j)) g i <= expR t * draw (fun j => expR (z a j)) g i.
  move=> ab; apply: draw_one_sided => // [j|j||j|j]; rewrite ?expR_gt0 ?expR_ge1 // -?expRD ler_expR.
  - by case/andP: (ab j).
  - by rewrite addrC; case/andP: (ab j).
by case: (zt x y xy) => /H[].
Qed.
