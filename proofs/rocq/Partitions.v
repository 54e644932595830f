(* Successive draws from pools, and Algorithm 1 of Lu and Shen. *)
From Dpassay Require Import Prelude.
From mathcomp Require Import perm.
From Dpassay Require Import Statements Core Selection Sums.
Import Statements.Selection.

Section Picks.
Variables (R : realType) (I : finType).
Implicit Types (steps rest : seq (I -> R)) (gone pool P : {set I}) (s : seq I) (w : I -> R) (i j : I).

(* Whatever was drawn before, every draw has somebody to take. *)
Fixpoint feasible steps gone : Prop :=
  if steps is w :: steps' then
    [/\ forall i, 0 <= w i, exists2 i, i \notin gone & 0 < w i &
        forall i, i \notin gone -> 0 < w i -> feasible steps' (i |: gone)]
  else True.

Lemma picks_ge0 steps gone s : feasible steps gone -> 0 <= picks steps gone s.
Proof.
elim: steps gone s => [|w steps IH] gone [|i s] /=; do ?[by rewrite ler01].
case=> w0 _ H; rewrite /draw; case: ifPn => [|ig]; first by rewrite mul0r.
have [wi|wi] := ltP 0 (w i); first by rewrite mulr_ge0 ?IH ?divr_ge0 ?sumr_ge0 //; apply: H.
by rewrite (le_anti (_ : w i <= 0 <= w i)) ?wi ?w0 // !mul0r.
Qed.

Lemma picks_sum1 steps gone : feasible steps gone -> \sum_(s : (size steps).-tuple I) picks steps gone s = 1.
Proof.
elim: steps gone => [|w steps IH] gone /=; first by rewrite sum_tuple0.
case=> w0 [j jg wj] H; rewrite sum_tupleS /=.
have L0 : 0 < \sum_(i | i \notin gone) w i.
  by rewrite (bigD1 j) //=; apply: ltr_spaddl => //; apply: sumr_ge0.
transitivity (\sum_i draw w gone i).
  apply: eq_bigr => i _; rewrite -mulr_sumr; rewrite /draw; case: ifPn => [|ig]; first by rewrite mul0r.
  have [wi|wi] := ltP 0 (w i); first by rewrite IH ?mulr1 //; apply: H.
  by rewrite (le_anti (_ : w i <= 0 <= w i)) ?wi ?w0 // !mul0r.
rewrite (bigID (fun i => i \in gone)) /= big1 ?add0r; last by move=> i ig; rewrite /draw ig.
rewrite (eq_bigr (fun i => w i / \sum_(i | i \notin gone) w i)); last by move=> i /negbTE ig; rewrite /draw ig.
by rewrite -mulr_suml divff // gt_eqF.
Qed.

(* q draws from a pool that has as many left. *)
Lemma feasible_block w pool q rest gone : (forall i, 0 < w i) -> (q <= #|pool :\: gone|)%N ->
  (forall gone', (forall i, i \in gone' -> (i \in gone) || (i \in pool)) -> feasible rest gone') ->
  feasible (nseq q (from_pool w pool) ++ rest) gone.
Proof.
move=> w0; elim: q gone => [|q IH] gone qp H /=; first by apply: H => i ->.
split.
- by move=> i; rewrite /from_pool; case: ifP => // _; apply: ltW.
- have /card_gt0P[i] : (0 < #|pool :\: gone|)%N by apply: leq_trans qp.
  by rewrite !inE => /andP[ig ip]; exists i; rewrite // /from_pool ip.
move=> i ig; rewrite {1}/from_pool; case: ifP => [ip _|]; last by rewrite ltxx.
apply: IH => [|gone' sub].
  rewrite -ltnS; apply: leq_trans qp _; rewrite (cardsD1 i) !inE ig ip add1n ltnS.
  by apply: subset_leq_card; apply/subsetP => j; rewrite !inE negb_or => /and3P[-> -> ->].
by apply: H => j /sub; rewrite !inE => /orP[/orP[/eqP->|->]|->]; rewrite ?ip ?orbT.
Qed.

(* Nobody is drawn twice, and everybody drawn has a positive weight in that draw. *)
Lemma picks_uniq steps gone s : size s = size steps -> picks steps gone s != 0 -> uniq s && all (fun i => i \notin gone) s.
Proof.
elim: steps gone s => [|w steps IH] gone [|i s] //= [ss].
rewrite mulf_eq0 negb_or {1}/draw; case: ifPn => [_|ig /andP[_ /(IH _ _ ss)/andP[us gs]]]; first by rewrite eqxx.
rewrite us andbT /=; apply/andP; split.
  by apply/negP => /(allP gs); rewrite !inE eqxx.
by apply: sub_all gs => j; rewrite !inE negb_or => /andP[].
Qed.

Fixpoint inside P steps (bs : seq bool) : Prop :=
  match steps, bs with
  | w :: steps', b :: bs' => (forall i, w i != 0 -> (i \in P) = b) /\ inside P steps' bs'
  | [::], [::] => True
  | _, _ => False
  end.

Lemma inside_cat P st st' bs bs' : inside P st bs -> inside P st' bs' -> inside P (st ++ st') (bs ++ bs').
Proof. by elim: st bs => [|w st IH] [|b bs] //= [wb H] H'; split => //; apply: IH. Qed.

Lemma inside_nseq P q w (b : bool) : (forall i, w i != 0 -> (i \in P) = b) -> inside P (nseq q w) (nseq q b).
Proof. by move=> H; elim: q. Qed.

Lemma picks_count P steps bs gone s : size s = size steps -> inside P steps bs -> picks steps gone s != 0 ->
  count (mem P) s = count id bs.
Proof.
elim: steps bs gone s => [|w steps IH] [|b bs] gone [|i s] //= [ss] [wb H].
rewrite mulf_eq0 negb_or => /andP[d /(IH _ _ _ ss H) ->]; congr (_ + _)%N.
rewrite wb //; apply: contraNneq d => wi; rewrite /draw wi mul0r; by case: ifP.
Qed.

Lemma picked_inclusionE steps i : picked_inclusion steps i = \sum_(s : (size steps).-tuple I | i \in s) picks steps set0 s.
Proof.
rewrite /picked_inclusion /picked [RHS](partition_big (fun s : (size steps).-tuple I => [set j in s]) (fun S : {set I} => i \in S)) /=.
  apply: eq_bigr => S iS; apply: eq_bigl => s; rewrite andbC.
  by case: eqP => //= E; rewrite -E inE in iS; rewrite iS.
by move=> s is'; rewrite inE.
Qed.

Lemma picked_inclusion_ge0 steps i : feasible steps set0 -> 0 <= picked_inclusion steps i.
Proof. by move=> f; rewrite picked_inclusionE; apply: sumr_ge0 => s _; apply: picks_ge0. Qed.

(* The expected number of those drawn from P, where each draw is from P for certain or certainly not. *)
Lemma picked_inclusion_sum P steps bs : feasible steps set0 -> inside P steps bs ->
  \sum_(i in P) picked_inclusion steps i = (count id bs)%:R.
Proof.
move=> f H; transitivity (\sum_(s : (size steps).-tuple I) picks steps set0 s * (count id bs)%:R); last first.
  by rewrite -mulr_suml picks_sum1 // mul1r.
transitivity (\sum_(i in P) \sum_(s : (size steps).-tuple I) (if i \in s then picks steps set0 s else 0)).
  by apply: eq_bigr => i _; rewrite picked_inclusionE [LHS]big_mkcond.
rewrite exchange_big /=; apply: eq_bigr => s _; rewrite -big_mkcondr /= sumr_const.
have [->|nz] := eqVneq (picks steps set0 s) 0; first by rewrite mul0rn mul0r.
have ss : size s = size steps by rewrite size_tuple.
rewrite -[LHS]mulr_natr -(picks_count ss H nz); congr (_ * _%:R).
have /andP[us _] := picks_uniq ss nz.
rewrite -size_filter -(card_uniqP (filter_uniq _ us)); apply: eq_card => i.
by rewrite mem_filter.
Qed.

(* Candidates that no step tells apart are equally likely to be drawn. *)
Fixpoint blind (a b : I) steps : Prop :=
  if steps is w :: steps' then (forall i, w (tperm a b i) = w i) /\ blind a b steps' else True.

Lemma blind_cat a b st st' : blind a b st -> blind a b st' -> blind a b (st ++ st').
Proof. by elim: st => [|w st IH] //= [wab H] H'; split => //; apply: IH. Qed.

Lemma blind_nseq a b q w : (forall i, w (tperm a b i) = w i) -> blind a b (nseq q w).
Proof. by move=> H; elim: q. Qed.

Lemma picks_blind a b steps gone s : blind a b steps ->
  picks steps [set tperm a b i | i in gone] [seq tperm a b i | i <- s] = picks steps gone s.
Proof.
elim: steps gone s => [|w steps IH] gone [|i s] //= [wab H]; congr (_ * _); last first.
  by rewrite -imsetU1 IH.
have inj : injective (tperm a b) by apply: perm_inj.
rewrite /draw mem_imset //; case: ifP => // _; rewrite wab; congr (_ / _).
rewrite (reindex_inj inj) /=; apply: eq_big => [j|j _]; last by rewrite wab.
by rewrite mem_imset.
Qed.

Lemma picked_inclusion_blind a b steps : blind a b steps -> picked_inclusion steps a = picked_inclusion steps b.
Proof.
move=> H; rewrite !picked_inclusionE.
have inj : injective (tperm a b) by apply: perm_inj.
rewrite (reindex (fun s : (size steps).-tuple I => [tuple of map (tperm a b) s])) /=; last first.
  exists (fun s : (size steps).-tuple I => [tuple of map (tperm a b) s]) => s _;
    by apply: val_inj; rewrite /= -map_comp map_id_in // => i _ /=; rewrite tpermK.
apply: eq_big => [s|s _].
  by rewrite -{1}(tpermR a b) mem_map.
by rewrite -[in LHS](imset0 (tperm a b)) picks_blind.
Qed.

End Picks.

Section Algorithm.
Variables (R : realType) (n k : nat) (p : R).
Hypothesis k0 : (0 < k)%N.
Hypothesis def : ppns_defined n k p.
Local Notation tk := (taken n k p).
Local Notation P := (partition n k).

Lemma quotas_le j parts missing l : (nth 0%N (quotas n k p j parts missing) l <= #|P (j + l)|)%N.
Proof.
elim: parts j missing l => [|m IH] j missing l /=; first by rewrite nth_nil.
case: ifP => _; first by rewrite nth_nil.
by case: l => [|l] /=; [rewrite addn0 geq_minr | rewrite -addSnnS].
Qed.

Lemma visited_lt : (size tk * k < n)%N.
Proof.
case/andP: def => _; rewrite /num_partitions; set m := size tk => lt.
rewrite [X in (_ < X)%N](divn_eq n k); case: (posnP (n %% k)) lt => [->|r0] /=.
  by rewrite !addn0 ltn_pmul2r.
rewrite addn1 ltnS => le; rewrite -[X in (X < _)%N]addn0.
by apply: leq_ltn_trans (_ : n %/ k * k + 0 < _)%N; [rewrite leq_add2r leq_mul2r le orbT | rewrite ltn_add2l].
Qed.

Lemma feasible_ppns (weight last : 'I_n -> R) : (forall i, 0 < weight i) -> (forall i, 0 < last i) ->
  feasible (ppns k p weight last) set0.
Proof.
move=> w0 l0; rewrite /ppns.
suff H m l (gone : {set 'I_n}) : (l + m)%N = size tk -> (forall i, i \in gone -> (i %/ k < l)%N) ->
    feasible (flatten [seq nseq (nth 0%N tk j) (from_pool weight (P j)) | j <- iota l m] ++
      [:: from_pool last (unvisited n k p)]) gone.
  by apply: H => // i; rewrite inE.
elim: m l gone => [|m IH] l gone.
  rewrite addn0 => -> small /=; split=> //.
    by move=> i; rewrite /from_pool; case: ifP => // _; apply: ltW.
  have lt := visited_lt; exists (Ordinal lt).
    apply/negP => /small /=; rewrite ltnNge; move/negP; apply.
    by rewrite mulnK.
  rewrite /from_pool inE /=; case: ifP => // /negP[].
  by rewrite mulnK.
rewrite addnS => lm small; rewrite /= -catA; apply: feasible_block => //.
  rewrite (_ : P l :\: gone = P l); first by have := quotas_le 0 (num_partitions n k) k.-1 l; rewrite add0n.
  apply/setP => i; rewrite !inE andbC; case: eqP => //= il.
  by apply/negP => /small; rewrite il ltnn.
move=> gone' sub; apply: IH; first by rewrite addSn.
by move=> i /sub/orP[/small/ltnW//|]; rewrite inE => /eqP->.
Qed.

Lemma inside_all (I : finType) (steps : seq (I -> R)) : inside setT steps (nseq (size steps) true).
Proof. by elim: steps => //= w steps IH; split=> // i _; rewrite inE. Qed.

Lemma size_ppns (weight last : 'I_n -> R) : size (ppns k p weight last) = k.
Proof.
rewrite /ppns size_cat /= size_flatten /shape -map_comp.
rewrite (_ : map _ _ = tk); last first.
  rewrite -[RHS](@mkseq_nth _ 0%N) /mkseq; apply: eq_map => j /=.
  by rewrite size_nseq.
by case/andP: def => /eqP-> _; rewrite addn1 prednK.
Qed.

Lemma ppns_total (weight last : 'I_n -> R) : (forall i, 0 < weight i) -> (forall i, 0 < last i) ->
  \sum_i picked_inclusion (ppns k p weight last) i = k%:R.
Proof.
move=> w0 l0; have := picked_inclusion_sum (feasible_ppns w0 l0) (inside_all _).
rewrite count_nseq /= mul1n size_ppns => <-; apply: eq_bigl => i; by rewrite inE.
Qed.

Lemma ppns_first (weight last : 'I_n -> R) : (forall i, 0 < weight i) -> (forall i, 0 < last i) -> (0 < size tk)%N ->
  \sum_(i in P 0) picked_inclusion (ppns k p weight last) i = (nth 0%N tk 0)%:R.
Proof.
move=> w0 l0 t0; set bs := flatten [seq nseq (nth 0%N tk j) (j == 0%N) | j <- iota 0 (size tk)] ++ [:: false].
rewrite (@picked_inclusion_sum _ _ (P 0) _ bs (feasible_ppns w0 l0)).
  congr _%:R; rewrite /bs count_cat addn0 -(prednK t0) /= count_cat count_nseq /= mul1n.
  rewrite (_ : count _ _ = 0%N) ?addn0 //.
  have : 1%N != 0%N by [].
  elim: (size tk).-1 1%N => //= m IH l l1.
  by rewrite count_cat count_nseq IH // (negbTE l1).
apply: inside_cat; last first.
  split=> // i; rewrite /from_pool inE; case: ifP => [t1 _|]; last by rewrite eqxx.
  by rewrite inE; apply/negbTE; rewrite -lt0n; apply: leq_trans t1.
elim: (iota 0 (size tk)) => //= j js IH; apply: inside_cat => //.
apply: inside_nseq => i; rewrite /from_pool inE; case: ifP => [/eqP ij _|_]; last by rewrite eqxx.
by rewrite inE ij.
Qed.

Lemma partition0 : P 0 = [set i : 'I_n | (i < k)%N].
Proof. by apply/setP => i; rewrite !inE -leqn0 leqNgt divn_gt0 // -ltnNge. Qed.

Lemma card_partition0 : (k <= n)%N -> #|P 0| = k.
Proof.
move=> kn; have inj : injective (widen_ord kn) by move=> i j /(congr1 val) /= ij; apply: val_inj.
rewrite -[RHS]card_ord -(card_imset 'I_k inj); apply: eq_card => i; rewrite partition0 inE.
apply/idP/imsetP => [ik|[j _ ->]]; last exact: (ltn_ord j).
by exists (Ordinal ik) => //; apply: val_inj.
Qed.

End Algorithm.

(* Chebyshev's sum over the first k of n. *)
Lemma first_k (R : realType) (n k : nat) (s mu : 'I_n -> R) : (k <= n)%N ->
  (forall i j : 'I_n, (i <= j)%N -> s j <= s i) -> (forall i j : 'I_n, (i <= j)%N -> mu j <= mu i) ->
  (\sum_(i < n | (i < k)%N) s i) * (\sum_(i < n | (i < k)%N) mu i) <= k%:R * \sum_(i < n | (i < k)%N) s i * mu i.
Proof.
move=> kn sd mud; rewrite !big_ord_narrow -subr_ge0 -(chebyshev_identity (fun i => s (widen_ord kn i)) (fun i => mu (widen_ord kn i))).
apply: sumr_ge0 => i _; apply: sumr_ge0 => j /ltnW ij.
by apply: mulr_ge0; rewrite subr_ge0; [apply: sd | apply: mud].
Qed.

Theorem partition_accuracy : Statements.Selection.PP_P.
Proof.
move=> R n k p alpha0 s weight last /andP[p0 pk] def w0 l0 sd s0 S0 mu mud; set S := \sum_(i < n | _) _ => aS.
have k0 : (0 < k)%N.
  by rewrite lt0n; apply/eqP => k0; move: pk; rewrite k0 invr0 mulr0 leNgt p0.
have kr : 0 < k%:R :> R by rewrite ltr0n.
have pk1 : p * k%:R <= k%:R - 1 by rewrite -ler_pdivl_mulr.
have k1 : (0 < k.-1)%N.
  by rewrite -(ltr_nat R) -subn1 natrB //; apply: lt_le_trans pk1; rewrite mulr_gt0.
have NP : (0 < num_partitions n k)%N by case/andP: def => _; apply: leq_ltn_trans.
have tk0 : (0 < size (taken n k p))%N.
  by rewrite /taken -(prednK NP) /=; case: eqP k1 => // ->.
have kn : (k <= n)%N.
  by apply: leq_trans (ltnW (visited_lt k0 def)); rewrite leq_pmull.
have q0 : p * k%:R <= (nth 0%N (taken n k p) 0)%:R.
  rewrite /taken -(prednK NP) /=; case: eqP => [E|_ /=]; first by rewrite E in k1.
  rewrite card_partition0 // expr0 mulr1 {1}/minn; case: ifP => _; last first.
    by apply: le_trans pk1 _; rewrite ger_addl oppr_le0 ler01.
  rewrite /minn; case: ifP => _; last by apply: le_trans pk1 _; rewrite -subn1 natrB.
  have c0 : 0 <= ceil (p * k%:R) by apply: ceil_ge0; rewrite mulr_ge0 ?ler0n // ltW.
  by rewrite natr_absz (ger0_norm c0); apply: ceil_ge.
have first : \sum_(i < n | (i < k)%N) mu i = (nth 0%N (taken n k p) 0)%:R.
  rewrite -(ppns_first k0 def w0 l0 tk0); apply: eq_bigl => i.
  by rewrite partition0 // inE.
have mu0 i : 0 <= mu i by apply: picked_inclusion_ge0; apply: feasible_ppns.
apply: (@le_trans _ _ (\sum_(i < n | (i < k)%N) s i * mu i)); last first.
  rewrite [X in _ <= X](bigID (fun i : 'I_n => (i < k)%N)) /= ler_addl.
  by apply: sumr_ge0 => i _; apply: mulr_ge0.
rewrite -(ler_pmul2l kr); apply: le_trans (first_k kn sd mud); rewrite first -/S.
apply: (@le_trans _ _ (S * (p * k%:R))); last by rewrite ler_pmul2l.
by rewrite mulrCA [k%:R * _]mulrC mulrA ler_pmul2r // -ler_pdivr_mulr // mulrC.
Qed.
