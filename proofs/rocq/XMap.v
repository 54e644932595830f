(* Proofs of the claims on X-Map: similarities, replacement selection, and counterexamples to Theorems 3 and 4. *)
From Dpassay Require Import Prelude Statements RatingCollection RatingErrors RatingTheorem3.
Import Statements.Finite.

Section Leaving.
Variables (R : realType) (U I : finType) (D : ratings R U I).

Lemma centered_leaves x y i : centered (leaves x D) y i = if y == x then 0 else centered D y i.
Proof. by rewrite /centered /user_mean /leaves; case: (y == x). Qed.

Lemma dot_leaves x i j : dot (leaves x D) i j = dot D i j - centered D x i * centered D x j.
Proof.
rewrite /dot [X in _ = X - _](bigD1 x) //= (bigD1 x) //= !centered_leaves eqxx mul0r add0r addrAC subrr add0r.
by apply: eq_bigr => y /negbTE yx; rewrite !centered_leaves yx.
Qed.

Lemma norm_leaves c x i j : norm c (leaves x D) i j <= norm c D i j.
Proof.
rewrite /norm ler_wsqrtr // [X in X <= _]big_mkcond [X in _ <= X]big_mkcond /=; apply: ler_sum => y _.
rewrite centered_leaves /leaves; case: (y == x); rewrite ?expr0n /=; last by [].
by case: ifP => _; case: ifP => _; rewrite ?sqr_ge0.
Qed.

Lemma norm_ge0 c i j : 0 <= norm c D i j.
Proof. exact: sqrtr_ge0. Qed.

End Leaving.

Lemma XM_T2_NORM_proof : XM_T2_NORM.
Proof. by move=> R c U I D i j x; rewrite /lengths ler_pmul ?norm_ge0 ?norm_leaves. Qed.

Lemma dist_same_sign (R : realType) (a b : R) : 0 <= a * b -> `|a - b| <= Num.max `|a| `|b|.
Proof.
have pos (c d : R) : 0 <= c -> 0 <= d -> `|c - d| <= Num.max `|c| `|d|.
  move=> c0 d0; rewrite (ger0_norm c0) (ger0_norm d0) le_maxr.
  have [dc|cd] := leP d c; apply/orP; [left | right].
    by rewrite ger0_norm ?subr_ge0 // ler_subl_addr ler_addl.
  by rewrite ler0_norm ?subr_le0 ?(ltW cd) // opprB ler_subl_addr ler_addl.
have [a0|a0] := leP 0 a; have [b0|b0] := leP 0 b; first by move=> _; apply: pos.
- rewrite -[a * b]opprK -mulrN oppr_ge0 => ab; have nb : 0 < - b by rewrite oppr_gt0.
  have -> : a = 0 by apply: le_anti; rewrite a0 andbT -(pmulr_lle0 _ nb).
  by rewrite sub0r normrN le_maxr lexx orbT.
- rewrite -[a * b]opprK -mulNr oppr_ge0 => ab; have na : 0 < - a by rewrite oppr_gt0.
  have -> : b = 0 by apply: le_anti; rewrite b0 andbT -(pmulr_rle0 _ na).
  by rewrite subr0 le_maxr lexx.
move=> _; have -> : a - b = - ((- a) - (- b)) by ring.
by rewrite normrN -[`|a|]normrN -[`|b|]normrN; apply: pos; rewrite oppr_ge0 ltW.
Qed.

Lemma XM_T2_REP_proof : XM_T2_REP.
Proof.
move=> R c U I D i j x M N p change M0; pose d := dot D i j.
have MN : M <= N := XM_T2_NORM_proof c D i j x.
have N0 : 0 < N := lt_le_trans M0 MN.
have E : similarity c D i j - similarity c (leaves x D) i j = p / M - d * (1 - M / N) / M.
  rewrite /similarity dot_leaves -/M -/N -/p -/d; field.
  by rewrite !lt0r_neq0.
have q0 : 0 <= (1 - M / N) / M.
  by rewrite divr_ge0 ?(ltW M0) // subr_ge0 ler_pdivr_mulr // mul1r.
