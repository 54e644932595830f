(* Proofs on RS, the accuracy of predictions, Lemma 2, and the algebra of PriCDR. *)
From Dpassay Require Import Prelude Statements RatingCollection RatingErrors RatingTheorem3 XMap Draws PPNS.
Import Statements.Finite.

Lemma CD_DEF_proof : CD_DEF.
Proof.
move=> R n m A B A01 B01 [i [j [_ [_ [ne [lt _]]]]]].
case: (A01 i j) ne lt => ->; case: (B01 i j) => ->; rewrite ?subrr ?subr0 ?sub0r ?normrN ?normr1 ?ltxx //.
Qed.

Lemma CD_CENTRE_proof : CD_CENTRE.
Proof.
move=> R n m A B [i0 [j0 [h H]]]; set c := A i0 j0 - B i0 j0 in h.
have m0 : (0 < m)%N by apply: leq_ltn_trans (ltn_ord j0).
have mR : m%:R != 0 :> R by rewrite pnatr_eq0 -lt0n.
pose v : 'rV[R]_m := \row_j (c * ((j == j0)%:R - m%:R^-1)).
exists i0, v; split.
  apply/matrixP => i j; rewrite !mxE big_ord1 !mxE eqxx andbT.
  have [ii|ii] := eqVneq i i0; last first.
    rewrite mul0r H; last by rewrite xpair_eqE (negbTE ii).
    rewrite (eq_bigr (fun k => B i k)) ?subrr // => k _.
    by rewrite H // xpair_eqE (negbTE ii).
  have S : \sum_k A i k = \sum_k B i k + c.
    rewrite ii (bigD1 j0) //= [X in _ = X + _](bigD1 j0) //= (eq_bigr (fun k => B i0 k)); first by rewrite /c; ring.
    by move=> k kj; rewrite H // xpair_eqE (negbTE kj) andbF.
  have AE : A i j = B i j + c * (j == j0)%:R.
    rewrite ii; have [->|jj] := eqVneq j j0; first by rewrite mulr1 /c; ring.
    by rewrite mulr0 addr0 H // xpair_eqE (negbTE jj) andbF.
  rewrite S AE mul1r; move: (\sum_k B i k) ((j == j0)%:R : R) => s x.
  by field.
have E : \sum_j v ord0 j ^+ 2 = c ^+ 2 * (1 - m%:R^-1).
  rewrite (bigD1 j0) //= (eq_bigr (fun _ => c ^+ 2 * m%:R^-1 ^+ 2)); last first.
    by move=> j /negbTE jj; rewrite mxE jj /=; ring.
  rewrite sumr_const cardC1 card_ord mxE eqxx -[X in _ + X]mulr_natl -subn1 natrB //=.
  by field.
rewrite E; have c2 : c ^+ 2 <= 1.
  by rewrite -real_normK ?num_real // expr_le1.
apply: le_trans c2; rewrite ler_pimulr ?sqr_ge0 // ler_subl_addr ler_addl invr_ge0 ler0n //.
Qed.

Lemma rounded_apart (R : realType) (x y : R) (a a' b b' : nat) : rounds_to x a a' -> rounds_to y b b' -> y <= x ->
  (100 * b + b' <= 1 + (100 * a + a'))%N.
Proof.
rewrite /rounds_to !ler_norml => /andP[_ x_up] /andP[y_low _] yx.
have T0 : 0 < 10%:R ^+ 4 :> R by rewrite exprn_gt0 ?ltr0n.
move: x_up y_low; rewrite ler_subl_addr ler_subr_addr => x_up y_low.
have := le_trans y_low (le_trans yx x_up).
rewrite -mulNr -!mulrDl ler_pmul2r ?invr_gt0 // addrC ler_subl_addr addrAC -splitr.
by rewrite -[1]/(1%:R) -natrD ler_nat.
Qed.

