(* How far one subject moves the kernel and its eigenvalues. *)
From Dpassay Require Import Prelude Statements Determinant Determinantal Curve Spectral Kernels Functions.
Import Statements.Determinantal.

Section Norms.
Variables (R : realType) (n : nat).

Lemma cauchy (u v : 'rV[R]_n) : dot u v ^+ 2 <= norm2 u * norm2 v.
Proof.
case: (eqVneq v 0) => [->|v0]; first by rewrite -!dot_norm /dot trmx0 !mulmx0 mxE expr0n mulr0.
have nv : 0 < norm2 v by rewrite lt_neqAle norm2_ge0 eq_sym norm2_eq0 v0.
have := norm2_ge0 (norm2 v *: u - dot u v *: v).
rewrite -[norm2 (_ - _)]dot_norm -scaleNr dotDl !dotDr !dotZl !dotZr !dot_norm [dot v u]dotC => H.
rewrite -subr_ge0 -(pmulr_rge0 _ nv); apply: le_trans H _; rewrite le_eqVlt; apply/orP; left; apply/eqP; ring.
Qed.

Lemma operator_frobenius (A : 'M[R]_n) (c : R) : frobenius2 A <= c ^+ 2 -> operator_le A c.
Proof.
move=> H v; apply: (@le_trans _ _ (frobenius2 A * norm2 v)); last by rewrite ler_wpmul2r // norm2_ge0.
rewrite /frobenius2 exchange_big /= mulr_suml /norm2; apply: ler_sum => j _.
rewrite -/(norm2 v); have := cauchy (row j A^T) v; rewrite [dot _ v]dotC dotE.
rewrite mxE (eq_bigr (fun i => v 0 i * A i j)) => [|i _]; last by rewrite !mxE.
move=> H2; apply: le_trans H2 _; rewrite le_eqVlt; apply/orP; left; apply/eqP; congr (_ * _).
by apply: eq_bigr => i _; rewrite !mxE.
Qed.

Lemma frobenius_N (A : 'M[R]_n) : frobenius2 (- A) = frobenius2 A.
Proof. by apply: eq_bigr => i _; apply: eq_bigr => j _; rewrite mxE sqrrN. Qed.

Lemma frobenius_rows (x z : 'rV[R]_n) :
  frobenius2 (x^T *m x - z^T *m z) = norm2 x ^+ 2 + norm2 z ^+ 2 - (dot x z ^+ 2) *+ 2.
Proof.
have sq (a b : 'rV[R]_n) : dot a b ^+ 2 = \sum_i \sum_j (a 0 i * b 0 i) * (a 0 j * b 0 j).
  by rewrite expr2 !dotE mulr_suml; apply: eq_bigr => i _; rewrite mulr_sumr.
rewrite -!dot_norm !sq -mulr_natl mulr_sumr -sumrN -!big_split /=; apply: eq_bigr => i _.
rewrite mulr_sumr -sumrN -!big_split /=; apply: eq_bigr => j _.
by rewrite !mxE !big_ord1 !mxE; move: (x 0 i) (x 0 j) (z 0 i) (z 0 j) => a b c d; ring.
Qed.

Lemma frobenius_row (x : 'rV[R]_n) : frobenius2 (x^T *m x) = norm2 x ^+ 2.
Proof.
have := frobenius_rows x 0; rewrite trmx0 mul0mx subr0 => ->.
by rewrite -!dot_norm {2 3}/dot trmx0 !mulmx0 mxE expr0n mul0rn subr0 addr0.
Qed.

Lemma binary_norm (x : 'rV[R]_n) : binary_rows x -> 0 <= norm2 x <= n%:R.
Proof. by move=> b; rewrite norm2_ge0 norm_binary. Qed.

Lemma binary_dot (x z : 'rV[R]_n) : binary_rows x -> binary_rows z ->
  0 <= dot x z /\ norm2 x + norm2 z - n%:R <= dot x z.
Proof.
move=> /forallP bx /forallP bz; split.
  by rewrite dotE sumr_ge0 // => i _; case/orP: (bx i) => /eqP ->; case/orP: (bz i) => /eqP ->; rewrite ?mul0r ?mulr0 ?mulr1 ?ler01.
have nE : n%:R = \sum_(i < n) 1 :> R by rewrite sumr_const card_ord.
rewrite dotE /norm2 nE -big_split -sumrB; apply: ler_sum => i _ /=.
case/orP: (bx i) => /eqP ->; case/orP: (bz i) => /eqP ->;
  rewrite ?expr0n ?expr1n /= ?mul0r ?mulr0 ?mulr1 ?addr0 ?add0r ?addrK ?subrr ?lexx //.
by rewrite oppr_le0 ler01.
Qed.

Lemma frobenius_replace (x z : 'rV[R]_n) : binary_rows x -> binary_rows z ->
  frobenius2 (x^T *m x - z^T *m z) <= n%:R ^+ 2.
Proof.
move=> bx bz; rewrite frobenius_rows; have [t0 t1] := binary_dot bx bz.
have /andP[p0 p1] := binary_norm bx; have /andP[q0 q1] := binary_norm bz.
move: (norm2 x) (norm2 z) (dot x z) t0 t1 p0 p1 q0 q1 => p q t t0 t1 p0 p1 q0 q1.
case: (leP (p + q) n%:R) => pq.
  apply: (@le_trans _ _ ((p + q) ^+ 2)); last by rewrite ler_expn2r ?nnegrE ?addr_ge0 ?ler0n.
  rewrite -subr_ge0 [X in 0 <= X](_ : _ = (p * q) *+ 2 + (t ^+ 2) *+ 2); last by ring.
  by rewrite addr_ge0 // mulrn_wge0 ?sqr_ge0 // mulr_ge0.
have tt : (p + q - n%:R) ^+ 2 <= t ^+ 2 by rewrite ler_expn2r ?nnegrE ?subr_ge0 // ltW.
rewrite -subr_ge0 [X in 0 <= X](_ : _ = (t ^+ 2 - (p + q - n%:R) ^+ 2) *+ 2 + (p + q - n%:R) ^+ 2 +
  ((n%:R - p) * (n%:R - q)) *+ 2); last by ring.
have h1 : 0 <= (t ^+ 2 - (p + q - n%:R) ^+ 2) *+ 2 by apply: mulrn_wge0; rewrite subr_ge0.
have h2 : 0 <= ((n%:R - p) * (n%:R - q)) *+ 2 by apply: mulrn_wge0; rewrite mulr_ge0 ?subr_ge0.
exact: addr_ge0 (addr_ge0 h1 (sqr_ge0 _)) h2.
Qed.

Lemma frobenius_add_remove s (D E : seq 'rV[R]_n) : add_remove (@binary_rows R n) D E ->
  frobenius2 (kernel s D - kernel s E) <= n%:R ^+ 2.
Proof.
have le (x : 'rV[R]_n) : binary_rows x -> frobenius2 (x^T *m x) <= n%:R ^+ 2.
  move=> b; have /andP[p0 p1] := binary_norm b.
  by rewrite frobenius_row ler_expn2r ?nnegrE ?ler0n.
case=> aD [aE [/kernel_more m|/kernel_more m]].
  have [x bx ->] := m s _ aE.
  by rewrite opprD addrA subrr add0r frobenius_N le.
have [x bx ->] := m s _ aD.
by rewrite addrAC subrr add0r le.
Qed.
End Norms.

Lemma ones_neighbors (R : realType) n : add_remove (@binary_rows R n) [:: const_mx 1] [::].
Proof.
by split; rewrite /= ?binary_ones //; split=> //; right; exists (const_mx 1).
Qed.

Theorem dp_dl : DP_DL.
Proof.
move=> R n s; split=> [D E H|ones].
  have F : frobenius2 (kernel s D - kernel s E) <= n%:R ^+ 2.
    case: H => [|[aD [aE [C [x [z [pD pE]]]]]]]; first exact: frobenius_add_remove.
    move: aD aE; rewrite (perm_all _ pD) (perm_all _ pE) => /andP[bx _] /andP[bz _].
    rewrite (kernel_perm s pD) (kernel_perm s pE) !kernel_cons opprD addrACA subrr add0r.
    exact: frobenius_replace.
  by split=> //; exact: operator_frobenius.
have O : ones^T *m ones = const_mx 1 :> 'M_n.
  by apply/matrixP => i j; rewrite !mxE big_ord1 !mxE mulr1.
split=> [D aD|].
  split; last by rewrite kernel_cons addrAC subrr add0r.
  by split; rewrite /= ?binary_ones //; split=> //; right; exists ones.
split; first by rewrite -O frobenius_row norm_ones.
rewrite -O mulmxA (_ : ones *m ones^T = n%:R%:M).
  by rewrite mul_scalar_mx -!dot_norm dotZl dotZr dot_norm norm_ones; ring.
by rewrite [LHS]mx11_scalar -/(dot ones ones) dot_norm norm_ones.
Qed.

Lemma eigenvalues_scalar (R : realType) n (c : R) : eigenvalues (c%:M : 'M_n) (fun=> c).
Proof.
split=> //; rewrite /char_poly /char_poly_mx map_scalar_mx -raddfB /= det_scalar.
by rewrite prodr_const card_ord.
Qed.

Theorem dp_l2 : DP_L2.
Proof.
move=> R H.
have ex : exists E F, add_remove (@binary_rows R 2) E F /\ frobenius2 (kernel 1 E - kernel 1 F) = 2%:R ^+ 2.
  exists [:: const_mx 1], [::]; split; first exact: ones_neighbors.
  by rewrite kernel_cons kernel_nil addrAC subrr add0r frobenius_row norm_ones.
have eig : eigenvalues (kernel 1 [::] : 'M[R]_2) (fun=> 1) by rewrite kernel_nil; exact: eigenvalues_scalar.
have := H 2%N 1 2%:R [::] (fun=> 1) ltr01 (ler0n _ _) isT eig (@frobenius_add_remove R 2 1) ex.
move/eqP; rewrite sumr_const card_ord expr1n -natrX -[1 *+ 2]/(2%:R) eqr_nat //.
Qed.

Theorem dp_du_op : DP_DU_OP.
Proof.
move=> R H.
have l12 : 1 <= 2%:R :> R by rewrite ler1n.
have := H 4%N 1 1 1%:M 2%:R%:M (fun=> 1) (fun=> 2%:R) ltr01 ler01 (trmx1 _ _) (tr_scalar_mx _ _)
  (@eigenvalues_scalar _ _ _) (@eigenvalues_scalar _ _ _) (fun=> lexx 1) (fun=> l12).
have op : operator_le (1%:M - 2%:R%:M : 'M[R]_4) 1.
  move=> v; rewrite -raddfB /= mul_mx_scalar -!dot_norm dotZl dotZr dot_norm mulrA.
  rewrite (_ : (1 - 2%:R) * (1 - 2%:R) = 1 ^+ 2) //; ring.
move=> /(_ op); rewrite sumr_const card_ord ln1 subr0 ger0_norm ?ln_ge0 // -[X in X <= _]mulr_natl.
rewrite ler_pmul2l ?ltr0n // !mul1r (_ : 4%:R = 2%:R ^+ 2 :> R); last by rewrite -natrX.
rewrite sqrtr_sqr ger0_norm ?ler0n // leNgt => /negP; apply.
have h0 : 0 < 1 + 2%:R^-1 :> R by rewrite addr_gt0 ?ltr01 // invr_gt0 ltr0n.
rewrite -ltr_expR !lnK ?posrE ?ltr0n // -(ltr_pmul2r (ltr0Sn R 1)) mulrDl mulVf ?pnatr_eq0 // mul1r.
by rewrite -natrM -[X in _ + X]/(1%:R) -natrD ltr_nat.
Qed.

Section Worst.
Variables (R : realType) (n : nat).

Lemma eigen_scalar (A : 'M[R]_n) c : A^T = A -> (forall l, eigenvalue A l -> l = c) -> A = c%:M.
Proof.
move=> sA H.
have [_ H1] : above c A by apply: above_eigenvalues => // l /H ->.
have [_ H2] : above (- c) (- A).
  apply: above_eigenvalues => [|l /eigenvalueP[v vl v0]]; first by rewrite linearN /= sA.
  rewrite ler_oppl (H (- l)) //; apply/eigenvalueP; exists v => //.
  by rewrite scaleNr -vl mulmxN opprK.
have Z v : bil (A - c%:M) v v = 0.
  apply/eqP; rewrite bilDm -scaleN1r /bil -scalemxAr -scalemxAl [X in _ + X]mxE mulN1r -/(bil _ v v) -/(bil _ v v).
  rewrite bil_scalar dot_norm subr_eq0 eq_le H1 andbT -ler_opp2 -mulNr; apply: le_trans (H2 v) _.
  by rewrite /bil mulmxN mulNmx mxE.
have sB : (A - c%:M)^T = A - c%:M by rewrite linearB /= sA tr_scalar_mx.
apply/eqP; rewrite -subr_eq0; apply/eqP/matrixP => i j; rewrite [RHS]mxE.
have E u v : bil (A - c%:M) u v = 0.
  have := Z (u + v); rewrite bilDl !bilDr !Z add0r addr0 (bilC v u sB) -mulr2n => /eqP.
  by rewrite mulrn_eq0 /= => /eqP.
have := E (delta_mx 0 i) (delta_mx 0 j); rewrite /bil -rowE trmx_delta -colE !mxE //.
Qed.
End Worst.

Theorem dp_worst : DP_WORST.
Proof.
move=> R n s Delta n2 s0 D0 [D [E [nb [HD HE]]]].
case: n n2 D E nb HD HE => [|[|n]] // _ D E nb HD HE.
set c := Delta / _ in HE.
have c0 : 0 < c by rewrite divr_gt0 // sqrtr_gt0 ltr0n.
have LD := eigen_scalar (above_kernel s D).1 HD.
have LE := eigen_scalar (above_kernel s E).1 HE.
have diff : kernel s E - kernel s D = c%:M by rewrite LD LE -raddfB /= addrAC subrr add0r.
have out (x z : 'rV[R]_n.+2) : x^T *m x - z^T *m z = c%:M -> False.
  move=> /matrixP H.
  have := H 0 0; have := H 1 1; have := H 0 1; rewrite !mxE !big_ord1 !mxE /= !mulr1n mulr0n.
  move: (x 0 0) (x 0 1) (z 0 0) (z 0 1) => x0 x1 z0 z1 H01 H11 H00.
  have : 0 < c * c by rewrite mulr_gt0.
  rewrite -{1}H00 -H11 [X in 0 < X](_ : _ = (x0 * x1 - z0 * z1) ^+ 2 - (x0 * z1 - x1 * z0) ^+ 2); last by ring.
  by rewrite H01 expr0n sub0r oppr_gt0 ltNge sqr_ge0.
case: nb => [[_ [_ [/kernel_more m|/kernel_more m]]]|[_ [_ [C [x [z [pD pE]]]]]]].
- have [//|x _ Ex] := m s (fun=> true); first by apply/allP.
  by apply: (out x 0); rewrite -diff Ex trmx0 mul0mx subr0 addrAC subrr add0r.
- have [//|x _ Ex] := m s (fun=> true); first by apply/allP.
  by apply: (out 0 x); rewrite -diff Ex trmx0 mul0mx sub0r opprD addrA subrr add0r.
- apply: (out z x); rewrite -diff (kernel_perm s pD) (kernel_perm s pE) !kernel_cons.
  by rewrite opprD addrACA subrr add0r.
Qed.

Theorem dp_sub2 : DP_SUB2.
Proof.
move=> R A C printed.
have C0 : 0 < C 2%N 1 1.
  by rewrite /C ln_gt0 // ltr_addl divr_gt0 ?ltr01 // mulr1 addr_gt0 ?ltr01 ?ltr0n.
have A1 : A 2%N 1 1 - C 2%N 1 1 >= 0.
  rewrite subr_ge0 /A /C /= !mulr1 invr1 ?mulr1.
  have h0 : 0 < 1 + 2%:R :> R by rewrite addr_gt0 ?ltr01 ?ltr0n.
  rewrite -ler_expR !lnK ?posrE ?addr_gt0 ?ltr01 ?divr_gt0 ?ltr01 //.
  by rewrite ler_add2l ler_pdivr_mulr // mul1r ler_addl ler0n.
split=> H; have := H 2%N 1 1 isT ltr01 ltr01; rewrite /printed /=.
  move/eqP; rewrite -subr_eq0 [X in X == 0](_ : _ = - (C 2%N 1 1 *+ 2)); last by (move: (A 2%N 1 1) (C 2%N 1 1) => a c; ring).
  by rewrite oppr_eq0 mulrn_eq0 /= gt_eqF.
rewrite normrN !ger0_norm // ?ltW // => /eqP; rewrite -subr_eq0 [X in X == 0](_ : _ = C 2%N 1 1 *+ 2); last by (move: (A 2%N 1 1) (C 2%N 1 1) => a c; ring).
by rewrite mulrn_eq0 /= gt_eqF.
Qed.
