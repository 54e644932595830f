(* The determinantal process of fixed size when few items are not shown: k < n < 2k. *)
From Dpassay Require Import Prelude.
From mathcomp Require Import zify.
From mathcomp.classical Require classical_sets.
From Dpassay Require Import Statements Determinant Determinantal FixedSize.
Import Statements.Determinantal.

(* Where epsilons are bounded from below, one is the smallest. *)
Lemma smallest_epsilon (R : realType) (D : Type) (T : finType) (nb : D -> D -> Prop) (M : D -> law R T) (low e0 : R) :
  dp nb e0 M -> (forall e, dp nb e M -> low <= e) -> exists2 eps, exactly_dp nb eps M & low <= eps <= e0.
Proof.
move=> H0 Hlow; pose E : classical_sets.set R := fun e => dp nb e M.
have lb : classical_sets.has_lbound E by exists low => e /Hlow.
have ne : classical_sets.nonempty E by exists e0.
exists (inf E); last by rewrite (inf_lb lb H0) andbT; apply: lb_le_inf => // e /Hlow.
move=> e; split=> [|le x y xy A]; first exact: inf_lb.
rewrite addr0; set a := chance (M x) A; set b := chance (M y) A.
have H e' : E e' -> a <= expR e' * b by move=> /(_ x y xy A); rewrite addr0.
have b0 : 0 <= b by apply: sumr_ge0 => t _; apply: pr_ge0.
have [a0|a0] := leP a 0; first by apply: le_trans a0 _; rewrite mulr_ge0 // ltW // expR_gt0.
have {}b0 : 0 < b by have := lt_le_trans a0 (H _ H0); rewrite pmulr_rgt0 // expR_gt0.
rewrite -ler_pdivr_mulr // -ln_le_expR ?divr_gt0 //; apply: le_trans le; apply: lb_le_inf => // e' He'.
by rewrite ln_le_expR ?divr_gt0 // ler_pdivr_mulr // H.
Qed.

Lemma sum_below (R : realType) (n m : nat) : (m <= n)%N -> \sum_(i < n) (i < m)%N%:R = m%:R :> R.
Proof.
move=> mn; rewrite -natr_sum; congr _%:R; rewrite -[RHS]card_ord -sum1_card (big_ord_widen n (fun=> 1%N)) // [RHS]big_mkcond.
by apply: eq_bigr => i _; case: (i < m)%N.
Qed.