Lemma CD_TAB_ID_proof : CD_TAB_ID.
Proof.
by move=> R [h5 [n5 [m5 [h10 [n10 [m10 [_ [/rounded_apart Hn [/Hn Hm [_ [_ [_ [/andP[/Hm]]]]]]]]]]]]]].
Qed.

Section Picks.
Variable R : realType.

Lemma two_sets (n : nat) (A B : {set 'I_n}) (p q : R) : A != B -> 0 <= p -> 0 <= q -> p + q = 1 ->
  exists M : law R [finType of {set 'I_n}], forall S, pr M S = if S == A then p else if S == B then q else 0.
Proof.
move=> AB p0 q0 pq; have BA : B != A by rewrite eq_sym.
have h0 (S : {set 'I_n}) : 0 <= (if S == A then p else if S == B then q else 0) by case: ifP => // _; case: ifP.
have h1 : \sum_(S : {set 'I_n}) (if S == A then p else if S == B then q else 0) = 1.
  rewrite (bigD1 A) // (bigD1 B) //= eqxx (negbTE BA) eqxx big1 ?addr0 // => S /andP[/negbTE -> /negbTE ->] //.
by exists (Law h0 h1).
Qed.

Lemma picks_two (n : nat) (A B : {set 'I_n}) (p q : R) (M : law R [finType of {set 'I_n}]) i : A != B ->
  (forall S, pr M S = if S == A then p else if S == B then q else 0) ->
  picks M i = (if i \in A then p else 0) + (if i \in B then q else 0).
Proof.
move=> AB HM; have BA : B != A by rewrite eq_sym.
rewrite /picks /chance big_mkcond (bigD1 A) // (bigD1 B) //= !inE !HM eqxx (negbTE BA) eqxx.
by rewrite big1 ?addr0 // => S /andP[/negbTE SA /negbTE SB]; rewrite HM SA SB; case: ifP.
Qed.

Lemma PP_L2_at :
  ~ (forall (n k : nat) (s : 'I_n -> R) (M M' : law R [finType of {set 'I_n}]), (0 < k < n)%N ->
       (forall i j : 'I_n, (i <= j)%N -> s j <= s i) -> (forall i, 0 <= s i <= 1) ->
       (forall S : {set 'I_n}, #|S| != k -> pr M S = 0 /\ pr M' S = 0) ->
       \sum_(i : 'I_n | (i < k)%N) picks M' i < \sum_(i : 'I_n | (i < k)%N) picks M i ->
       \sum_i s i * picks M' i <= \sum_i s i * picks M i).
Proof.
pose u0 : 'I_3 := ord0; pose u1 : 'I_3 := lift ord0 ord0; pose u2 : 'I_3 := lift ord0 (lift ord0 ord0).
have ne1 (i j : 'I_3) : i != j -> [set i] != [set j] by apply: contra => /eqP/setP/(_ i); rewrite !inE eqxx => /esym.
have n02 := ne1 u0 u2 isT; have n01 := ne1 u0 u1 isT.
have half0 : 0 <= 2%:R^-1 :> R by rewrite invr_ge0 ler0n.
have e1 : 2%:R^-1 + 2%:R^-1 = 1 :> R by field.
have [M HM] := two_sets n02 half0 half0 e1.
have a0 : 0 <= 2%:R / 5%:R :> R by rewrite divr_ge0 ?ler0n.
have b0 : 0 <= 3%:R / 5%:R :> R by rewrite divr_ge0 ?ler0n.
have e2 : 2%:R / 5%:R + 3%:R / 5%:R = 1 :> R by field.
have [M' HM'] := two_sets n01 a0 b0 e2.
pose s (i : 'I_3) : R := if i == u2 then 0 else 1.
move=> /(_ 3%N 1%N s M M' isT).
have u3 (y : 'I_3) : [\/ y = u0, y = u1 | y = u2].
  case: y => [[|[|[|m]]] hm] //; [constructor 1 | constructor 2 | constructor 3]; exact: val_inj.
have h1 : forall i j : 'I_3, (i <= j)%N -> s j <= s i.
  by move=> i j; rewrite /s; case: (u3 i) => ->; case: (u3 j) => -> //=; rewrite ?lexx ?ler01.
have h2 : forall i, 0 <= s i <= 1 by move=> i; rewrite /s; case: ifP; rewrite ?lexx ?ler01.
have h3 : forall S : {set 'I_3}, #|S| != 1%N -> pr M S = 0 /\ pr M' S = 0.
  move=> S S1; rewrite HM HM'.
  by split; do 2! (case: eqP => [E|_]; first by rewrite E cards1 in S1).
have P0 : picks M u0 = 2%:R^-1 by rewrite (picks_two _ n02 HM) !inE /= addr0.
have P1 : picks M u1 = 0 by rewrite (picks_two _ n02 HM) !inE /= addr0.
have P2 : picks M u2 = 2%:R^-1 by rewrite (picks_two _ n02 HM) !inE /= add0r.
have Q0 : picks M' u0 = 2%:R / 5%:R by rewrite (picks_two _ n01 HM') !inE /= addr0.
have Q1 : picks M' u1 = 3%:R / 5%:R by rewrite (picks_two _ n01 HM') !inE /= add0r.
have S0 : \sum_(i : 'I_3 | (i < 1)%N) picks M i = 2%:R^-1 by rewrite (big_pred1 u0) // => i; case: (u3 i) => ->.
have S1 : \sum_(i : 'I_3 | (i < 1)%N) picks M' i = 2%:R / 5%:R by rewrite (big_pred1 u0) // => i; case: (u3 i) => ->.
have S2 : \sum_i s i * picks M i = 2%:R^-1.
  by rewrite !big_ord_recl big_ord0 -/u0 -/u1 -/u2 P0 P1 P2 /s /=; ring.
have S3 : \sum_i s i * picks M' i = 1.
  by rewrite !big_ord_recl big_ord0 -/u0 -/u1 -/u2 Q0 Q1 /s /=; field.
move=> /(_ h1 h2 h3); rewrite S0 S1 S2 S3 => H; have /H : 2%:R / 5%:R < 2%:R^-1 :> R.
  by apply: lt_by (_ : _ = 1 / 10%:R) _; [field | rewrite divr_gt0 ?ltr0n ?ltr01].
rewrite -subr_ge0 [X in 0 <= X](_ : _ = - 2%:R^-1); last by field.
by rewrite oppr_ge0 leNgt invr_gt0 ltr0n.
Qed.
End Picks.

Lemma PP_L2_proof : PP_L2. Proof. exact: PP_L2_at. Qed.

Section OneRating.
Variables (R : realType) (full : bool).
Let x : 'I_8 -> option R := fun _ => Some 1.
Let y' : 'I_8 -> option R := fun t => if t == ord0 then Some 5%:R else Some 1.

Lemma sum8 (f : 'I_8 -> R) : (forall t, t != ord0 -> f t = 1) -> \sum_t f t = f ord0 + 7%:R.
Proof.
move=> H; rewrite (bigD1 ord0) //= (eq_bigr (fun _ => 1)) //.
by rewrite sumr_const cardC1 card_ord.
Qed.

Lemma x_norm (z : 'I_8 -> option R) : (forall t, z t) -> norm_without full x z None = Num.sqrt 8%:R.
Proof.
move=> zt; congr Num.sqrt; rewrite (eq_bigl xpredT) => [|t]; last by rewrite zt orbT.
rewrite sum8 => [|t0 _]; last by rewrite expr1n.
by rewrite /=; ring.
Qed.

Lemma x_norm_out s : norm_without full x x (Some s) = Num.sqrt 7%:R.
Proof.
congr Num.sqrt; rewrite (eq_bigl (predC1 s)) => [|t]; last first.
  by rewrite /= orbT /= (inj_eq Some_inj) eq_sym.
rewrite (eq_bigr (fun _ => 1)) => [|t _]; last by rewrite expr1n.
by rewrite sumr_const cardC1 card_ord.
Qed.

End OneRating.

Section Attained.
Variables (R : realType) (full : bool).
Let x : 'I_8 -> option R := fun _ => Some 1.
Let y' : 'I_8 -> option R := fun t => if t == ord0 then Some 5%:R else Some 1.

Lemma y'_all t : y' t. Proof. by rewrite /y'; case: ifP. Qed.

Lemma y'_norm : norm_without full y' x None = Num.sqrt 32%:R.
Proof.
congr Num.sqrt; rewrite (eq_bigl xpredT) => [|t]; last by rewrite y'_all orbT.
rewrite sum8; last by move=> t /negbTE t0; rewrite /y' t0 /= expr1n.
by rewrite /y' eqxx /=; ring.
Qed.

Lemma sim_before : user_similarity full x x = 1.
Proof.
rewrite /user_similarity /lengths_without !x_norm // sqrt_sqr ?ler0n // (eq_bigl xpredT) //.
by rewrite sum8 => [|t _]; rewrite /= mulr1 //; field.
Qed.

Lemma sim_after : user_similarity full x y' = 3%:R / 4%:R.
Proof.
rewrite /user_similarity /lengths_without (x_norm _ y'_all) y'_norm.
have -> : Num.sqrt 8%:R * Num.sqrt 32%:R = 16%:R :> R.
  by rewrite -sqrtrM ?ler0n //; apply: sqrt_of; rewrite ?ler0n //; ring.
rewrite (eq_bigl xpredT) => [|t]; last by rewrite y'_all.
rewrite sum8; last by move=> t /negbTE t0; rewrite /y' t0 /= mulr1.
by rewrite /y' eqxx /=; field.
Qed.

Lemma PP_RS_at :
  ~ (forall (I : finType) (x y y' : I -> option R) (s : I), (forall t, stars5 (x t)) -> (forall t, stars5 (y t)) -> (forall t, stars5 (y' t)) ->
       (forall t, t != s -> y t = y' t) -> (forall t, 0 < lengths_without full x y (Some t)) ->
       at_most_RS full x y `|user_similarity full x y - user_similarity full x y'|).
Proof.
have sx t : stars5 (x t) by exists 1%N.
have sy t : stars5 (y' t) by rewrite /y'; case: ifP => _; [exists 5%N | exists 1%N].
have xy (t : 'I_8) : t != ord0 -> x t = y' t by rewrite /y' => /negbTE ->.
have M0 t : lengths_without full x x (Some t) = 7%:R by rewrite /lengths_without x_norm_out sqrt_sqr ?ler0n.
have Mpos t : 0 < lengths_without full x x (Some t) by rewrite M0 ltr0n.
move=> /(_ _ x x y' ord0 sx sx sy xy Mpos) [s [_ [_ /=]]].
rewrite sim_before sim_after M0 {1}/lengths_without {1}/lengths_without !x_norm // sqrt_sqr ?ler0n //.
have -> : `|1 - 3%:R / 4%:R| = 1 / 4%:R :> R.
  by rewrite (_ : 1 - _ = 1 / 4%:R); [rewrite ger0_norm // divr_ge0 ?ler0n ?ler01 | field].
have small (a b : R) : 0 < a - b -> ~ a <= b by rewrite subr_gt0 ltNge => /negP.
case; apply: small.
  rewrite [X in 0 < X](_ : _ = 3%:R / 28%:R); last by field.
  by rewrite divr_gt0 ?ltr0n.
rewrite [X in 0 < X](_ : _ = 13%:R / 56%:R); last by field.
by rewrite divr_gt0 ?ltr0n.
Qed.
End Attained.

Lemma PP_RS_proof : PP_RS. Proof. by move=> R full; apply: PP_RS_at. Qed.
