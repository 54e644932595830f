(* Proofs on the kNN attack: the candidate of largest weight is drawn at least as often as in uniform draws. *)
From Dpassay Require Import Prelude.
From mathcomp Require Import zify.
From Dpassay Require Import Statements RatingCollection RatingErrors RatingTheorem3 XMap Draws.
From Dpassay Require Calculus.
Import Statements.Finite.

Section Largest.
Variables (R : realType) (I : finType) (w : I -> R).
Hypothesis w0 : forall i, 0 < w i.
Implicit Types (pool S : {set I}) (i j a : I).

(* The chance that i is not among k draws. *)
Definition out k pool i : R := \sum_(S : {set I} | i \notin S) drawn w k pool S.

Lemma out_ge0 k pool i : 0 <= out k pool i.
Proof. by apply: sumr_ge0 => S _; apply: drawn_ge0. Qed.

Lemma outS k pool i :
  out k.+1 pool i = \sum_(a in pool | a != i) w a / (\sum_(j in pool) w j) * out k (pool :\ a) i.
Proof.
rewrite /out /=.
rewrite (eq_bigr (fun S : {set I} => \sum_(a in pool) if a \in S then w a / (\sum_(j in pool) w j) * drawn w k (pool :\ a) (S :\ a) else 0)); last first.
  move=> S _; rewrite -big_mkcondr; apply: eq_bigl => a; by rewrite !inE andbC.
rewrite exchange_big /= [RHS]big_mkcondr; apply: eq_bigr => a ap.
have [->|ai] := eqVneq a i; first by rewrite big1 // => S /negbTE ->.
rewrite -big_mkcondr /= -mulr_sumr; congr (_ * _).
rewrite [RHS](bigID (fun S : {set I} => a \in S)) /= [X in _ = X + _]big1 ?add0r; last first.
  move=> S /andP[_ aS]; apply: drawn_eq0; apply: contraL aS => /andP[/subsetP SP _].
  by apply/negP => /SP; rewrite !inE eqxx.
rewrite (reindex_onto (fun S : {set I} => a |: S) (fun S => S :\ a)) /=; last by move=> S /andP[_ aS]; rewrite setD1K.
apply: eq_big => S; last by move=> /andP[_ /eqP ->].
rewrite setU11 !inE negb_or eq_sym ai /= andbT; congr (_ && _).
by apply/eqP/idP => [<-|aS]; [rewrite !inE eqxx | rewrite setU1K].
Qed.

(* The heavier a candidate beside the same others, the more often it is drawn. *)
Lemma out_heavier k pool i j : w j <= w i -> i \notin pool -> j \notin pool -> out k (i |: pool) i <= out k (j |: pool) j.
Proof.
move=> wji; elim: k pool => [|k IH] pool ip jp.
  rewrite /out /= le_eqVlt; apply/orP; left; apply/eqP.
  by rewrite (bigD1 set0) ?inE //= [RHS](bigD1 set0) ?inE //= !big1 // => S /andP[_ /negbTE]; rewrite cards_eq0 => ->.
have E l : l \notin pool -> out k.+1 (l |: pool) l =
    \sum_(a in pool) w a / (w l + \sum_(j in pool) w j) * out k (l |: pool :\ a) l.
  move=> lp; rewrite outS big_setU1 //; apply: eq_big => a.
    rewrite !inE; have [->|] //= := eqVneq a l; first by rewrite (negbTE lp).
    by rewrite andbT.
  by rewrite !inE => /andP[_ al]; congr (_ * out _ _ _); apply/setP => b; rewrite !inE; have [->|] //= := eqVneq b l; rewrite eq_sym al.
rewrite !E //; apply: ler_sum => a ap.
have pos l : 0 < w l + \sum_(j in pool) w j by rewrite ltr_paddr ?w0 // pool_sum_ge0.
apply: ler_pmul; rewrite ?out_ge0 ?divr_ge0 ?(ltW (w0 a)) ?(ltW (pos i)) //; last by apply: IH; rewrite !inE ?negb_and ?ip ?jp orbT.
by rewrite ler_pmul2l // lef_pinv ?posrE // ler_add2r.
Qed.

