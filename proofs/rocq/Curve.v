(* The privacy curve of the determinantal point process: one coin. *)
From Dpassay Require Import Prelude Statements Determinant Determinantal.
Import Statements.Determinantal.

(* Two laws whose ratio is (1 + y t)/(1 + b), with 0 <= y t <= a. *)
Section TwoPoints.
Variables (R : realType) (T : finType) (P y : T -> R) (a b r q v : R).
Hypotheses (P0 : forall t, 0 <= P t) (P1 : \sum_t P t = 1) (y0 : forall t, 0 <= y t) (ya : forall t, y t <= a).
Hypotheses (Pb : \sum_t P t * y t = b) (r1 : 1 <= r) (qb : (1 - q) * a <= b) (v1 : v <= 1).
Hypothesis (vb : v <= (1 + b)^-1).

Let b0 : 0 <= b. Proof. by rewrite -Pb sumr_ge0 // => t _; rewrite mulr_ge0. Qed.
Let ba : b <= a.
Proof.
rewrite -Pb -[X in _ <= X]mul1r -P1 mulr_suml; apply: ler_sum => t _.
by rewrite ler_wpmul2l.
Qed.
Let a0 : 0 <= a. Proof. exact: le_trans b0 ba. Qed.
Let c0 : 0 < 1 + b. Proof. by rewrite ltr_paddr ?ltr01. Qed.
Let r0 : 0 <= r. Proof. exact: le_trans ler01 r1. Qed.
Let u := (1 + b)^-1.
Let u0 : 0 < u. Proof. by rewrite invr_gt0. Qed.
Let u1 : u <= 1. Proof. by rewrite invf_le1 // ler_addl. Qed.
Let p := b / a.
Let t0 : 0 <= 1 - p.
Proof.
rewrite subr_ge0 /p; case: (ltrgt0P a) a0 => // [a_gt0 _|-> _]; last by rewrite invr0 mulr0 ler01.
by rewrite ler_pdivr_mulr // mul1r.
Qed.

Lemma no_gain (f : T -> R) (E : {set T}) : (forall t, f t <= 0) -> \sum_(t in E) P t * f t <= 0.
Proof. by move=> H; rewrite -oppr_ge0 -sumrN sumr_ge0 // => t _; rewrite -mulrN mulr_ge0 // oppr_ge0. Qed.

Lemma chord (f : T -> R) (E : {set T}) (g c d : R) :
  0 <= g -> (forall t, f t <= (c + d * y t) * g) -> (forall t, 0 <= c + d * y t) ->
  \sum_(t in E) P t * f t <= (c + d * b) * g.
Proof.
move=> g0 H H0; apply: (@le_trans _ _ (\sum_t P t * ((c + d * y t) * g))).
  rewrite [X in _ <= X](bigID (mem E)) /= -[X in X <= _]addr0 ler_add //.
    by apply: ler_sum => t _; rewrite ler_wpmul2l.
  by apply: sumr_ge0 => t _; rewrite !mulr_ge0.
under eq_bigr do rewrite mulrA mulrDr mulrCA [P _ * c]mulrC.
by rewrite -mulr_suml big_split /= -!mulr_sumr P1 Pb mulr1.
Qed.

Lemma two_up (E : {set T}) :
  \sum_(t in E) P t * ((1 + y t) * u - r) <= Num.max 0 (1 - q * v - r * (1 - q)).
Proof.
rewrite le_maxr; case: (leP ((1 + a) * u) r) => G.
  rewrite no_gain // => t; rewrite subr_le0; apply: le_trans G.
  by rewrite ler_pmul2r // ler_add2l.
have a_gt0 : 0 < a.
  rewrite lt_neqAle a0 andbT eq_sym; apply: contraTneq G => a00.
  by rewrite -leNgt a00 addr0 mul1r; exact: le_trans u1 r1.
apply/orP; right; apply: (@le_trans _ _ ((0 + a^-1 * b) * ((1 + a) * u - r))).
  apply: chord => [|t|t]; first by rewrite subr_ge0 ltW.
    rewrite -subr_ge0 [X in 0 <= X](_ : _ = (1 - y t / a) * (r - u)).
      by rewrite mulr_ge0 ?subr_ge0 ?ler_pdivr_mulr ?mul1r // (le_trans u1 r1).
    by field; rewrite gt_eqF.
  by rewrite add0r mulr_ge0 // invr_ge0.
