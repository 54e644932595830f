(* PriCDR's sketch gives its row space away. *)
From Dpassay Require Import Prelude Statements Gaussian.
Import Statements.Finite.

(* The one term of a sum over places that is not 0. *)
Lemma pick (R : realType) k (f : 'I_k -> R) a : \sum_j (j == a)%:R * f j = f a.
Proof. by rewrite (bigD1 a) //= eqxx mul1r big1 ?addr0 // => j /negbTE ->; rewrite mul0r. Qed.

Section Lifted.
Variables (R : realType) (n m : nat) (w : R).
Hypothesis w0 : 0 < w.

(* Rows that are orthogonal and not 0. *)
Definition orthogonal_rows (A : 'M[R]_(n, m)) : Prop :=
  (forall i k, i != k -> \sum_j A i j * A k j = 0) /\ (forall i, exists j, A i j != 0).

Lemma square_gt0 (A : 'M[R]_(n, m)) i : (exists j, A i j != 0) -> 0 < \sum_j A i j * A i j.
Proof.
move=> [j Aj]; rewrite lt_def sumr_ge0 ?andbT => [|k _]; last exact: sqr_ge0.
apply: contra Aj => /eqP E; rewrite -sqrf_eq0 expr2; apply/eqP.
by apply: (psumr_eq0P _ E (i := j)) => // k _; apply: sqr_ge0.
Qed.

Lemma gram (A : 'M[R]_(n, m)) : orthogonal_rows A -> A *m A^T = diag_mx (\row_i \sum_j A i j * A i j).
Proof.
move=> [ortho _]; apply/matrixP => i k; rewrite !mxE; case: (eqVneq i k) => [->|ik].
  by rewrite mulr1n; apply: eq_bigr => j _; rewrite !mxE.
by rewrite mulr0n; under eq_bigr do rewrite mxE; exact: ortho.
Qed.

Lemma orthogonal_liftable A : orthogonal_rows A -> liftable w A.
Proof.
move=> H; pose N i := \sum_j A i j * A i j; pose s : 'rV[R]_n := \row_i Num.sqrt (N i).
have s0 i : 0 < s ord0 i by rewrite mxE sqrtr_gt0; apply: square_gt0; case: H.
pose d : 'rV[R]_n := \row_i (s ord0 i)^-1.
have ds : diag_mx s *m diag_mx d = 1%:M.
  rewrite mulmx_diag; apply/matrixP => i k; rewrite !mxE; congr (_ *+ _).
  by have := s0 i; rewrite mxE => p; rewrite divff // lt0r_neq0.
have sd : diag_mx d *m diag_mx s = 1%:M by exact: mulmx1C.
have ss : diag_mx (\row_i N i) = diag_mx s *m diag_mx s.
  rewrite mulmx_diag; congr diag_mx; apply/rowP => i; rewrite !mxE -expr2 sqr_sqrtr //.
  by apply: sumr_ge0 => j _; exact: sqr_ge0.
eexists; exists 1%:M, s, (diag_mx d *m A)^T; split.
- by rewrite trmx1 mulmx1.
- by rewrite trmxK trmx_mul mulmxA -(mulmxA _ A) gram // -/N ss tr_diag_mx !mulmxA sd mul1mx ds.
- by move=> i; exact: ltW.
- by rewrite mul1mx trmxK mulmxA ds mul1mx.
by [].
Qed.

(* Lifting multiplies such a matrix by a nonsingular one, so both have the same null space. *)
Lemma same_null A R1 (l : 'cV[R]_m) : orthogonal_rows A -> lifts w A R1 -> (R1 *m l == 0) = (A *m l == 0).
Proof.
move=> H [U [s [V [UU VV s_ge0 EA ER]]]]; set t := \row_i _ in ER.
have UU' : U *m U^T = 1%:M by exact: mulmx1C.
have s0 i : s ord0 i != 0.
  apply/eqP => si; pose u := delta_mx ord0 i *m U^T : 'rV[R]_n.
  have uA : u *m A = 0.
    rewrite EA !mulmxA -(mulmxA _ U^T) UU mulmx1; apply/matrixP => a b; rewrite mxE big1 ?mxE // => k _.
    rewrite mul_mx_diag !mxE; case: (eqVneq k i) => [->|]; first by rewrite si mulr0 mul0r.
    by rewrite andbF !mul0r.
  have u0 : u = 0.
    apply/rowP => k; have := congr1 (fun B : 'rV[R]_n => B ord0 k) (congr1 (mulmx^~ A^T) uA).
    rewrite -mulmxA gram // mul0mx mul_mx_diag !mxE => /eqP.
    by rewrite mulf_eq0 (gt_eqF (square_gt0 _)) ?orbF => [/eqP ->|]; last by case: H.
  have := congr1 (fun B : 'rV[R]_n => (B *m U) ord0 i) u0.
  by rewrite -mulmxA UU mulmx1 mul0mx !mxE !eqxx => /eqP; rewrite oner_eq0.
have t0 i : t ord0 i != 0 by rewrite mxE lt0r_neq0 // sqrtr_gt0 addr_gt0 ?exprn_gt0 // lt_def s0 s_ge0.
have trans (x y : 'rV[R]_n) : (forall i, x ord0 i != 0) -> U *m diag_mx x *m V^T *m l = 0 -> U *m diag_mx y *m V^T *m l = 0.
  move=> x0 /(congr1 (mulmx (diag_mx (\row_i (x ord0 i)^-1) *m U^T))).
  rewrite !mulmxA -(mulmxA _ U^T U) UU mulmx1 mulmx0 mulmx_diag (_ : \row_i _ = const_mx 1) => [|].
    by rewrite diag_const_mx mul1mx => Vl; rewrite -mulmxA Vl mulmx0.
  by apply/rowP => i; rewrite !mxE mulVf.
by apply/eqP/eqP; rewrite ER EA; apply: trans.
Qed.
End Lifted.

(* One item rated 1 by the first n.+1 users, on one dataset by one user more; of item i > 0 the first i users' ratings  *)
(* are 1, the next one's 0, all others' i/(i+1). The users j1 and j2 rate the same but where the one more is j2.         *)
Section Witness.
Variables (R : realType) (n m : nat).
Hypothesis nm : (n.+1 + 2 <= m)%N.
Let n1 : (n.+1 < m)%N. Proof. by rewrite (leq_trans _ nm) // addn2. Qed.
Let n2 : (n.+2 < m)%N. Proof. by rewrite (leq_trans _ nm) // addn2. Qed.
Let j1 : 'I_m := Ordinal n1.
Let j2 : 'I_m := Ordinal n2.
Let m0 : m%:R != 0 :> R. Proof. by rewrite pnatr_eq0 -lt0n (leq_trans _ n1). Qed.
Definition contrast (i : nat) (j : nat) : R := (j < i)%N%:R - (j == i)%:R * i%:R.
Definition rated (more : bool) : 'M[R]_(n.+1, m) := \matrix_(i, j)
  if i == ord0 then (j < n.+1)%N%:R + ((j == j2) && more)%:R else (contrast i j + i%:R) / i.+1%:R.
Definition difference : 'cV[R]_m := \col_j ((j == j2)%:R - (j == j1)%:R).
Local Notation C more := (row_centered (rated more)).

Lemma contrast_sum (i : 'I_n.+1) : \sum_(j < m) contrast i j = 0.
Proof.
have im : (i < m)%N := leq_trans (ltn_ord i) (ltnW n1).
rewrite sumrB (pick (fun=> i%:R) (Ordinal im)) (eq_bigr (fun j : 'I_m => if (j < i)%N then 1 else 0)) => [|j _]; last by case: ifP.
by rewrite -big_mkcond -(big_ord_widen m (fun=> 1 : R)) ?(ltnW im) // sumr_const card_ord subrr.
Qed.

Lemma centered_low more (i : 'I_n.+1) j : i != ord0 -> C more i j = contrast i j / i.+1%:R.
Proof.
move=> /negbTE i0; rewrite !mxE i0 (eq_bigr (fun k : 'I_m => contrast i k / i.+1%:R + i%:R / i.+1%:R)) => [|k _].
  rewrite big_split /= -mulr_suml contrast_sum mul0r add0r sumr_const card_ord -[X in X / m%:R]mulr_natr mulfK //.
  by rewrite mulrDl addrK.
by rewrite mxE i0 mulrDl.
Qed.

Lemma centered_top more j : C more ord0 j = (j < n.+1)%N%:R + ((j == j2) && more)%:R - (\sum_k rated more ord0 k) / m%:R.
Proof. by rewrite !mxE. Qed.

Lemma centered_sum more (k : 'I_n.+1) : k != ord0 -> \sum_j C more k j = 0.
Proof. by move=> k0; under eq_bigr do rewrite centered_low //; rewrite -mulr_suml contrast_sum mul0r. Qed.

(* Row i is constant where row k is not 0. *)
Lemma constant more (i k : 'I_n.+1) : k != ord0 -> (i == ord0) || (k < i)%N -> \sum_j C more i j * C more k j = 0.
Proof.
move=> k0 ik; have km : (0 < m)%N := leq_trans (ltn0Sn _) n1.
rewrite (eq_bigr (fun j => C more i (Ordinal km) * C more k j)) -?mulr_sumr ?centered_sum ?mulr0 // => j _.
have [kj|jk] := ltnP k j.
  by rewrite [C more k j]centered_low // /contrast ltnNge (ltnW kj) gtn_eqF // mul0r subrr mul0r !mulr0.
congr (_ * _); case: (eqVneq i ord0) ik => /= [-> _|i0 ki].
  rewrite !centered_top (leq_ltn_trans jk) // (_ : (j == j2) = false) //.
  by apply/negbTE; rewrite -val_eqE /= ltn_eqF // (leq_ltn_trans jk) // (ltn_trans (ltn_ord k)).
by rewrite !centered_low // /contrast (leq_ltn_trans jk) // (ltn_eqF (leq_ltn_trans jk ki)) (leq_ltn_trans _ ki) // ltn_eqF // (leq_ltn_trans _ ki).
Qed.

Lemma rated_orthogonal more : orthogonal_rows (C more).
Proof.
have km : (0 < m)%N := leq_trans (ltn0Sn _) n1; split=> [i k ik|i].
  case: (eqVneq k ord0) ik => [->|k0] ik.
    by under eq_bigr do rewrite mulrC; rewrite constant ?eqxx.
  case: (eqVneq i ord0) => [->|i0]; first by rewrite constant ?eqxx.
  by case: (ltngtP i k) ik => [ik _|ik _|/val_inj ->]; rewrite ?eqxx //; last rewrite constant ?ik ?orbT //;
    under eq_bigr do rewrite mulrC; rewrite constant ?ik ?orbT.
case: (eqVneq i ord0) => [->|i0].
  case: (eqVneq (C more ord0 j1) 0) => [E|]; last by exists j1.
  have b : (j1 == j2) = false by rewrite -val_eqE /= ltn_eqF.
  exists (Ordinal km); rewrite (_ : C _ _ _ = 1) ?oner_eq0 // -[LHS]subr0 -E !centered_top ltnn b /=.
  by ring.
have i1 : (0 < i)%N by rewrite lt0n.
by exists (Ordinal km); rewrite centered_low // /contrast /= i1 (ltn_eqF i1) mul0r subr0 mul1r invr_eq0 pnatr_eq0.
Qed.

Lemma rated_neighbors : rating_neighbors (rated false) (rated true).
Proof.
exists ord0, j2; split=> [|i j]; first by rewrite !mxE !eqxx andbF /= addr0 opprD addNKr normrN1.
rewrite !mxE xpair_eqE; case: (i == ord0) => //= /negbTE ->; by rewrite andbF.
Qed.

Lemma rated_range more i j : 0 <= rated more i j <= 1.
Proof.
rewrite mxE; case: (eqVneq i ord0) => [_|i0].
  have [->|_] := eqVneq j j2; first by rewrite ltnNge leqnSn add0r; case: more; rewrite /= ?lexx ?ler01.
  by rewrite addr0; case: ltnP; rewrite ?lexx ?ler01.
rewrite /contrast; apply/andP; split.
  rewrite divr_ge0 ?ler0n //; case: (ltngtP j i) => _; rewrite ?mul1r ?mul0r ?subr0 ?addNr ?add0r ?ler0n //=.
    by rewrite addr_ge0 ?ler01 ?ler0n.
  by rewrite addNr.
rewrite ler_pdivr_mulr ?ltr0n // mul1r mulrSr [X in _ <= X]addrC ler_add2r.
by case: (ltngtP j i) => _; rewrite ?mul0r ?subr0 ?ler01 // sub0r mul1r (@le_trans _ _ 0) ?oppr_le0 ?ler0n ?ler01.
Qed.

Lemma rated_difference more i : (C more *m difference) i ord0 = ((i == ord0) && more)%:R.
Proof.
rewrite mxE (eq_bigr (fun j => (j == j2)%:R * C more i j - (j == j1)%:R * C more i j)) => [|j _]; last first.
  by rewrite [difference _ _]mxE mulrBr; congr (_ - _); rewrite mulrC.
have b : (j1 == j2) = false by rewrite -val_eqE /= ltn_eqF.
rewrite sumrB !pick; case: (eqVneq i ord0) => [->|i0].
  by rewrite !centered_top b eqxx ltnn ltnNge leqnSn /=; ring.
have [a c] := (ltn_ord i, ltnW (ltn_ord i)).
rewrite !centered_low // /contrast !ltnNge c (leq_trans c (leqnSn _)) !gtn_eqF ?mul0r ?subrr //.
Qed.

Lemma rated_liftable (w : R) : liftable_neighbors w (rated false) (rated true).
Proof.
split; try exact/orthogonal_liftable/rated_orthogonal; last exact: rated_neighbors.
by move=> i j; split; exact: rated_range.
Qed.

(* So any event that holds where all of R~ l = 0, and only where row i of it is 0, tells the datasets apart. *)
Lemma sketch_refutes w r (i : 'I_r) (e delta : R) (E : 'M[R]_(r, m) -> bool) lift : 0 < w -> lifting w lift -> delta < 1 ->
  (forall Z, Z *m difference = 0 -> E Z) -> (forall Z, E Z -> (Z *m difference) i ord0 = 0) ->
  ~ (sketch_chance (lift (C false)) E <= (expR e)%:E * sketch_chance (lift (C true)) E + delta%:E)%E.
Proof.
move=> w0 lL d1 HE HE'; apply/negP; rewrite -ltNge.
have null more := same_null w0 difference (rated_orthogonal more) (lL _ (orthogonal_liftable w (rated_orthogonal more))).
have R1l : lift (C false) *m difference = 0.
  by apply/eqP; rewrite null; apply/eqP/matrixP => k l; rewrite [l]ord1 rated_difference andbF mxE.
have -> : sketch_chance (lift (C false)) E = 1%E.
  by apply: chance_all => zs; apply: HE; rewrite -scalemxAl -mulmxA R1l mulmx0 scaler0.
have -> : sketch_chance (lift (C true)) E = 0%E; last by rewrite mule0 add0e lte_fin.
have /matrix0Pn[k [l ck]] : lift (C true) *m difference != 0.
  rewrite null; apply/eqP => /matrixP /(_ ord0 ord0).
  by rewrite rated_difference mxE => /eqP; rewrite oner_eq0.
rewrite [l]ord1 in ck; set c := lift (C true) *m difference in ck.
have place (j : 'I_n.+1) : (i * n.+1 + j < r * n.+1)%N.
  by rewrite (@leq_trans (i.+1 * n.+1)) ?leq_mul2r ?ltn_ord ?orbT // mulSn addnC ltn_add2r.
pose u (a : nat) := \sum_(j < n.+1) (a == i * n.+1 + j)%N%:R * c j ord0.
apply/eqP; rewrite eq_le chance_ge0 andbT -(@chance_linear R (r * n.+1) u 0); last first.
  exists (i * n.+1 + k)%N => //; rewrite /u (eq_bigr (fun j => (j == k)%:R * c j ord0)) ?pick // => j _.
  by rewrite eqn_add2l eq_sym.
apply: chance_mono => zs /HE'; rewrite -scalemxAl mxE -mulmxA -/c mxE => /eqP.
have q0 : Num.sqrt r%:R != 0 :> R by rewrite sqrtr_eq0 -ltNge ltr0n (leq_trans _ (ltn_ord i)).
rewrite mulf_eq0 invr_eq0 (negbTE q0) /= => /eqP z0; apply/eqP; rewrite -[RHS]z0.
under eq_bigr do rewrite /u mulr_suml; rewrite exchange_big; apply: eq_bigr => j _; rewrite mxE.
rewrite (eq_bigr (fun a : 'I_(r * n.+1) => (a == Ordinal (place j))%:R * (nth 0 zs a * c j ord0))) => [|a _].
  by rewrite pick.
by rewrite -mulrA [c _ _ * _]mulrC.
Qed.
End Witness.

Lemma CD_T52_proof : CD_T52.
Proof.
move=> R w eps delta r [//|n] m lift w0 d1 r0 _ nm lL H.
apply: (@sketch_refutes _ _ _ nm w _ (Ordinal r0) _ _ _ _ w0 lL d1 _ _ (H _ _ (rated_liftable nm w) (difference R nm))).
  by move=> Z ->.
by move=> Z /eqP ->; rewrite mxE.
Qed.

Lemma CD_T51_proof : CD_T51.
Proof.
move=> R w eps delta r [//|n] m i lift w0 d1 _ nm lL H.
apply: (@sketch_refutes _ _ _ nm w _ i _ _ _ _ w0 lL d1 _ _ (H _ _ (rated_liftable nm w) (difference R nm))).
  by move=> Z Zl; rewrite -row_mul Zl row0.
by move=> Z; rewrite -row_mul => /eqP/matrixP /(_ ord0 ord0); rewrite !mxE.
Qed.