Lemma out_le k pool i j : i \in pool -> j \in pool -> w j <= w i -> out k pool i <= out k pool j.
Proof.
have [->//|ij] := eqVneq i j; elim: k pool => [|k IH] pool ip jp wji.
  rewrite /out /= le_eqVlt; apply/orP; left; apply/eqP.
  by rewrite (bigD1 set0) ?inE //= [RHS](bigD1 set0) ?inE //= !big1 // => S /andP[_ /negbTE]; rewrite cards_eq0 => ->.
have W0 : 0 <= (\sum_(j in pool) w j)^-1 by rewrite invr_ge0 pool_sum_ge0.
rewrite !outS (bigD1 j) ?jp 1?eq_sym //= [X in _ <= X](bigD1 i) ?ip //=.
apply: ler_add.
  apply: ler_pmul; rewrite ?mulr_ge0 ?out_ge0 ?ler_wpmul2r ?(ltW (w0 _)) //.
  pose rest := pool :\ i :\ j.
  have -> : pool :\ j = i |: rest.
    by apply/setP => a; rewrite !inE; have [->|] //= := eqVneq a i; rewrite ?ip ?ij // andbC.
  have -> : pool :\ i = j |: rest.
    by apply/setP => a; rewrite !inE; have [->|] //= := eqVneq a j; rewrite ?jp 1?eq_sym ?ij.
  by apply: out_heavier; rewrite // !inE eqxx ?andbF.
rewrite [X in _ <= X](eq_bigl (fun a => (a \in pool) && (a != i) && (a != j))) => [|a]; last by rewrite -!andbA [X in _ && X]andbC.
apply: ler_sum => a /andP[/andP[ap ai] aj]; apply: ler_wpmul2l; first by rewrite mulr_ge0 ?(ltW (w0 _)).
by apply: IH; rewrite // !inE ?ip ?jp ?andbT eq_sym.
Qed.

Lemma out_sum k pool : (k <= #|pool|)%N -> \sum_(i in pool) out k pool i = (#|pool| - k)%:R.
Proof.
move=> kp; rewrite /out (exchange_big_dep xpredT) //=.
rewrite -[RHS]mulr1 -[X in _ = _ * X](drawn_sum w0 kp) mulr_sumr; apply: eq_bigr => S _.
have [/andP[Sp /eqP Sk]|H] := boolP ((S \subset pool) && (#|S| == k)); last by rewrite (drawn_eq0 w H) mulr0 big1.
rewrite sumr_const -[LHS]mulr_natl -Sk -(cardsDS Sp); congr (_%:R * _).
by apply: eq_card => i; rewrite !inE andbC.
Qed.

(* The candidate of largest weight is among k draws with a chance of at least k of the number of candidates. *)
Lemma largest_drawn k pool i : (k <= #|pool|)%N -> i \in pool -> (forall j, j \in pool -> w j <= w i) ->
  k%:R / #|pool|%:R <= \sum_(S : {set I} | i \in S) drawn w k pool S.
Proof.
move=> kp ip wi; have p0 : 0 < #|pool|%:R :> R by rewrite ltr0n; apply/card_gt0P; exists i.
have := drawn_sum w0 kp; rewrite (bigID (fun S : {set I} => i \in S)) /= -/(out k pool i) => /esym/eqP.
rewrite -subr_eq => /eqP <-; rewrite ler_subr_addr -ler_subr_addl -{1}(divff (lt0r_neq0 p0)) -mulrBl.
rewrite ler_pdivl_mulr // mulr_natr -(natrB _ kp) -out_sum // -sumr_const.
by apply: ler_sum => j jp; apply: out_le => //; apply: wi.
Qed.

End Largest.

Arguments drawn : simpl never.

(* By the mean value theorem. *)
Lemma exp_half (R : realType) : expR (1 / 2%:R) <= 2%:R :> R.
Proof.
have h0 : 0 < 1 / 2%:R :> R by rewrite divr_gt0 ?ltr0n ?ltr01.
have [c /andP[_ c1]] := Calculus.mean_value h0 (fun x _ => Calculus.derive_exp 1 x).
rewrite !mulr1 expR0 subr0 => E; rewrite -subr_ge0.
have -> : 2%:R - expR (1 / 2%:R) = expR (1 / 2%:R) - 2%:R * (expR (1 / 2%:R) - 1) :> R by ring.
rewrite E mulrCA [2%:R * _]mulrC divfK ?pnatr_eq0 // mulr1 subr_ge0 ler_expR; exact: ltW.
Qed.

(* (942/992)^50 is less than 1/2: Bernoulli's inequality for (1 + 50/942)^50. *)
Lemma uniform_rarely (R : realType) : (1 - 50%:R / 992%:R) ^+ 50 < 1 / 2%:R :> R.
Proof.
have B (y : R) m : 0 <= y -> 1 + m%:R * y <= (1 + y) ^+ m.
  move=> y0; elim: m => [|m IH]; first by rewrite mul0r addr0 expr0.
  rewrite exprS; apply: le_trans (_ : (1 + y) * (1 + m%:R * y) <= _).
    rewrite (_ : (1 + y) * _ = 1 + m.+1%:R * y + m%:R * y ^+ 2); last by rewrite -[m.+1]addn1 natrD; ring.
    by rewrite ler_addl mulr_ge0 ?sqr_ge0 ?ler0n.
  by apply: ler_wpmul2l => //; rewrite addr_ge0 ?ler01.
have -> : 1 - 50%:R / 992%:R = (1 + 50%:R / 942%:R)^-1 :> R by field.
have p0 : 0 < 1 + 50%:R / 942%:R :> R by rewrite addr_gt0 ?divr_gt0 ?ltr0n ?ltr01.
rewrite exprVn mul1r ltf_pinv ?posrE ?exprn_gt0 ?ltr0n //.
apply: lt_le_trans (B _ 50%N _); last by rewrite divr_ge0 ?ler0n.
rewrite (_ : 1 + _ = 3442%:R / 942%:R); last by field.
by rewrite ltr_pdivl_mulr ?ltr0n // -natrM ltr_nat.
Qed.

Section Cosines.
Variables (R : realType) (n : nat) (I : finType) (D : ratings R [finType of 'I_n] I).
Hypothesis stars : star_ratings D.

Lemma value_ge0 i t : 0 <= value_of (D i t).
Proof. by case: (stars i t) => [->//|[a [_ ->]]]; apply: ler0n. Qed.

Lemma norm_ge0 i j : 0 <= user_norm D i j. Proof. exact: sqrtr_ge0. Qed.

Lemma cosine_ge0 i j : 0 <= cosine D i j.
Proof. by rewrite /cosine divr_ge0 ?mulr_ge0 ?norm_ge0 // sumr_ge0 // => t _; rewrite mulr_ge0 ?value_ge0. Qed.

Lemma cosine_le1 i j : cosine D i j <= 1.
Proof.
rewrite /cosine; set N := user_norm D i j * _; have N0 : 0 <= N by rewrite mulr_ge0 ?norm_ge0.
have [->|Nn] := eqVneq N 0; first by rewrite invr0 mulr0 ler01.
rewrite ler_pdivr_mulr ?lt_def ?Nn // mul1r; apply: sqr_le => //.
rewrite exprMn /user_norm !sqr_sqrtr ?sumr_ge0 // => [|t _|t _]; try exact: sqr_ge0.
rewrite [X in _ <= _ * X](eq_bigl (fun t => D i t && D j t)) => [|t]; last exact: andbC.
exact: (cauchy (fun t => D i t && D j t) (fun t => value_of (D i t)) (fun t => value_of (D j t))).
Qed.

(* Two users who gave the same ratings to what both rated. *)
Lemma cosine_same i j : (forall t, D i t -> D j t -> D i t = D j t) -> (exists2 t, D i t : bool & D j t : bool) -> cosine D i j = 1.
Proof.
move=> same [t it jt]; rewrite /cosine; set S := \sum_(t | _) _.
have S0 : 0 < S.
  have ijt : D i t && D j t by rewrite it.
  rewrite /S (bigD1 t ijt) /= ltr_paddr ?sumr_ge0 // => [s _|]; first by rewrite mulr_ge0 ?value_ge0.
  rewrite -same // -expr2 exprn_gt0 //; case: (stars i t) it => [->//|[a [/andP[a1 _] ->]] _].
  by rewrite /value_of /= ltr0n.
have N1 : user_norm D i j = Num.sqrt S.
  by congr Num.sqrt; apply: eq_bigr => s /andP[si sj]; rewrite -same.
have N2 : user_norm D j i = Num.sqrt S.
  rewrite /user_norm; congr Num.sqrt; rewrite (eq_bigl (fun t => D i t && D j t)) => [|s]; last exact: andbC.
  by apply: eq_bigr => s /andP[si sj]; rewrite -same.
by rewrite N1 N2 -expr2 sqr_sqrtr ?(ltW S0) // divff // lt0r_neq0.
Qed.
End Cosines.

(* The k-th largest of numbers at most 1, k of which are 1. *)
Lemma kth_one (R : realType) (s : seq R) (k : nat) : (forall x, x \in s -> x <= 1) -> (0 < k <= count (pred1 1%R) s)%N ->
  nth 0 (sort (fun x y => y <= x) s) k.-1 = 1.
Proof.
move=> s1 /andP[k0 kc]; set l := sort _ s.
have tr : transitive (fun x y : R => y <= x) by move=> x y z xy yz; apply: le_trans yz xy.
have sl : sorted (fun x y : R => y <= x) l by apply: sort_sorted => x y; apply: le_total.
have kl : (k.-1 < size l)%N by rewrite size_sort prednK // (leq_trans kc) // count_size.
apply/eqP; apply: contraTT kc => l1; rewrite -ltnNge.
have below : nth 0 l k.-1 < 1 by rewrite lt_neqAle l1 s1 // -(mem_sort (fun x y => y <= x)) mem_nth.
have <- : count (pred1 1) l = count (pred1 1) s by apply/permP; rewrite perm_sort.
rewrite -(cat_take_drop k.-1 l) count_cat.
rewrite [X in (_ + X)%N](_ : _ = 0%N).
  by rewrite addn0 (leq_ltn_trans (count_size _ _)) // size_takel ?prednK // ltnW.
apply/eqP; rewrite -leqn0 leqNgt -has_count; apply/hasPn => x /(nthP 0)[m]; rewrite size_drop nth_drop => ml <-.
rewrite /= lt_eqF //; apply: le_lt_trans below.
have := sorted_leq_nth tr (fun x => lexx x) 0 sl (k.-1) (k.-1 + m)%N; apply; rewrite ?inE ?leq_addr //.
by rewrite -ltn_subRL.
Qed.

Section Attacked.
Variables (R : realType) (n : nat) (I : finType) (D : ratings R [finType of 'I_n] I) (fakes : {set 'I_n}) (target : 'I_n) (known : {set I}).
Hypotheses (stars : star_ratings D) (attack : knn_attack 50 D fakes target known) (knows : known != set0) (n993 : n = 993%N).

Lemma fifty : #|fakes| = 50%N. Proof. by case: attack. Qed.

Lemma fake_similar f i : f \in fakes -> i \in target |: fakes -> cosine D f i = 1.
Proof.
have [t tk] := set0Pn _ knows; case: attack => _ _ dt _ like ff it; have rated s : s \in known -> D i s = D target s.
  by move: it; rewrite in_setU1 => /orP[/eqP->//|/like->] ->.
apply: cosine_same => //.
- by move=> s; rewrite like //; case: ifP => // sk _ _; rewrite rated.
- by exists t; [rewrite like // tk dt | rewrite rated // dt].
Qed.

Lemma list_law f (w : 'I_n -> R) : (forall i, 0 < w i) -> (forall i j, cosine D f i <= cosine D f j -> w i <= w j) -> f \in fakes ->
  50%:R / 992%:R <= \sum_(S : {set 'I_n} | target \in S) drawn w 50 [set~ f] S <= 1.
Proof.
move=> w0 wm ff; have c992 : #|[set~ f]| = 992%N by rewrite cardsC1 card_ord n993.
have k992 : (50 <= #|[set~ f]|)%N by rewrite c992.
apply/andP; split; last first.
  rewrite -(drawn_sum w0 k992) [X in _ <= X](bigID (fun S : {set 'I_n} => target \in S)) /= ler_addl.
  by apply: sumr_ge0 => S _; apply: drawn_ge0.
rewrite -[in X in X <= _]c992; apply: largest_drawn => // [|j _].
  by rewrite !inE; case: attack => tf _ _ _ _; apply: contraNneq tf => ->.
by apply: wm; rewrite (fake_similar ff (setU11 _ _)) cosine_le1.
Qed.

Lemma some_list list : (forall f, f \in fakes -> 50%:R / 992%:R <= \sum_(S : {set 'I_n} | target \in S) list f S <= 1) ->
  1 / 2%:R < some_list_has list fakes target :> R.
Proof.
move=> H; rewrite /some_list_has ltr_subr_addr -ltr_subr_addl (_ : 1 - 1 / 2%:R = 1 / 2%:R); last by field.
apply: le_lt_trans (uniform_rarely R); rewrite -[X in _ ^+ X]fifty -prodr_const.
by apply: ler_prod => f /H/andP[lo hi]; rewrite subr_ge0 hi ler_add2l ler_opp2.
Qed.

(* Nobody is surely in a list or cut from it. *)
Lemma fake_kth f : f \in fakes -> kth_similarity 50 D f = 1.
Proof.
move=> ff; apply: kth_one => [x /mapP[i _ ->]|]; first exact: cosine_le1.
rewrite count_map count_filter -sum1_count big_enum_cond sum1_card /=.
have [tf _ _ _ _] := attack.
have {1}<- : #|target |: fakes :\ f| = 50%N.
  by rewrite cardsU1 !inE (negbTE tf) andbF -fifty (cardsD1 f fakes) ff.
apply: subset_leq_card; apply/subsetP => i; rewrite !inE => Hi.
have [fi iF] : i != f /\ i \in target |: fakes.
  case/orP: Hi => [/eqP->|/andP[fi iF]]; rewrite !inE ?eqxx ?fi ?iF ?orbT //; split=> //.
  by apply: contraNneq tf => ->.
by rewrite -topredE /= fake_similar // eqxx fi.
Qed.

Lemma pncf_all f w rho S : f \in fakes -> 0 < rho < 1 -> pncf 50 1 1 rho w D f S = drawn w 50 [set~ f] S.
Proof.
move=> ff /andP[r0 r1]; have L1 : lambda 50 1 1 rho D f = 1.
  rewrite /lambda fake_kth // n993 /= min_l //.
  set x := _ / rho; have x2 : 2%:R <= x.
    rewrite /x ler_pdivl_mulr //; apply: le_trans (_ : 2%:R * 1 <= _); first by rewrite ler_pmul2l ?ltr0n // ltW.
    by rewrite mulr1 -natrM ler_nat.
  have x0 : 0 < x by apply: lt_le_trans x2; rewrite ltr0n.
  have l2 : 1 / 2%:R <= ln x by rewrite -ler_expR lnK ?posrE // (le_trans _ x2) // exp_half.
  rewrite divr1 mulr1 -natrM; apply: le_trans (_ : 200%:R * (1 / 2%:R) <= _).
    by rewrite mul1r ler_pdivl_mulr ?ltr0n // mul1r ler_nat.
  by apply: ler_pmul => //; rewrite ?divr_ge0 ?ler01 ?ler0n.
rewrite /pncf fake_kth // L1 subrr.
have le2 i : cosine D f i <= 1 + 1 by rewrite (le_trans (cosine_le1 D f i)) // ler_addl ler01.
have sure : [set i | (i != f) && (1 + 1 < cosine D f i)] = set0.
  by apply/setP => i; rewrite !inE ltNge le2 andbF.
have pool : [set i | (i != f) && (0 <= cosine D f i <= 1 + 1)] = [set~ f].
  by apply/setP => i; rewrite !inE le2 (cosine_ge0 stars) /= andbT.
by rewrite sure pool cards0 setD0 sub0set mulr1 subn0.
Qed.
End Attacked.

(* Everybody gives 1 star to each of two items, but the fakes rate the first only. *)
Lemma attack_exists (R : realType) : let n := (50 + 1 + 942)%N in
  exists (I : finType) (D : ratings R [finType of 'I_n] I) (fakes : {set 'I_n}) (target : 'I_n) (known : {set I}),
    [/\ star_ratings D, knn_attack 50 D fakes target known & known != set0].
Proof.
move=> n; pose fakes : {set 'I_n} := [set i : 'I_n | (i < 50)%N].
have [target tf] : exists target, target \notin fakes by exists (inord 50); rewrite inE inordK.
exists [finType of bool], (fun i t => if (i \in fakes) && t then None else Some 1), fakes, target, [set false]; split; last by apply/set0Pn; exists false; rewrite inE.
  by move=> i t; case: ifP => _; [left | right; exists 1%N].
split=> //.
- rewrite -sum1_card (eq_bigl (fun i : 'I_n => (i < 50)%N)) => [|i]; last by rewrite inE.
  by rewrite -(big_ord_widen n (fun=> 1%N)) // sum1_card card_ord.
- by move=> t _; rewrite (negbTE tf).
- by exists true; [rewrite inE | rewrite (negbTE tf)].
- by move=> f t ->; rewrite (negbTE tf) inE; case: t.
Qed.

Lemma PP_SUCC_proof : PP_SUCC.
Proof.
move=> R n attacked; split=> [|I D fakes target known [stars attack knows] w w0 wm]; first exact: attack_exists.
have n993 : n = 993%N by [].
have H f (ff : f \in fakes) := list_law stars attack knows n993 (w0 f) (wm f) ff.
split=> [|rho rho01]; apply: (some_list attack) => f ff; first exact: H.
by rewrite (eq_bigr _ (fun S _ => pncf_all stars attack knows n993 (w f) S ff rho01)); apply: H.
Qed.