have E1 : `|p / M| = `|p| / M by rewrite normrM [X in _ * X]gtr0_norm ?invr_gt0.
have E2 : `|d * (1 - M / N) / M| = `|d| * (1 - M / N) / M by rewrite -[LHS]/(`|_|) -[d * _ / M]mulrA normrM (ger0_norm q0) mulrA.
rewrite /change E; split.
  by rewrite mulrDl -E1 -E2; apply: ler_norm_sub.
move=> pd; rewrite -E1 -E2.
have same : 0 <= (p / M) * (d * (1 - M / N) / M).
  have -> : (p / M) * (d * (1 - M / N) / M) = (p * d) * (M^-1 * ((1 - M / N) / M)) by ring.
  by rewrite mulr_ge0 // mulr_ge0 // invr_ge0 ltW.
exact: dist_same_sign.
Qed.

(* --- Counterexamples to Theorem 2 -------------------------------------------------------------------------------- *)

(* Ratings given as rows. *)
Definition table (R : realType) (u n : nat) (rows : seq (seq (option R))) : ratings R [finType of 'I_u] [finType of 'I_n] :=
  fun x i => nth None (nth [::] rows x) i.

Section Opposed.
Variable R : realType.
(* (4, 4, 1) and (5, 1, 3): centered (1, 1) and (2, -2) on the first two items. *)
Let A : ratings R _ _ := table (u := 2) (n := 3) [:: [:: Some 4%:R; Some 4%:R; Some 1]; [:: Some 5%:R; Some 1; Some 3%:R]].
Let u0 : 'I_2 := ord0.
Let u1 : 'I_2 := lift ord0 ord0.
Let i0 : 'I_3 := ord0.
Let i1 : 'I_3 := lift ord0 ord0.

Lemma A00 : centered A u0 i0 = 1.
Proof. by rewrite /centered /user_mean /= big_mkcond [X in _ / X]big_mkcond !big_ord_recl !big_ord0 /=; field. Qed.
Lemma A01 : centered A u0 i1 = 1.
Proof. by rewrite /centered /user_mean /= big_mkcond [X in _ / X]big_mkcond !big_ord_recl !big_ord0 /=; field. Qed.
Lemma A10 : centered A u1 i0 = 2%:R.
Proof. by rewrite /centered /user_mean /= big_mkcond [X in _ / X]big_mkcond !big_ord_recl !big_ord0 /=; field. Qed.
Lemma A11 : centered A u1 i1 = - 2%:R.
Proof. by rewrite /centered /user_mean /= big_mkcond [X in _ / X]big_mkcond !big_ord_recl !big_ord0 /=; field. Qed.

Lemma A_dot : dot A i0 i1 = - 3%:R.
Proof. by rewrite /dot !big_ord_recl big_ord0 A00 A01 A10 A11; ring. Qed.

Lemma sqrt_sqr (a : R) : 0 <= a -> Num.sqrt a * Num.sqrt a = a.
Proof. by move=> a0; rewrite -expr2 sqr_sqrtr. Qed.

Lemma A_lengths c : lengths c A i0 i1 = 5%:R.
Proof.
have n0 : norm c A i0 i1 = Num.sqrt 5%:R.
  by congr Num.sqrt; rewrite big_mkcond !big_ord_recl big_ord0 /= !orbT A00 A10; ring.
have n1 : norm c A i1 i0 = Num.sqrt 5%:R.
  by congr Num.sqrt; rewrite big_mkcond !big_ord_recl big_ord0 /= !orbT A01 A11; ring.
by rewrite /lengths n0 n1 sqrt_sqr // ler0n.
Qed.

Lemma A_lengths0 c : lengths c (leaves u0 A) i0 i1 = 4%:R.
Proof.
have n0 : norm c (leaves u0 A) i0 i1 = Num.sqrt 4%:R.
  by congr Num.sqrt; rewrite big_mkcond !big_ord_recl big_ord0 /= !centered_leaves /= A10 orbT; case: (c) => /=; ring.
have n1 : norm c (leaves u0 A) i1 i0 = Num.sqrt 4%:R.
  by congr Num.sqrt; rewrite big_mkcond !big_ord_recl big_ord0 /= !centered_leaves /= A11 orbT; case: (c) => /=; ring.
by rewrite /lengths n0 n1 sqrt_sqr // ler0n.
Qed.

Lemma A_lengths1 c : lengths c (leaves u1 A) i0 i1 = 1.
Proof.
have n0 : norm c (leaves u1 A) i0 i1 = Num.sqrt 1.
  by congr Num.sqrt; rewrite big_mkcond !big_ord_recl big_ord0 /= !centered_leaves /= A00 orbT; case: (c) => /=; ring.
have n1 : norm c (leaves u1 A) i1 i0 = Num.sqrt 1.
  by congr Num.sqrt; rewrite big_mkcond !big_ord_recl big_ord0 /= !centered_leaves /= A01 orbT; case: (c) => /=; ring.
by rewrite /lengths n0 n1 sqrt_sqr // ler01.
Qed.

Lemma user2 (y : 'I_2) : y = u0 \/ y = u1.
Proof. by case: y => [[|[|m]] hm] //; [left|right]; apply: val_inj. Qed.

Lemma A_defined c : SS_defined c A i0 i1.
Proof.
move=> y _ _; case: (user2 y) => ->; first by rewrite A_lengths0 ltr0n.
by rewrite A_lengths1 ltr01.
Qed.

Lemma A_sim c : similarity c A i0 i1 = - 3%:R / 5%:R.
Proof. by rewrite /similarity A_dot A_lengths. Qed.
Lemma A_dot0 : dot (leaves u0 A) i0 i1 = - 4%:R.
Proof. by rewrite dot_leaves A_dot A00 A01; ring. Qed.
Lemma A_dot1 : dot (leaves u1 A) i0 i1 = 1.
Proof. by rewrite dot_leaves A_dot A10 A11; ring. Qed.
Lemma A_sim0 c : similarity c (leaves u0 A) i0 i1 = - 1.
Proof. by rewrite /similarity A_dot0 A_lengths0; field. Qed.
Lemma A_sim1 c : similarity c (leaves u1 A) i0 i1 = 1.
Proof. by rewrite /similarity A_dot1 A_lengths1; field. Qed.

Lemma i01 : i0 != i1. Proof. by []. Qed.

Lemma XM_T2_at (c : bool) :
  ~ (forall (U I : finType) (D : ratings R U I) (i j : I) (x : U), i != j -> D x i -> D x j -> SS_defined c D i j ->
       at_most_SS c D i j `|similarity c D i j - similarity c (leaves x D) i j|).
