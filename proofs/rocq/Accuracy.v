(* What draws by weight promise about the chosen: one bad draw is unlikely, and k of them hardly more. *)
From Dpassay Require Import Prelude Statements Core Selection.
Import Statements.Selection.

Section UnionBound.
Variables (R : realType) (I : finType) (W : I -> R) (k : nat).
Implicit Types (gone : {set I}) (i : I) (s : seq I).
Hypothesis W0 : forall i, 0 < W i.
Hypothesis kI : (k <= #|I|)%N.

Fixpoint some_bad (bad : {set I} -> pred I) (gone : {set I}) (s : seq I) : bool :=
  if s is i :: s' then bad gone i || some_bad bad (i |: gone) s' else false.

Lemma union_bound (bad : {set I} -> pred I) (c : R) : 0 <= c ->
  (forall gone, (#|gone| < k)%N -> \sum_(i | bad gone i) draw W gone i <= c) ->
  forall m gone, (#|gone| + m <= k)%N -> \sum_(s : m.-tuple I | some_bad bad gone s) draws W gone s <= m%:R * c.
Proof.
move=> c0 H; elim=> [|m IH] gone km; first by rewrite mul0r big_pred0 // => s; rewrite tuple0.
rewrite big_mkcond sum_tupleS /= (bigID (bad gone)) /=.
have gk : (#|gone| < k)%N by apply: leq_trans km; rewrite addnS ltnS leq_addr.
have gm i : (#|i |: gone| + m <= k)%N.
  by apply: leq_trans km; rewrite addnS -addSn leq_add2r cardsU1 -add1n leq_add2r leq_b1.
have card (g : {set I}) : (#|g| + m <= k)%N -> (m <= #|~: g|)%N.
  by move=> gmk; rewrite -(leq_add2l #|g|) cardsC (leq_trans gmk).
rewrite -addn1 natrD mulrDl mul1r addrC; apply: ler_add; last first.
  apply: le_trans (H gone gk); apply: ler_sum => i bi; rewrite bi /=.
  by rewrite -mulr_sumr draws_sum1 ?mulr1 // card.
have m0 : 0 <= m%:R * c by rewrite mulr_ge0 ?ler0n.
apply: le_trans (_ : \sum_(i | ~~ bad gone i) draw W gone i * (m%:R * c) <= _).
  apply: ler_sum => i /negbTE bi; rewrite bi /= -big_mkcond -mulr_sumr.
  by apply: ler_wpmul2l; [apply: draw_ge0 | apply: IH].
rewrite -mulr_suml; apply: ler_pimull => //.
have g0 : (0 < #|~: gone|)%N by rewrite -(ltn_add2l #|gone|) addn0 cardsC (leq_trans gk).
rewrite -(draw_sum1 W0 g0) [X in _ <= X](bigID (bad gone)) /= ler_addr.
by apply: sumr_ge0 => i _; apply: draw_ge0.
Qed.

Lemma draws_uniq gone s : draws W gone s != 0 -> uniq s && [forall i in gone, i \notin s].
Proof.
elim: s gone => [|i s IH] gone /=; first by move=> _; apply/forall_inP.
rewrite mulf_eq0 negb_or => /andP[]; rewrite {1}/draw.
case: ifPn => [_|ig _ /IH/andP[us /forall_inP gs]]; first by rewrite eqxx.
rewrite us gs ?inE ?eqxx //=; apply/forall_inP => j jg.
rewrite inE negb_or gs ?inE ?jg ?orbT // andbT.
by apply: contraNneq ig => <-.
Qed.

(* A property that no bad draw and no repetition imply holds with probability at least 1 - k c. *)
Lemma chosen_chance_ge (bad : {set I} -> pred I) (c : R) (P : {set I} -> bool) : 0 <= c ->
  (forall gone, (#|gone| < k)%N -> \sum_(i | bad gone i) draw W gone i <= c) ->
  (forall s : k.-tuple I, uniq s -> ~~ some_bad bad set0 s -> P [set i in s]) ->
  1 - k%:R * c <= chosen_chance W k P.
Proof.
move=> c0 H HP; rewrite /chosen_chance /chosen.
have -> : \sum_(S : {set I} | P S) \sum_(s : k.-tuple I | [set i in s] == S) drawn W s =
    \sum_(s : k.-tuple I | P [set i in s]) drawn W s.
  rewrite [RHS](partition_big (fun s : k.-tuple I => [set i in s]) P) //=.
  apply: eq_bigr => S PS; apply: eq_bigl => s; rewrite andbC.
  by case: eqP => //= ->; rewrite PS.
have tot : \sum_(s : k.-tuple I) drawn W s = 1 by apply: draws_sum1; rewrite ?setC0 ?cardsT.
have ub := union_bound c0 H (m := k) (gone := set0); rewrite cards0 add0n leqnn in ub.
rewrite ler_subl_addr; set A := \sum_(s | _) _.
apply: (@le_trans _ _ (A + \sum_(s : k.-tuple I | some_bad bad set0 s) draws W set0 s)); last by rewrite ler_add2l ub.
rewrite -tot /A [\sum_(s : k.-tuple I | P _) _]big_mkcond [\sum_(s : k.-tuple I | some_bad _ _ _) _]big_mkcond.
rewrite -big_split /=; apply: ler_sum => s _; rewrite /drawn.
have d0 : 0 <= draws W set0 s by apply: draws_ge0.
have [->|/draws_uniq/andP[us _]] := eqVneq (draws W set0 s) 0; first by do 2!case: ifP; rewrite ?addr0.
have := HP s us; case: (some_bad bad set0 s) => /= [_|->//]; last by rewrite addr0.
by case: ifP => _; rewrite ?add0r // ler_addl.
Qed.

End UnionBound.

Section Promises.
Variables (R : realType) (I : finType).

Lemma chosen_chance_le (W : I -> R) k (P Q : {set I} -> bool) : (forall i, 0 < W i) -> (forall S, P S -> Q S) ->
  chosen_chance W k P <= chosen_chance W k Q.
Proof.
move=> W0 PQ; rewrite /chosen_chance big_mkcond [X in _ <= X]big_mkcond; apply: ler_sum => S _.
have c0 : 0 <= chosen W k S by apply: sumr_ge0 => s _; apply: draws_ge0.
by case: ifP => [/PQ->//|_]; case: ifP.
Qed.

(* Light ones weigh little beside anyone of the first k, heavy ones much beside all that are not of the first k. *)
Lemma promises (W : I -> R) (k : nat) (F : {set I}) (heavy light : pred I) (y1 y2 h : R) :
  (forall i, 0 < W i) -> (k <= #|I|)%N -> #|F| = k -> 0 <= h -> 0 <= y1 -> 0 < y2 ->
  (forall i, light i -> i \notin F) -> (forall i, heavy i -> i \in F) ->
  (forall i, i \notin F -> W i <= y1) -> (forall i, heavy i -> y1 <= W i * h) ->
  (forall i, i \in F -> y2 <= W i) -> (forall i, light i -> W i <= y2 * h) ->
  1 - k%:R * ((#|I| - k)%:R * h) <=
    chosen_chance W k (fun S => [forall j in S, ~~ light j] && [forall j, heavy j ==> (j \in S)]).
Proof.
move=> W0 kI Fk h0 y10 y20 lF hF out1 heavy1 in2 light2.
pose bad (gone : {set I}) (i : I) := if [exists j, heavy j && (j \notin gone)] then i \notin F else light i.
have NK : #|~: F| = (#|I| - k)%N by rewrite -(cardsC F) Fk addKn.
have c0 : 0 <= (#|I| - k)%:R * h by rewrite mulr_ge0 ?ler0n.
(* a few of at most y each, against one of weight z left *)
have few (gone : {set I}) (Q : pred I) (y : R) (j : I) : j \notin gone -> (forall i, Q i -> i \notin F) ->
    (forall i, Q i -> W i <= y) -> 0 <= y -> y <= W j * h -> \sum_(i | Q i) draw W gone i <= (#|I| - k)%:R * h.
  move=> jg QF Qy y0 yh; have L0 := left_gt0 W0 jg.
  apply: le_trans (_ : \sum_(i | Q i) y / W j <= _).
    apply: ler_sum => i Qi; rewrite /draw; case: ifP => _; first by rewrite divr_ge0 // ltW.
    rewrite -/(left W gone) ler_pmul ?invr_ge0 ?(ltW L0) ?(ltW (W0 i)) ?Qy // lef_pinv ?posrE //.
    by apply: left_ge => // l; apply: ltW.
  rewrite sumr_const -mulr_natl -NK; apply: ler_pmul; rewrite ?ler0n ?divr_ge0 // ?(ltW (W0 _)) //.
    by rewrite ler_nat; apply: subset_leq_card; apply/subsetP => i Qi; rewrite inE; apply: QF.
  by rewrite ler_pdivr_mulr // mulrC.
apply: (@chosen_chance_ge R I W k W0 kI bad) => //.
- move=> gone gk; rewrite /bad; case: (boolP [exists j, heavy j && (j \notin gone)]) => [/existsP[j /andP[hj jg]]|_] /=.
    by apply: (few gone _ y1 j) => // ; apply: heavy1.
  have /subsetPn[j jF jg] : ~~ (F \subset gone) by apply/negP => /subset_leq_card; rewrite Fk leqNgt gk.
  apply: (few gone _ (y2 * h) j) => //; first by rewrite mulr_ge0 // ltW.
  by apply: ler_wpmul2r => //; apply: in2.
move=> s us good; apply/andP; split.
  apply/forall_inP => j; rewrite inE => js; apply: contra good => lj.
  have {}js : j \in tval s by [].
  elim: {us} (tval s) (set0 : {set I}) js => [|i s' IH] gone /=; first by rewrite in_nil.
  rewrite inE => /orP[/eqP<-|js]; last by rewrite IH ?orbT.
  by rewrite /bad; case: ifP => _; rewrite ?lF ?lj.
apply/forallP => j; apply/implyP => hj; rewrite inE; apply: contraNT good => js.
have /subsetPn[i iS iF] : ~~ ([set i in s] \subset F).
  apply/negP => sF; have : [set i in s] \proper F.
    by apply/properP; split=> //; exists j; rewrite ?hF ?inE.
  by move/proper_card; rewrite Fk cardsE (card_uniqP us) size_tuple ltnn.
have {}iS : i \in tval s by move: iS; rewrite inE.
have {}js : j \notin tval s by [].
have : j \notin (set0 : {set I}) by rewrite inE.
elim: {us} (tval s) (set0 : {set I}) iS js => [|l s' IH] gone /=; first by rewrite in_nil.
rewrite !inE !negb_or => ls /andP[jl js] jg.
have bl : [exists j0, heavy j0 && (j0 \notin gone)] by apply/existsP; exists j; rewrite hj.
case/orP: ls => [/eqP <-|ls]; first by rewrite /bad bl iF.
by rewrite IH ?orbT // !inE negb_or jl.
Qed.

End Promises.

Section Joint.
Variables (R : realType) (I : finType).
Implicit Types (s z u : I -> R).

Lemma joint_log s z (k : nat) (w w' x1 x2 c : R) (W : I -> R) : (0 < k <= #|I|)%N -> 0 < w -> 0 <= w' ->
  (forall i, W i = expR (z i)) ->
  (forall i, s i <= kth_largest s k -> z i <= x1) ->
  (forall i, kth_largest s k + w' < s i -> x1 + c <= z i) ->
  (forall i, kth_largest s k <= s i -> x2 <= z i) ->
  (forall i, s i <= kth_largest s k - w -> z i <= x2 - c) ->
  1 - k%:R * (#|I| - k)%:R * expR (- c) <=
    chosen_chance W k (fun S => all_above s (kth_largest s k - w) S && has_all_above s (kth_largest s k + w') S).
Proof.
move=> kI w0 w'0 Wz out1 heavy1 in2 light2; have [F [i0 [Fk _ _ Fge Fle]]] := top_k s kI.
have W0 i : 0 < W i by rewrite Wz expR_gt0.
have [_ kI'] := andP kI.
rewrite -mulrA; apply: (@le_trans _ _ (chosen_chance W k (fun S =>
    [forall j in S, ~~ (s j <= kth_largest s k - w)] && [forall j, (kth_largest s k + w' < s j) ==> (j \in S)]))); last first.
  apply: chosen_chance_le => // S /andP[/forall_inP H1 H2]; apply/andP; split=> //.
  by apply/forall_inP => j jS; rewrite ltNge; apply: H1.
apply: (promises (F := F) (y1 := expR x1) (y2 := expR x2)); rewrite ?expR_ge0 ?expR_gt0 //.
- move=> i si; apply/negP => /Fge; rewrite leNgt; move/negP; apply.
  by apply: le_lt_trans si _; rewrite ltr_subl_addr ltr_addl.
- move=> i; apply: contraTT => /Fle si; rewrite -leNgt; apply: le_trans si _.
  by rewrite ler_addl.
- by move=> i /Fle si; rewrite Wz ler_expR; apply: out1.
- by move=> i hi; rewrite Wz -expRD ler_expR ler_subr_addr; apply: heavy1.
- by move=> i /Fge si; rewrite Wz ler_expR; apply: in2.
- by move=> i li; rewrite Wz -expRD ler_expR; apply: light2.
Qed.

Lemma joint_zero (k : nat) (W : I -> R) (P : {set I} -> bool) : (forall i, 0 < W i) -> (1 <= k < #|I|)%N ->
  1 - k%:R * (#|I| - k)%:R * expR 0 <= chosen_chance W k P.
Proof.
move=> W0 /andP[k1 kI]; rewrite expR0 mulr1 -natrM; apply: le_trans (_ : 0 <= _).
  by rewrite subr_le0 ler1n muln_gt0 k1 subn_gt0.
by apply: sumr_ge0 => S _; apply: sumr_ge0 => s _; apply: draws_ge0.
Qed.

(* Similarities raised at most to s_k - w: both with and without the soft floor. *)
Lemma weighs_floor a s k w (W : I -> R) : weighs a s k w W ->
  exists u, (forall i, W i = expR (a * u i)) /\ (forall i, s i <= u i <= Num.max (s i) (kth_largest s k - w)).
Proof.
case=> H; [exists s | exists (soft_floor k w s)]; split=> // i; rewrite /soft_floor ?lexx ?le_maxr ?lexx //.
Qed.

(* One sensitivity: both promises together, for every w >= 0. *)
Lemma joint_one s k (a w : R) (W : I -> R) : 0 < a -> (1 <= k < #|I|)%N -> 0 <= w -> weighs a s k w W ->
  1 - k%:R * (#|I| - k)%:R * expR (- (a * w)) <=
    chosen_chance W k (fun S => all_above s (kth_largest s k - w) S && has_all_above s (kth_largest s k + w) S).
Proof.
move=> a0 kI w0 /weighs_floor[u [Wu su]].
have W0 i : 0 < W i by rewrite Wu expR_gt0.
have [w0'|w1] := eqVneq w 0; first by rewrite {1}w0' mulr0 oppr0; apply: joint_zero.
have {w1 w0} w0 : 0 < w by rewrite lt_neqAle eq_sym w1.
have [k1 kI'] := andP kI.
apply: (joint_log (z := fun i => a * u i) (x1 := a * kth_largest s k) (x2 := a * kth_largest s k)) => //.
- by rewrite k1 ltnW.
- exact: ltW.
- move=> i si; rewrite ler_pmul2l //; case/andP: (su i) => _ /le_trans; apply.
  by rewrite le_maxl si /= ler_subl_addr ler_addl ltW.
- move=> i si; rewrite -mulrDr ler_pmul2l //; case/andP: (su i) => us _.
  exact: le_trans (ltW si) us.
- by move=> i si; rewrite ler_pmul2l //; case/andP: (su i) => us _; apply: le_trans us.
- move=> i si; rewrite -mulrBr ler_pmul2l //; case/andP: (su i) => _ /le_trans; apply.
  by rewrite le_maxl si lexx.
Qed.

(* The level: k (n - k) exp(- ln(k (n - k) / rho)) = rho. *)
Lemma level (x rho : R) : 0 < x -> 0 < rho -> x * expR (- ln (x / rho)) = rho.
Proof.
by move=> x0 r0; rewrite expRN lnK ?posrE ?divr_gt0 // invf_div mulrCA divff ?mulr1 // gt_eqF.
Qed.

Lemma level_gt0 (x rho : R) : 1 <= x -> 0 < rho < 1 -> 0 < ln (x / rho).
Proof.
move=> x1 /andP[r0 r1]; apply: ln_gt0; rewrite ltr_pdivl_mulr // mul1r; exact: lt_le_trans x1.
Qed.

Lemma pairs_ge1 k : (1 <= k < #|I|)%N -> 1 <= k%:R * (#|I| - k)%:R :> R.
Proof. by case/andP=> k1 kI; rewrite -natrM ler1n muln_gt0 k1 subn_gt0. Qed.

End Joint.

Section Rounds.
Variables (R : realType) (T : finType).

Lemma rounds_right (round : seq T -> law R T) (bad : seq T -> T -> bool) (P : R) (k : nat) h :
  0 <= P <= 1 -> (forall h, chance (round h) [set t | bad h t] <= P) ->
  (1 - P) ^+ k <= \sum_(s : k.-tuple T | all_right bad h s) rounds round h s.
Proof.
case/andP=> P0 P1 H; elim: k h => [|k IH] h; first by rewrite big_mkcond sum_tuple0.
have p0 : 0 <= (1 - P) ^+ k by rewrite exprn_ge0 // subr_ge0.
rewrite big_mkcond sum_tupleS /= exprS.
apply: (@le_trans _ _ ((\sum_(t | ~~ bad h t) pr (round h) t) * (1 - P) ^+ k)).
  apply: ler_wpmul2r => //; rewrite ler_subl_addr -(pr_sum1 (round h)) (bigID (bad h)) /= addrC.
  by rewrite ler_add2l; apply: le_trans (H h); rewrite /chance le_eqVlt; apply/orP; left; apply/eqP; apply: eq_bigl => t; rewrite inE.
rewrite mulr_suml big_mkcond; apply: ler_sum => t _; case: (boolP (bad h t)) => _ /=; first by rewrite big1.
by rewrite -big_mkcond -mulr_sumr; apply: ler_wpmul2l; [apply: pr_ge0 | apply: IH].
Qed.

Lemma bernoulli (P : R) (k : nat) : 0 <= P <= 1 -> 1 - k%:R * P <= (1 - P) ^+ k.
Proof.
case/andP=> P0 P1; elim: k => [|k IH]; first by rewrite mul0r subr0.
rewrite exprS; apply: le_trans (_ : (1 - P) * (1 - k%:R * P) <= _); last by rewrite ler_wpmul2l // subr_ge0.
rewrite -subr_ge0; have -> : (1 - P) * (1 - k%:R * P) - (1 - k.+1%:R * P) = k%:R * P ^+ 2.
  by rewrite -(addn1 k) natrD; ring.
by rewrite mulr_ge0 ?ler0n // sqr_ge0.
Qed.

End Rounds.
