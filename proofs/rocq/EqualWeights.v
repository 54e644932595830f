(* PPNS with equal weights against k draws from all candidates: Abel's sum. *)
From Dpassay Require Import Prelude.
From mathcomp Require Import perm.
From Dpassay Require Import Statements Core Selection Accuracy Sums Means Partitions.
Import Statements.Selection.

Lemma draws_picks (R : realType) (I : finType) (w : I -> R) k gone (s : seq I) : size s = k ->
  picks (nseq k w) gone s = draws w gone s.
Proof. by elim: k gone s => [|k IH] gone [|i s] //= [ss]; rewrite IH. Qed.

Lemma tuple_sum (V : zmodType) (I : finType) (m m' : nat) (F : seq I -> V) (Q : pred (seq I)) : m = m' ->
  \sum_(s : m.-tuple I | Q s) F s = \sum_(s : m'.-tuple I | Q s) F s.
Proof. by move=> ->. Qed.

Lemma inclusion_blind (R : realType) (I : finType) (c : R) k (a b : I) :
  inclusion (fun _ : I => c) k a = inclusion (fun _ : I => c) k b.
Proof.
have E i : inclusion (fun _ : I => c) k i = picked_inclusion (nseq k (fun _ : I => c)) i.
  rewrite inclusionE picked_inclusionE /incl (tuple_sum (fun s => picks (nseq k (fun=> c)) set0 s) (fun s => i \in s) (size_nseq k _)).
  by apply: eq_bigr => s _; rewrite draws_picks // size_tuple.
by rewrite !E; apply: picked_inclusion_blind; apply: blind_nseq.
Qed.

Lemma inclusion_equal (R : realType) (n k : nat) (c : R) (i : 'I_n) : 0 < c -> (k <= n)%N ->
  inclusion (fun _ : 'I_n => c) k i = k%:R / n%:R.
Proof.
move=> c0 kn; have n0 : n%:R != 0 :> R by rewrite pnatr_eq0 -lt0n (leq_ltn_trans _ (ltn_ord i)).
have := @inclusion_sum R _ (fun _ : 'I_n => c) (fun=> c0) k; rewrite card_ord => /(_ kn) <-.
rewrite (eq_bigr (fun=> inclusion (fun _ : 'I_n => c) k i)) => [|j _]; last exact: inclusion_blind.
by rewrite sumr_const card_ord -[_ *+ n]mulr_natr mulfK.
Qed.

Section Abel.
Variables (R : realType) (n k : nat) (s x : nat -> R).
Hypothesis k0 : (0 < k)%N.
Local Notation D m := (\sum_(0 <= i < m) x i).

Lemma abel : (forall m, (m.+1 < n)%N -> s m.+1 <= s m) -> (forall m, (m <= n)%N -> 0 <= D m) ->
  forall m, (m < n)%N -> s m * D m.+1 <= \sum_(0 <= i < m.+1) s i * x i.
Proof.
move=> sd D0; elim=> [|m IH] mn; first by rewrite !big_nat1.
rewrite [X in _ <= X]big_nat_recr //=; apply: le_trans (ler_add (IH (ltnW mn)) (lexx _)).
rewrite [X in s m.+1 * X]big_nat_recr //= mulrDr ler_add2r; apply: ler_wpmul2r; last exact: sd.
by apply: D0; apply: ltnW.
Qed.

Hypothesis same : forall a b, (a < n)%N -> (b < n)%N -> (a %/ k = b %/ k)%N -> x a = x b.
Hypothesis total : D n = 0.
Hypothesis boundary : forall j, (j * k <= n)%N -> 0 <= D (j * k).

Lemma block a b c : (a <= b)%N -> (b <= n)%N -> (c < n)%N -> (forall i, (a <= i < b)%N -> (i %/ k = c %/ k)%N) ->
  D b = D a + (b - a)%:R * x c.
Proof.
move=> ab bn cn H; rewrite (big_cat_nat _ _ _ (leq0n a) ab) /=; congr (_ + _).
rewrite (eq_big_nat _ _ (F2 := fun=> x c)) => [|i /andP[ai ib]]; last first.
  by apply: same => //; [apply: leq_trans bn | apply: H; rewrite ai].
by rewrite sumr_const_nat -[LHS]mulr_natl.
Qed.

Lemma linear m : (m <= n)%N -> 0 <= D m.
Proof.
rewrite leq_eqVlt => /orP[/eqP->|mn]; first by rewrite total.
set j := (m %/ k)%N; have jm : (j * k <= m)%N by apply: leq_trunc_div.
have mj : (m < j.+1 * k)%N by rewrite -ltn_divLR.
have E1 := @block (j * k) m m jm (ltnW mn) mn.
have {}E1 : D m = D (j * k) + (m - j * k)%:R * x m.
  apply: E1 => i /andP[ji im]; apply/eqP; rewrite eqn_leq leq_div2r ?(ltnW im) //=.
  by rewrite leq_divRL.
have [x0|x0] := leP 0 (x m).
  by rewrite E1 addr_ge0 ?mulr_ge0 ?ler0n ?boundary // (leq_trans jm) // ltnW.
set e := minn (j.+1 * k) n.
have me : (m <= e)%N by rewrite leq_min (ltnW mj) ltnW.
have E2 : D e = D m + (e - m)%:R * x m.
  apply: block => // [|i /andP[mi ie]]; first exact: geq_minr.
  apply/eqP; rewrite eqn_leq; apply/andP; split; last exact: leq_div2r.
  rewrite -ltnS ltn_divLR //.
  by apply: leq_trans ie _; apply: geq_minl.
have De : 0 <= D e.
  by rewrite /e /minn; case: ifP => H; [apply: boundary; apply: ltnW | rewrite total].
have -> : D m = D e - (e - m)%:R * x m by rewrite E2 addrK.
by rewrite subr_ge0; apply: le_trans De; rewrite mulr_ge0_le0 ?ler0n // ltW.
Qed.

End Abel.

Section Repaired.
Variables (R : realType) (n k : nat) (p c : R).
Hypothesis k0 : (0 < k)%N.
Hypothesis def : ppns_defined n k p.
Hypothesis c0 : 0 < c.
Local Notation mu := (picked_inclusion (ppns k p (fun _ : 'I_n => c) (fun _ : 'I_n => c))).

Lemma blind_pool (a b : 'I_n) (A : {set 'I_n}) : (a \in A) = (b \in A) ->
  forall i, from_pool (fun _ : 'I_n => c) A (tperm a b i) = from_pool (fun _ : 'I_n => c) A i.
Proof. by move=> ab i; rewrite /from_pool; case: tpermP => [->|->|//]; rewrite ab. Qed.

Lemma mu_same (a b : 'I_n) : (a %/ k = b %/ k)%N -> mu a = mu b.
Proof.
move=> ab; apply: picked_inclusion_blind; apply: blind_cat.
  elim: (iota _ _) => //= j js IH; apply: blind_cat => //.
  by apply: blind_nseq; apply: blind_pool; rewrite !inE ab.
by split=> //; apply: blind_pool; rewrite !inE ab.
Qed.

Lemma first_partitions j : \sum_(l < j) \sum_(i in partition n k l) mu i = \sum_(i < n | (i < j * k)%N) mu i.
Proof.
elim: j => [|j IH]; first by rewrite big_ord0 mul0n big_pred0.
rewrite big_ord_recr /= IH [RHS](bigID (fun i : 'I_n => (i < j * k)%N)) /=; congr (_ + _).
  apply: eq_bigl => i; rewrite andb_idl // => ij; apply: leq_trans ij _.
  by rewrite leq_mul2r leqnSn orbT.
by apply: eq_bigl => i; rewrite inE -!ltn_divLR // -leqNgt ltnS -eqn_leq.
Qed.

End Repaired.

Theorem equal_weights : Statements.Selection.PP_T1_REP.
Proof.
move=> R n k p c k0 _ def c0 mu Q.
have kn : (k <= n)%N.
  have [T0|T0] := posnP (size (taken n k p)); last first.
    by apply: leq_trans (ltnW (visited_lt k0 def)); rewrite leq_pmull.
  case/andP: (def) => /eqP; move: T0 => /size0nil-> /= k1 _.
  have -> : k = 1%N by rewrite -(prednK k0) -k1.
  exact: leq_ltn_trans (leq0n _) (visited_lt k0 def).
have n0 : n%:R != 0 :> R by rewrite pnatr_eq0 -lt0n (leq_trans k0).
have hat i : inclusion (fun _ : 'I_n => c) k i = k%:R / n%:R by apply: inclusion_equal.
have QE j : \sum_(l < j) Q l = \sum_(i < n | (i < j * k)%N) mu i by apply: first_partitions.
split=> [H j jn|H s sd s0].
  have := H (fun i : 'I_n => if (i < j * k)%N then 1 else 0); rewrite QE.
  have pick (f : 'I_n -> R) : \sum_(i < n) (if (i < j * k)%N then 1 else 0) * f i = \sum_(i < n | (i < j * k)%N) f i.
    by rewrite [RHS]big_mkcond; apply: eq_bigr => i _; case: ifP; rewrite ?mul1r ?mul0r.
  rewrite !pick => le; apply: le_trans (le _ _).
  - rewrite (eq_bigr (fun=> k%:R / n%:R)) => [|i _]; last exact: hat.
    rewrite -(big_ord_widen n (fun=> k%:R / n%:R) jn) sumr_const card_ord -[X in _ <= X]mulr_natl.
    by rewrite mulrA.
  - move=> a b ab; case: ifP => [bj|_]; last by case: ifP => // _; apply: ler01.
    by rewrite (leq_ltn_trans ab bj).
  - by move=> i; case: ifP => // _; apply: ler01.
pose x (m : nat) := oapp (fun i : 'I_n => mu i - k%:R / n%:R) 0 (insub m).
pose S (m : nat) := oapp s 0 (insub m).
have xE (i : 'I_n) : x i = mu i - k%:R / n%:R by rewrite /x valK.
have SE (i : 'I_n) : S i = s i by rewrite /S valK.
have D (m : nat) : (m <= n)%N -> \sum_(0 <= i < m) x i = \sum_(i < n | (i < m)%N) mu i - m%:R * (k%:R / n%:R).
  move=> mn; rewrite big_mkord (big_ord_widen n (fun i => x i) mn) (eq_bigr (fun i : 'I_n => mu i - k%:R / n%:R)) => [|i _]; last exact: xE.
  by rewrite sumrB -(big_ord_widen n (fun=> k%:R / n%:R) mn) sumr_const card_ord -[_ *+ m]mulr_natl.
have tot : \sum_(0 <= i < n) x i = 0.
  rewrite D // (eq_bigl predT) => [|i]; last exact: ltn_ord.
  by rewrite (ppns_total k0 def (fun=> c0) (fun=> c0)) mulrCA divff // mulr1 subrr.
have same a b : (a < n)%N -> (b < n)%N -> (a %/ k = b %/ k)%N -> x a = x b.
  move=> an bn ab; have -> : a = Ordinal an :> nat by []. have -> : b = Ordinal bn :> nat by [].
  by rewrite !xE; congr (_ - _); apply: mu_same.
have bnd j : (j * k <= n)%N -> 0 <= \sum_(0 <= i < j * k) x i.
  by move=> jn; rewrite D // subr_ge0 mulrA -QE; apply: H.
have lin := linear k0 same tot bnd.
have n1 : (0 < n)%N by apply: leq_trans k0 kn.
have Sd m : (m.+1 < n)%N -> S m.+1 <= S m.
  move=> mn; have E1 : S m = s (Ordinal (ltnW mn)) := SE (Ordinal (ltnW mn)).
  have E2 : S m.+1 = s (Ordinal mn) := SE (Ordinal mn).
  by rewrite E1 E2; apply: sd; apply: leqnSn.
have := abel Sd lin (m := n.-1); rewrite (prednK n1) leqnn => /(_ isT).
rewrite tot mulr0 big_mkord => ge; rewrite -subr_ge0 -sumrB; apply: le_trans ge _.
by rewrite le_eqVlt; apply/orP; left; apply/eqP; apply: eq_bigr => i _; rewrite SE xE hat mulrBr.
Qed.