Lemma card_below (n m : nat) : (m <= n)%N -> #|[set i : 'I_n | (i < m)%N]| = m.
Proof.
move=> mn; rewrite -sum1_card (eq_bigl (fun i : 'I_n => (i < m)%N)); last by move=> i; rewrite inE.
by rewrite -(big_ord_widen _ (fun=> 1%N) mn) sum1_card card_ord.
Qed.

Lemma dot_delta (R : realType) (n : nat) (v : 'rV[R]_n) j : dot v (delta_mx 0 j) = v 0 j.
Proof.
by rewrite dotE (bigD1 j) //= big1 => [|l /negbTE lj]; rewrite !mxE ?lj ?eqxx ?mulr1 ?addr0 ?andbF ?mulr0.
Qed.

(* Items 0, ..., a - 1 are the leaves of a star, a is its center, a + 1, ..., k - 1 are single; everybody reads one of
   k, ..., n - 1, or a leaf and the center. *)
Section Star.
Variables (R : realType) (n k a : nat) (s : R).
Hypotheses (s0 : 0 < s) (kn : (k < n)%N) (ka : (a + n = 2 * k)%N).
Let ak : (a < k)%N. Proof. lia. Qed.
Let ctr : 'I_n := Ordinal (ltn_trans ak kn).
Let Z0 : {set 'I_n} := [set i : 'I_n | (i < a)%N] :|: ~: [set i : 'I_n | (i < k)%N].
Let f (j : 'I_n) : 'rV[R]_n := delta_mx 0 j + (j < k)%N%:R *: delta_mx 0 ctr.
Let x : 'rV[R]_n := \row_(i < n) ((i < k)%N && (i != ctr))%:R.
Let tau : R := a%:R / (a.+1%:R * s).
Let v : 'rV[R]_n := \row_(i < n) (if (i < a)%N then tau else if i == ctr then - tau else if (i < k)%N then s^-1 else 0).

Lemma star_size : #|Z0| = k.
Proof.
rewrite cardsU (_ : _ :&: _ = set0); last by apply/setP => i; rewrite !inE; apply/negbTE; apply/negP; lia.
have := cardsC [set i : 'I_n | (i < k)%N]; rewrite !card_below ?card_ord ?cards0; lia.
Qed.

Lemma star_not_center (i : 'I_n) : i \in Z0 -> (i == ctr) = false.
Proof. by rewrite !inE => H; apply/eqP => E; move: H; rewrite E /=; lia. Qed.

Lemma star_rows (i j : 'I_n) : i \in Z0 -> j \in Z0 -> f j 0 i = 1 * (i == j)%:R.
Proof. by move=> iZ jZ; rewrite !mxE eqxx /= star_not_center // mulr0 addr0 mul1r. Qed.

Lemma star_binary (j : 'I_n) : j \in Z0 -> binary_rows (f j).
Proof.
move=> jZ; apply/forallP => i; rewrite !mxE eqxx /=.
have [->|ij] := eqVneq i j; first by rewrite star_not_center // mulr0 addr0 eqxx orbT.
by case: (j < k)%N; case: (i == ctr); rewrite /= ?mulr1 ?mulr0 ?mul0r ?add0r eqxx ?orbT.
Qed.

Lemma star_orthogonal j : j \in Z0 -> dot v (f j) = 0.
Proof.
move=> jZ; have jc := star_not_center jZ; rewrite dotDr dotZr !dot_delta !mxE jc eqxx ltnn /=.
move: jZ; rewrite !inE; have [ja|ja] /= := boolP (j < a)%N.
  by rewrite (ltn_trans ja ak) mul1r subrr.
by move=> /negbTE->; rewrite mul0r addr0.
Qed.

Lemma star_gain : dot v x *+ 2 - s * norm2 v = (k%:R - 2 + 1 / a.+1%:R) / s.
Proof.
have a1 : a.+1%:R != 0 :> R by rewrite pnatr_eq0.
have C : \sum_(i < n) (i == ctr)%:R = 1 :> R.
  by rewrite (bigD1 ctr) //= eqxx big1 ?addr0 // => i /negbTE->.
have A : \sum_(i < n) (i < a)%N%:R = a%:R :> R by apply: sum_below; apply: ltnW (ltn_trans ak kn).
have K : \sum_(i < n) (i < k)%N%:R = k%:R :> R by apply: sum_below; apply: ltnW.
have split3 (t u w : R) (F : 'I_n -> R) :
    (forall i : 'I_n, F i = (i < a)%N%:R * t + (i == ctr)%:R * u + ((i < k)%N%:R - (i < a)%N%:R - (i == ctr)%:R) * w) ->
    \sum_i F i = a%:R * t + u + (k%:R - a%:R - 1) * w.
  by move=> E; rewrite (eq_bigr _ (fun i _ => E i)) !big_split /= -!mulr_suml !sumrB A K C mul1r.
have vx : dot v x = a%:R * tau + 0 + (k%:R - a%:R - 1) * s^-1.
  rewrite dotE; apply: split3 => i; rewrite !mxE; have [->|ic] := eqVneq i ctr; first by rewrite /= ltnn ak /=; ring.
  have [ia|ia] := boolP (i < a)%N; first by rewrite (ltn_trans ia ak) /=; ring.
  by case: (i < k)%N => /=; ring.
have vv : norm2 v = a%:R * tau ^+ 2 + tau ^+ 2 + (k%:R - a%:R - 1) * s^-1 ^+ 2.
  apply: split3 => i; rewrite !mxE; have [->|ic] := eqVneq i ctr; first by rewrite /= ltnn ak /=; ring.
  have [ia|ia] := boolP (i < a)%N; first by rewrite (ltn_trans ia ak) /=; ring.
  by case: (i < k)%N => /=; ring.
by move: a1; rewrite vx vv /tau -[a.+1]addn1 natrD => a1; field; rewrite a1 gt_eqF.
Qed.

Lemma star_lower (M : seq 'rV[R]_n -> law R (subset_of n)) e : samples M (fun D => kdpp k (kernel s D)) ->
  dp (add_remove (@binary_rows R n)) e M -> 1 + (k%:R - 2 + 1 / a.+1%:R) / s <= expR e.
Proof.
move=> HM H; rewrite -star_gain.
apply: (@copies_lower R n k (ltnW kn) s 1 Z0 f x (@binary_rows R n) M s0 ltr01 HM star_size star_rows star_binary _ e [set i : 'I_n | (i < k)%N] v H).
- by apply/forallP => i; rewrite !mxE; case: (_ && _); rewrite eqxx ?orbT.
- exact: card_below (ltnW kn).
- move=> i; rewrite inE => ik; rewrite mxE; have [ia|_] := boolP (i < a)%N; first by rewrite (ltn_trans ia ak) in ik.
  by rewrite (negbTE ik); case: eqP ik => // ->; rewrite ak.
- exact: star_orthogonal.
Qed.
End Star.

Theorem dp_kdpp_small : DP_KDPP_SMALL.
Proof.
move=> R n k s s0 kn nk; have k1 : (1 <= k)%N by lia.
have [M HM [_ _ _ strict _]] := dp_kdpp_rep s0 (ler01 : 0 <= 1 :> R) k1 kn.
have k0 : 0 < 1 + k%:R / s by rewrite ltr_paddr ?ltr01 // divr_ge0 ?ler0n // ltW.
exists M => //; apply: smallest_epsilon => [|e H].
  apply: dp_pointwise => D E nb Y; rewrite lnK ?posrE //.
  case: (eqVneq #|Y| k) => Yk; first exact: ltW (strict D E nb Y Yk).
  by rewrite !HM !kdpp_out // mulr0.
have A : 1 + (n - k)%:R / s <= expR e.
  pose S := [set i : 'I_n | (k <= i)%N]; pose x : 'rV[R]_n := \row_(i < n) (k <= i)%N%:R.
  have CS : ~: S = [set i : 'I_n | (i < k)%N] by apply/setP => i; rewrite !inE ltnNge.
  have Sk : #|S| = (n - k)%N by rewrite -[S]setCK CS cardsCs setCK card_below ?card_ord // ltnW.
  have xk : norm2 x = (n - k)%:R.
    rewrite natrB ?(ltnW kn) // -[n%:R](sum_below R (leqnn n)) -(sum_below R (ltnW kn)) -sumrB.
    by apply: eq_bigr => i _; rewrite mxE leqNgt ltn_ord; case: (i < k)%N => /=; ring.
  rewrite -xk; apply: (@kdpp_lower R n k (ltnW kn) s 1 S x (@binary_rows R n) M s0 ltr01 HM) => //.
  - by rewrite Sk; lia.
  - by rewrite CS card_below // ltnW.
  - by move=> i; rewrite inE mxE => /negbTE ->.
  - by apply/forallP => i; rewrite mxE; case: (k <= i)%N; rewrite eqxx ?orbT.
  - by move=> j; apply/forallP => i; rewrite !mxE mul1r; case: (_ && _); rewrite eqxx ?orbT.
have B : 1 + (k%:R - 2 + 1 / (2 * k - n + 1)%:R) / s <= expR e.
  by rewrite addn1; apply: star_lower (HM) H => //; lia.
rewrite ln_le_expR; first by rewrite /Num.max; case: ifP.
by rewrite ltr_paddr ?ltr01 // divr_ge0 ?(ltW s0) // le_maxr ler0n.
Qed.
