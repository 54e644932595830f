(* Proofs on Hadamard matrices of odd size and on the prediction from neighbors. *)
From Dpassay Require Import Prelude Statements RatingCollection RatingErrors RatingTheorem3 XMap Draws PPNS.
Import Statements.Finite.

Section Hadamard.
Variables (R : realType) (n : nat).
Hypothesis n_odd : odd n.+2.
Let i0 : 'I_n.+2 := ord0.
Let i1 : 'I_n.+2 := lift ord0 ord0.
Let q : R := Num.sqrt n.+2%:R.

Lemma q_gt0 : 0 < q. Proof. by rewrite sqrtr_gt0 ltr0n. Qed.
Lemma q_sqr : q ^+ 2 = n.+2%:R. Proof. by rewrite sqr_sqrtr ?ler0n. Qed.

Lemma H_first i : hadamard R n.+2 i i0 = 1 / q.
Proof. by rewrite mxE /common_bits big1 ?expr0 // => k _; rewrite div0n andbF. Qed.

Lemma H_second i : hadamard R n.+2 i i1 = (-1) ^+ i / q.
Proof.
rewrite mxE -signr_odd -[in RHS]signr_odd; congr ((-1) ^+ nat_of_bool _ / _); rewrite /common_bits.
case: i => [[|i] hi]; first by rewrite big_ord0.
rewrite [nat_of_ord _]/= big_ord_recl expn0 !divn1 big1 ?addn0 => [|k _]; first by rewrite andbT; case: (odd i.+1).
rewrite [X in _ && odd X]divn_small ?andbF //.
by rewrite -[X in (X < _)%N](expn0 2) ltn_exp2l.
Qed.

Lemma alternating (m : nat) : \sum_(i < m) (-1) ^+ i = (odd m)%:R :> R.
Proof.
elim: m => [|m IH]; first by rewrite big_ord0.
by rewrite big_ord_recr /= IH -signr_odd; case: (odd m); rewrite /= ?expr1 ?expr0 ?subrr ?add0r.
Qed.