have -> : (0 + a^-1 * b) * ((1 + a) * u - r) = 1 - (1 - p) * u - r * p.
  by rewrite /u /p; field; rewrite !gt_eqF.
have tq : 1 - p <= q by rewrite ler_subl_addr -ler_subl_addl /p ler_pdivl_mulr.
rewrite -subr_ge0 [X in 0 <= X](_ : _ = (1 - p) * (u - v) + (q - (1 - p)) * (r - v)); last by ring.
by apply: addr_ge0; apply: mulr_ge0 => //; rewrite subr_ge0 // (le_trans v1 r1).
Qed.

Lemma two_down (E : {set T}) :
  \sum_(t in E) P t * (1 - r * ((1 + y t) * u)) <= Num.max 0 (q * (1 - r * v)).
Proof.
rewrite le_maxr; case: (leP 1 (r * u)) => G.
  rewrite no_gain // => t; rewrite subr_le0; apply: le_trans G _.
  by rewrite ler_wpmul2l // -[X in X <= _]mul1r ler_pmul2r // ler_addl.
have b_gt0 : 0 < b.
  rewrite lt_neqAle b0 andbT eq_sym; apply: contraTneq G => b00.
  by rewrite -leNgt /u b00 addr0 invr1 mulr1.
have a_gt0 : 0 < a by exact: lt_le_trans b_gt0 ba.
apply/orP; right; apply: (@le_trans _ _ ((1 + (- a^-1) * b) * (1 - r * u))).
  apply: chord => [|t|t]; first by rewrite subr_ge0 ltW.
    rewrite -subr_ge0 [X in 0 <= X](_ : _ = (y t / a) * (r * ((1 + a) * u) - 1)).
      rewrite mulr_ge0 ?divr_ge0 // subr_ge0 mulrA ler_pdivl_mulr // mul1r.
      by rewrite -[X in X <= _]mul1r; apply: ler_pmul; rewrite ?ler01 ?ler_add2l // ltW.
    by field; rewrite gt_eqF.
  by rewrite mulNr subr_ge0 mulrC ler_pdivr_mulr // mul1r.
have tq : 1 - p <= q by rewrite ler_subl_addr -ler_subl_addl /p ler_pdivl_mulr.
rewrite mulNr [a^-1 * b]mulrC -/p; apply: ler_pmul => //; first by rewrite subr_ge0 ltW.
by rewrite ler_add2l ler_opp2 ler_wpmul2l.
Qed.
End TwoPoints.

Section Curve.
Variable R : realType.