Proof.
move=> /(_ _ _ A i0 i1 u1 i01 isT isT (A_defined c)) [y [_ [_]]].
rewrite A_sim A_sim1.
have -> : `|- 3%:R / 5%:R - 1| = 8%:R / 5%:R :> R.
  have -> : - 3%:R / 5%:R - 1 = - (8%:R / 5%:R) :> R by field.
  by rewrite normrN ger0_norm // divr_ge0 ?ler0n.
have small (a b : R) : 0 < a - b -> ~ a <= b by rewrite subr_gt0 ltNge => /negP.
case: (user2 y) => -> [].
- rewrite /first_term A00 A01 A_lengths0; apply: small.
  have -> : 8%:R / 5%:R - 1 * 1 / 4%:R = 27%:R / 20%:R :> R by field.
  by rewrite divr_gt0 ?ltr0n.
- rewrite /second_term A_dot A_lengths0 A_lengths; apply: small.
  have -> : 8%:R / 5%:R - (- 3%:R / 4%:R - - 3%:R / 5%:R) = 35%:R / 20%:R :> R by field.
  by rewrite divr_gt0 ?ltr0n.
- rewrite /first_term A10 A11 A_lengths1; apply: small.
  have -> : 8%:R / 5%:R - 2%:R * - 2%:R / 1 = 28%:R / 5%:R :> R by field.
  by rewrite divr_gt0 ?ltr0n.
rewrite /second_term A_dot A_lengths1 A_lengths; apply: small.
have -> : 8%:R / 5%:R - (- 3%:R / 1 - - 3%:R / 5%:R) = 20%:R / 5%:R :> R by field.
by rewrite divr_gt0 ?ltr0n.
Qed.

Lemma XM_T2_P_at (c : bool) :
  ~ (forall (U I : finType) (D : ratings R U I) (i j : I) (x : U), i != j -> D x i -> D x j -> SS_defined c D i j ->
       let D' := leaves x D in
       dot D' i j * lengths c D i j <= dot D i j * lengths c D' i j ->
       similarity c D i j - similarity c D' i j <= first_term c D i j x).
Proof.
move=> /(_ _ _ A i0 i1 u0 i01 isT isT (A_defined c)) /=.
rewrite A_dot A_dot0 A_lengths A_lengths0 A_sim A_sim0 /first_term A00 A01 A_lengths0 => H.
have /H : - 4%:R * 5%:R <= - 3%:R * 4%:R :> R.
  apply: le_by (_ : _ = 8%:R) _; [by ring | exact: ler0n].
rewrite -subr_ge0 (_ : _ - _ = - (3%:R / 20%:R)); last by field.
by rewrite oppr_ge0 leNgt divr_gt0 ?ltr0n.
Qed.

Lemma XM_T2_M_at (c : bool) :
  ~ (forall (U I : finType) (D : ratings R U I) (i j : I) (x : U), i != j -> D x i -> D x j -> SS_defined c D i j ->
       let D' := leaves x D in
       dot D i j * lengths c D' i j <= dot D' i j * lengths c D i j ->
       similarity c D' i j - similarity c D i j <= second_term c D i j x).
Proof.
move=> /(_ _ _ A i0 i1 u1 i01 isT isT (A_defined c)) /=.
rewrite /second_term A_dot A_dot1 A_lengths A_lengths1 A_sim A_sim1 => H.
have /H : - 3%:R * 1 <= 1 * 5%:R :> R.
  apply: le_by (_ : _ = 8%:R) _; [by ring | exact: ler0n].
rewrite -subr_ge0 [X in 0 <= X](_ : _ = - 4%:R); last by field.
by rewrite oppr_ge0 leNgt ltr0n.
Qed.

End Opposed.

Lemma XM_T2_proof : XM_T2.
Proof. by move=> R c; apply: XM_T2_at. Qed.
Lemma XM_T2_P_proof : XM_T2_P.
Proof. by move=> R c; apply: XM_T2_P_at. Qed.
Lemma XM_T2_M_proof : XM_T2_M.
Proof. by move=> R c; apply: XM_T2_M_at. Qed.