Lemma CD_HAD_at : ~ ((hadamard R n.+2)^T *m hadamard R n.+2 = 1%:M).
Proof.
move=> /matrixP /(_ i0 i1); rewrite !mxE /=.
rewrite (eq_bigr (fun i : 'I_n.+2 => (-1) ^+ i * (1 / q ^+ 2))) => [|i _]; last first.
  by rewrite mxE H_first H_second; field; rewrite lt0r_neq0 // q_gt0.
rewrite -mulr_suml alternating n_odd mul1r mul1r => /eqP.
by rewrite invr_eq0 expf_eq0 /= (gt_eqF q_gt0).
Qed.

Variable sign : 'I_n.+2 -> bool.
Let D : 'M[R]_n.+2 := diag_mx (\row_i (-1) ^+ sign i).
Let e : 'cV[R]_n.+2 := delta_mx i0 ord0 + delta_mx i1 ord0.

Lemma DD : D *m D = 1%:M.
Proof.
rewrite mulmx_diag -diag_const_mx; congr diag_mx; apply/rowP => i; rewrite !mxE -expr2 sqrr_sign //.
Qed.

Lemma CD_ISO_at : ~ (forall x : 'cV[R]_n.+2, \sum_i ((hadamard R n.+2 *m D *m x) i ord0) ^+ 2 = \sum_i x i ord0 ^+ 2).
Proof.
move=> /(_ (D *m e)).
have -> : hadamard R n.+2 *m D *m (D *m e) = hadamard R n.+2 *m e by rewrite -mulmxA (mulmxA D) DD mul1mx.
have col i j : (hadamard R n.+2 *m delta_mx j ord0 : 'cV_n.+2) i ord0 = hadamard R n.+2 i j.
  by rewrite -colE mxE.
rewrite (eq_bigr (fun i : 'I_n.+2 => (2%:R + 2%:R * (-1) ^+ i) / q ^+ 2)) => [|i _]; last first.
  rewrite mulmxDr mxE !col H_first H_second -mulrDl exprMn exprVn; congr (_ / _).
  by rewrite sqrrD expr1n mul1r sqrr_sign; ring.
rewrite -mulr_suml big_split /= -mulr_sumr alternating n_odd q_sqr sumr_const card_ord.
have E2 : \sum_i (D *m e) i ord0 ^+ 2 = 2%:R.
  rewrite (eq_bigr (fun i : 'I_n.+2 => e i ord0 ^+ 2)) => [|i _]; last first.
    by rewrite mul_diag_mx !mxE exprMn sqrr_sign mul1r.
  rewrite (bigD1 i0) // (bigD1 i1) //= big1 ?addr0 => [|i /andP[/negbTE h0 /negbTE h1]]; last first.
    by rewrite !mxE h0 h1 /= addr0 expr0n.
  by rewrite !mxE /=; ring.
rewrite E2 mulr1 => /(f_equal (fun z => z * n.+2%:R)).
rewrite divfK ?pnatr_eq0 // -[2%:R *+ n.+2]mulr_natr => /eqP.
by rewrite -subr_eq0 addrC addKr pnatr_eq0.
Qed.
End Hadamard.

Lemma CD_HAD_proof : CD_HAD.
Proof. by move=> R [|[|n]] // n_odd _; apply: CD_HAD_at. Qed.

Lemma CD_ISO_proof : CD_ISO.
Proof. by move=> R [|[|n]] // sign n_odd _; apply: CD_ISO_at. Qed.

(* The target (1, 2, -); users (1, 2, 1) and (2, 1, 5). *)
Local Definition D (R : realType) : ratings R [finType of 'I_3] _ :=
  stars R (u := 3) (n := 3) [:: [:: 1; 2]; [:: 1; 2; 1]; [:: 2; 1; 5]]%N.
Local Definition u0 : 'I_3 := ord0.
Local Definition u1 : 'I_3 := lift ord0 ord0.
Local Definition u2 : 'I_3 := lift ord0 (lift ord0 ord0).

Lemma P_norm (R : realType) i j : (i, j) \in [:: (u0, u1); (u1, u0); (u0, u2); (u2, u0)] -> user_norm (D R) i j = Num.sqrt 5%:R.
Proof.
rewrite !inE => /or4P[] /eqP [-> ->]; congr Num.sqrt;
  by rewrite big_mkcond !big_ord_recl big_ord0 /= /value_of /=; ring.
Qed.

Lemma P_cos1 (R : realType) : cosine (D R) u0 u1 = 1.
Proof.
rewrite /cosine !P_norm ?inE ?eqxx ?orbT // sqrt_sqr ?ler0n // big_mkcond !big_ord_recl big_ord0 /= /value_of /=.
by field.
Qed.
Lemma P_cos2 (R : realType) : cosine (D R) u0 u2 = 4%:R / 5%:R :> R.
Proof.
rewrite /cosine !P_norm ?inE ?eqxx ?orbT // sqrt_sqr ?ler0n // big_mkcond !big_ord_recl big_ord0 /= /value_of /=.
by field.
Qed.

Lemma PP_ACC_proof : PP_ACC.
Proof.
move=> R; pose x : 'I_3 := lift ord0 (lift ord0 ord0).
have h i : i \in [set u1] :|: [set u2] -> [/\ i != u0, cosine_defined (D R) u0 i & D R i x : bool].
  by rewrite !inE /cosine_defined => /orP[] /eqP ->; split; rewrite // !P_norm ?inE ?eqxx ?orbT // mulr_gt0 ?sqrtr_gt0 ?ltr0n.
have starry : star_ratings (D R) by exact: stars_ok.
have five : stars5 (Some 5%:R : option R) by exists 5%N.
have c : #|[set u1]| = #|[set u2]| by rewrite !cards1.
move=> /(_ 3%N _ (D R) u0 x 5%:R [set u1] [set u2] starry five isT h c); rewrite !big_set1 P_cos1 P_cos2 !normr_gt0 oner_eq0 lt0r_neq0 ?divr_gt0 ?ltr0n // => /(_ isT isT (lt_by _ _)).
have e : 1 - 4%:R / 5%:R = 1 / 5%:R :> R by field.
have p : 0 < 1 / 5%:R :> R by rewrite divr_gt0 ?ltr0n ?ltr01.
move=> /(_ _ e p); rewrite /predicted !big_set1 P_cos1 P_cos2 /= /value_of /=.
rewrite normr1 divr1 mul1r [`|4%:R / 5%:R|]ger0_norm ?divr_ge0 ?ler0n //.
have -> : 4%:R / 5%:R * 5%:R / (4%:R / 5%:R) = 5%:R :> R by field.
by rewrite subrr normr0 normr_le0 subr_eq0 -[X in _ == X]/(1%:R) eqr_nat.
Qed.