Lemma sum_gain n c (L : 'M[R]_n) x : 0 < c -> above c L -> \sum_Y dpp L Y * gainY L x Y = loss L x.
Proof.
move=> c0 HL; have l0 : 0 < 1 + loss L x by rewrite ltr_paddr ?ltr01 ?(loss_ge0 _ c0 HL).
have HL' : above c (L + x^T *m x).
  have := above_kernel 0 [:: x]; rewrite kernel_cons kernel_nil raddf0 add0r => -[_ H].
  split=> [|v]; first by rewrite linearD /= HL.1 trmx_mul trmxK.
  by rewrite bilDm -[X in X <= _]addr0 ler_add ?HL.2 //; apply: le_trans (H v); rewrite mul0r.
have := dpp_sum1 c0 HL'; under eq_bigr do rewrite (dpp_row _ c0 HL) mulrA.
rewrite -mulr_suml => /(canRL (mulfK _)); rewrite mul1r => H.
have : (1 + loss L x)^-1 != 0 by rewrite invr_eq0 gt_eqF.
by move/H; under eq_bigr do rewrite mulrDr mulr1; rewrite big_split /= (dpp_sum1 c0 HL) invrK => /addrI.
Qed.

(* Both orders of a pair of neighbors. *)
Section Pair.
Variables (n : nat) (s N eps delta : R) (L : 'M[R]_n) (x : 'rV[R]_n).
Hypotheses (s0 : 0 < s) (HL : above s L) (xN : norm2 x <= N) (e0 : 0 <= eps).
Hypothesis Hd : delta_star s N eps <= delta.
Let N0 : 0 <= N. Proof. exact: le_trans (norm2_ge0 _) xN. Qed.
Let s1 : 0 < 1 + s. Proof. by rewrite addr_gt0 ?ltr01. Qed.
Let s2 : 0 < 1 + s + N. Proof. exact: ltr_paddr. Qed.
Let d0 : 0 < 1 + N / (1 + s). Proof. by rewrite ltr_paddr ?ltr01 // divr_ge0 // ltW. Qed.
Let r1 : 1 <= expR eps. Proof. by rewrite -(expR0 R) ler_expR. Qed.
Let qb : (1 - (1 + s)^-1) * gain L x <= loss L x.
Proof.
rewrite (_ : 1 - _ = s / (1 + s)); first exact: loss_ge s0 HL.
by field; rewrite gt_eqF.
Qed.
Let v1 : (1 + N / (1 + s))^-1 <= 1.
Proof. by rewrite invf_le1 // ler_addl divr_ge0 // ltW. Qed.
Let l0 : 0 < 1 + loss L x. Proof. by rewrite ltr_paddr ?ltr01 ?(loss_ge0 _ s0 HL). Qed.
Let vb : (1 + N / (1 + s))^-1 <= (1 + loss L x)^-1.
Proof. by rewrite lef_pinv ?posrE // ler_add2l (loss_leN s0 HL xN). Qed.

Lemma pair_up (E : {set {set 'I_n}}) :
  \sum_(Y in E) dpp (L + x^T *m x) Y <= expR eps * (\sum_(Y in E) dpp L Y) + delta.
Proof.
rewrite -ler_subl_addl mulr_sumr -sumrB; apply: le_trans Hd.
apply: (@le_trans _ _ (\sum_(Y in E) dpp L Y * ((1 + gainY L x Y) * (1 + loss L x)^-1 - expR eps))).
  by apply: ler_sum => Y _; rewrite (dpp_row _ s0 HL) mulrBr [expR _ * _]mulrC.
apply: le_trans (two_up _ (dpp_sum1 s0 HL) _ _ (sum_gain _ s0 HL) r1 qb v1 vb E) _.
- by move=> Y; exact: ltW (dpp_gt0 _ s0 HL).
- by move=> Y; exact: gainY_ge0 s0 HL _.
- by move=> Y; exact: gainY_le s0 HL _.
rewrite /delta_star (_ : 1 - _ - _ = (s + N) / (1 + s + N) - expR eps * (s / (1 + s))).
  by rewrite le_maxl !le_maxr !lexx /= orbT.
by field; rewrite !gt_eqF //= addrAC.
Qed.

Lemma pair_down (E : {set {set 'I_n}}) :
  \sum_(Y in E) dpp L Y <= expR eps * (\sum_(Y in E) dpp (L + x^T *m x) Y) + delta.
Proof.
rewrite -ler_subl_addl mulr_sumr -sumrB; apply: le_trans Hd.
apply: (@le_trans _ _ (\sum_(Y in E) dpp L Y * (1 - expR eps * ((1 + gainY L x Y) * (1 + loss L x)^-1)))).
  by apply: ler_sum => Y _; rewrite (dpp_row _ s0 HL) mulrBr mulr1 mulrCA.
apply: le_trans (two_down _ (dpp_sum1 s0 HL) _ _ (sum_gain _ s0 HL) r1 qb vb E) _.
- by move=> Y; exact: ltW (dpp_gt0 _ s0 HL).
- by move=> Y; exact: gainY_ge0 s0 HL _.
- by move=> Y; exact: gainY_le s0 HL _.
rewrite /delta_star (_ : (1 + s)^-1 * _ = 1 / (1 + s) - expR eps / (1 + s + N)).
  by rewrite le_maxl !le_maxr !lexx /= !orbT.
by field; rewrite !gt_eqF //= addrAC.
Qed.
End Pair.

Section Upper.
Variables (n : nat) (s N : R) (rows : pred 'rV[R]_n) (M : seq 'rV[R]_n -> law R (subset_of n)).
Hypotheses (s0 : 0 < s) (rowsN : forall x, rows x -> norm2 x <= N).
Hypothesis HM : samples M (fun D => dpp (kernel s D)).

Lemma chanceE D E : chance (M D) E = \sum_(Y in E) dpp (kernel s D) Y.
Proof. by apply: eq_bigr => Y _; rewrite HM. Qed.

Lemma curve_upper eps delta : 0 <= eps -> delta_star s N eps <= delta -> dp_delta (add_remove rows) eps delta M.
Proof.
move=> e0 Hd D E [aD [aE H]] A; rewrite !chanceE.
case: H => /kernel_more m.
- by have [x /rowsN xN ->] := m s _ aE; exact: pair_down (above_kernel _ _) xN e0 Hd A.
- by have [x /rowsN xN ->] := m s _ aD; exact: pair_up (above_kernel _ _) xN e0 Hd A.
Qed.
End Upper.

(* The law of [0 in Y] on the empty dataset and on that with one row on item 0. *)
Lemma norm_sub n Y (x : 'rV[R]_n) : norm2 (subrow Y x) = \sum_(i in Y) x 0 i ^+ 2.
Proof.
rewrite (big_enum_val (fun i => x 0 i ^+ 2)) /=.
by apply: eq_bigr => i _; rewrite mxE.
Qed.

Lemma norm_sub_axis n (B : R) (Y : {set 'I_n.+1}) : norm2 (subrow Y (axis n B)) = (0 \in Y)%:R * B ^+ 2.
Proof.
rewrite norm_sub; case: (boolP (0 \in Y)) => /= Y0; last first.
  rewrite mul0r big1 // => i iY; have i0 : i != 0 by apply: contraNneq Y0 => <-.
  by rewrite !mxE (negbTE i0) andbF mulr0 expr0n.
rewrite mul1r (bigD1 0) //= big1 ?addr0 => [|i /andP[_ /negbTE i0]]; first by rewrite !mxE mulr1.
by rewrite !mxE i0 andbF mulr0 expr0n.
Qed.

Lemma sub_scalar n (Y : {set 'I_n}) (c : R) : sub Y c%:M = c%:M.
Proof. by apply/matrixP => i j; rewrite !mxE (inj_eq enum_val_inj). Qed.

Lemma gainY_axis n (s B : R) (Y : {set 'I_n.+1}) : 0 < s -> gainY s%:M (axis n B) Y = (0 \in Y)%:R * (B ^+ 2 / s).
Proof. by move=> s0; rewrite /gainY sub_scalar gain_scalar ?gt_eqF // norm_sub_axis mulrA. Qed.

Definition heads n : {set {set 'I_n.+1}} := [set Y : {set 'I_n.+1} | 0 \in Y].

Lemma heads_before n (s : R) : 0 < s -> \sum_(Y in heads n) dpp (s%:M : 'M[R]_n.+1) Y = s / (1 + s).
Proof.
move=> s0; have s1 : 1 + s != 0 by rewrite gt_eqF // addr_gt0 ?ltr01.
have := sum_gain (axis n 1) s0 (above_scalar n.+1 s).
rewrite loss_scalar // norm_axis expr1n => H.
have sn : s != 0 by rewrite gt_eqF.
have E : \sum_Y dpp (s%:M : 'M[R]_n.+1) Y * gainY s%:M (axis n 1) Y = (\sum_(Y in heads n) dpp (s%:M : 'M[R]_n.+1) Y) / s.
  rewrite mulr_suml [LHS](bigID (mem (heads n))) /= [X in _ + X]big1 ?addr0.
    by apply: eq_bigr => Y; rewrite inE => Y0; rewrite gainY_axis // Y0 mul1r expr1n mul1r.
  by move=> Y; rewrite inE => /negbTE Y0; rewrite gainY_axis // Y0 mul0r mulr0.
by move: H; rewrite E => /(canRL (mulfVK sn)) ->; rewrite mul1r mulrC.
Qed.

Lemma heads_after n (s B : R) : 0 < s ->
  \sum_(Y in heads n) dpp (s%:M + (axis n B)^T *m axis n B) Y = (s + B ^+ 2) / (1 + (s + B ^+ 2)).
Proof.
move=> s0; have s1 : 0 < 1 + s by rewrite addr_gt0 ?ltr01.
have B0 := sqr_ge0 B.
transitivity (s / (1 + s) * ((1 + B ^+ 2 / s) / (1 + B ^+ 2 / (1 + s)))).
  rewrite -(heads_before n s0) mulr_suml; apply: eq_bigr => Y; rewrite inE => Y0.
  by rewrite (dpp_row _ s0 (above_scalar _ _)) gainY_axis // Y0 mul1r loss_scalar // norm_axis.
by field; rewrite !gt_eqF //= ?addrA ltr_paddr // ?divr_ge0 // ltW.
Qed.

Lemma chanceC (T : finType) (mu : law R T) E : chance mu (~: E) = 1 - chance mu E.
Proof.
rewrite /chance -(pr_sum1 mu) [X in _ = X - _](bigID (mem E)) /= [X in _ = X - _]addrC addrK.
by apply: eq_bigl => t; rewrite inE.
Qed.

(* A negative epsilon is a positive one in the other direction. *)
Lemma dp_flip (D : Type) (T : finType) (nb : D -> D -> Prop) e d (M : D -> law R T) :
  (forall x y, nb x y -> nb y x) -> dp_delta nb e d M -> dp_delta nb (- e) ((d + expR e - 1) * expR (- e)) M.
Proof.
move=> sym H x y /sym nyx E; have := H _ _ nyx (~: E); rewrite !chanceC => Hc.
rewrite [expR _ * _]mulrC -mulrDl expRN ler_pdivl_mulr ?expR_gt0 // -subr_ge0.
by rewrite -subr_ge0 in Hc; apply: le_trans Hc _; rewrite le_eqVlt; apply/orP; left; apply/eqP; ring.
Qed.

Lemma dp_flipE (D : Type) (T : finType) (nb : D -> D -> Prop) e d (M : D -> law R T) :
  (forall x y, nb x y -> nb y x) -> dp_delta nb e d M <-> dp_delta nb (- e) ((d + expR e - 1) * expR (- e)) M.
Proof.
move=> sym; split; first exact: dp_flip.
move/(dp_flip sym); rewrite opprK; congr dp_delta.
by rewrite expRN; field; rewrite gt_eqF ?expR_gt0.
Qed.

Definition coin_law_ge0 (o : R) : 0 < o -> forall b, 0 <= coin o b.
Proof. by move=> o0 []; rewrite /= divr_ge0 ?ler01 // ltW // addr_gt0 ?ltr01. Qed.
Lemma coin_sum1 (o : R) : 0 < o -> \sum_b coin o b = 1.
Proof. by move=> o0; rewrite big_bool /= -mulrDl addrC divff // gt_eqF // addr_gt0 ?ltr01. Qed.
Definition coin_law o (o0 : 0 < o) : law R [finType of bool] := Law (coin_law_ge0 o0) (coin_sum1 o0).

Section Lower.
Variables (n : nat) (s B : R) (M : seq 'rV[R]_n.+1 -> law R (subset_of n.+1)) (C : bool -> law R [finType of bool]).
Let N := B ^+ 2.
Hypotheses (s0 : 0 < s) (HM : samples M (fun D => dpp (kernel s D))).
Hypothesis HC : samples C (fun joined => coin (if joined then s + N else s)).
Let nb := add_remove (@real_rows R n.+1 N).
Let row : 'rV[R]_n.+1 := axis n B.
Let s1 : 0 < 1 + s. Proof. by rewrite addr_gt0 ?ltr01. Qed.
Let N0 : 0 <= N. Proof. exact: sqr_ge0. Qed.
Let s2 : 0 < 1 + s + N. Proof. exact: ltr_paddr. Qed.

Definition data (joined : bool) : seq 'rV[R]_n.+1 := if joined then [:: row] else [::].
Definition event (E : {set bool}) : {set {set 'I_n.+1}} := [set Y : {set 'I_n.+1} | (0 \in Y) \in E].

Lemma chance_heads j : chance (M (data j)) (heads n) = coin (if j then s + N else s) true.
Proof.
rewrite (chanceE HM) /data; case: j; last by rewrite kernel_nil heads_before.
by rewrite kernel_cons kernel_nil heads_after.
Qed.

Lemma chance_coin j E : chance (C j) E = chance (M (data j)) (event E).
Proof.
have o0 : 0 < (if j then s + N else s) by case: (j) => //; rewrite ltr_paddr.
have HC0 : coin (if j then s + N else s) false = 1 - coin (if j then s + N else s) true.
  by have := coin_sum1 o0; rewrite big_bool => /(canRL (addKr _)) ->; rewrite addrC.
have -> : chance (M (data j)) (event E) =
    (true \in E)%:R * chance (M (data j)) (heads n) + (false \in E)%:R * chance (M (data j)) (~: heads n).
  rewrite /chance !mulr_sumr big_mkcond [X in _ = X + _]big_mkcond [X in _ = _ + X]big_mkcond -big_split /=.
  apply: eq_bigr => Y _; rewrite !inE; case: (0 \in Y); case: (_ \in E);
    by rewrite ?mul1r ?mul0r ?addr0 ?add0r.
have sum2 (F : bool -> R) : \sum_b F b = F true + F false by exact: big_bool.
rewrite chanceC chance_heads -HC0 /chance big_mkcond sum2 !HC.
by case: (true \in E); case: (false \in E); rewrite ?mul1r ?mul0r ?addr0 ?add0r.
Qed.

Lemma neighbors_data j k : j <> k -> nb (data j) (data k).
Proof.
have rr : real_rows N row by rewrite /real_rows norm_axis.
have [H1 H2] := add_remove1 rr.
by case: j; case: k.
Qed.

Lemma lower_coin eps delta : dp_delta nb eps delta M -> dp_delta (fun d e => d <> e) eps delta C.
Proof. by move=> H j k jk E; rewrite !chance_coin; apply: H; exact: neighbors_data. Qed.

Lemma lower_delta eps delta : dp_delta (fun d e => d <> e) eps delta C -> delta_star s N eps <= delta.
Proof.
move=> H; have nc (b c : bool) : (b != c) = true -> b <> c by move/eqP.
have p0 := H true false _ set0; have p1 := H true false _ [set true]; have p2 := H false true _ [set false].
rewrite /delta_star !le_maxl; apply/and3P; split.
- by move: p0; rewrite /chance !big_set0 mulr0 add0r; exact.
- rewrite ler_subl_addl; have := p1 (nc true false erefl); rewrite !chance1 !HC /= -addrA //.
- rewrite ler_subl_addl; have := p2 (nc false true erefl); rewrite !chance1 !HC /= addrA mul1r.
  by rewrite mul1r.
Qed.

(* The event none, heads or tails, whichever is the largest of delta_star's three numbers. *)
Lemma curve_attained eps :
  exists D E A, nb D E /\ chance (M D) A = expR eps * chance (M E) A + delta_star s N eps.
Proof.
suff [j [k [A [jk H]]]] : exists j k A, j <> k /\ chance (C j) A = expR eps * chance (C k) A + delta_star s N eps.
  by exists (data j), (data k), (event A); rewrite -!chance_coin; split=> //; exact: neighbors_data.
rewrite /delta_star /Num.max.
case: (_ < _); last by exists true, false, set0; split=> //; rewrite /chance !big_set0 mulr0 add0r.
case: (_ < _).
- by exists false, true, [set false]; split=> //; rewrite !chance1 !HC /= [1 + (s + N)]addrA mulrA mulr1 [RHS]addrC subrK.
- by exists true, false, [set true]; split=> //; rewrite !chance1 !HC /= [1 + (s + N)]addrA [RHS]addrC subrK.
Qed.

Lemma curve_exact eps :
  (forall delta, dp_delta nb eps delta M <-> dp_delta (fun d e => d <> e) eps delta C) /\
  (0 <= eps -> (forall delta, dp_delta nb eps delta M <-> delta_star s N eps <= delta) /\
     exists D E A, nb D E /\ chance (M D) A = expR eps * chance (M E) A + delta_star s N eps).
Proof.
have pos e d : 0 <= e -> delta_star s N e <= d -> dp_delta nb e d M.
  by move=> e0; apply: (curve_upper s0 _ HM e0).
split=> [delta|e0]; last first.
  split=> [delta|]; last exact: curve_attained.
  by split=> [/lower_coin/lower_delta|]; last exact: pos.
split; first exact: lower_coin.
case: (leP 0 eps) => e0 H; first by apply: pos => //; exact: lower_delta.
have symC (j k : bool) : j <> k -> k <> j by move=> jk kj; apply: jk.
have symM D E : nb D E -> nb E D by case=> aD [aE [o|o]]; split=> //; split=> //; [right|left].
apply/(dp_flipE _ _ _ symM); apply: pos; first by rewrite oppr_ge0 ltW.
by apply: lower_delta; exact: dp_flip.
Qed.
End Lower.

End Curve.

Theorem dp_delta_rep : DP_DELTA_REP.
Proof.
move=> R n s B s0; exists (dpp_law s0) => //.
have o0 (j : bool) : 0 < (if j then s + B ^+ 2 else s) by case: j; rewrite // ltr_paddr ?sqr_ge0.
exists (fun j => coin_law (o0 j)) => //; split=> [n0|eps delta e0].
  by case: n n0 => // n _ eps; apply: curve_exact.
by apply: curve_upper => // x; exact: norm_binary.
Qed.
