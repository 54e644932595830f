(* The least eigenvalue of a symmetric matrix, and positive semidefinite matrices. *)
From Dpassay Require Import Prelude.
From mathcomp Require Import perm.
From mathcomp.classical Require Import classical_sets boolp.
From Dpassay Require Import Statements Determinant Determinantal.
Import Statements.Determinantal.

Section Least.
Variable R : realType.

Lemma abs_le (a b c : R) : a ^+ 2 <= c -> b ^+ 2 <= c -> `|a * b| <= c.
Proof.
move=> ac bc; rewrite ler_norml; apply/andP; split; rewrite -subr_ge0.
  rewrite [X in 0 <= X](_ : _ = ((c - a ^+ 2) + (c - b ^+ 2) + (a + b) ^+ 2) / 2%:R); last by field.
  by rewrite divr_ge0 ?ler0n // addr_ge0 ?sqr_ge0 // addr_ge0 ?subr_ge0.
rewrite [X in 0 <= X](_ : _ = ((c - a ^+ 2) + (c - b ^+ 2) + (a - b) ^+ 2) / 2%:R); last by field.
by rewrite divr_ge0 ?ler0n // addr_ge0 ?sqr_ge0 // addr_ge0 ?subr_ge0.
Qed.

Lemma bil_bound n (A : 'M[R]_n) : exists2 C : R, 0 < C & forall v, `|bil A v v| <= C * norm2 v.
Proof.
exists (1 + \sum_i \sum_j `|A i j|).
  by rewrite ltr_paddr ?ltr01 // !sumr_ge0 // => i _; apply: sumr_ge0 => j _.
move=> v; rewrite mulrDl mul1r ler_paddl ?norm2_ge0 //.
have vv i j : `|v 0 i * v 0 j| <= norm2 v.
  have vi k : v 0 k ^+ 2 <= norm2 v.
    by rewrite /norm2 (bigD1 k) //= ler_addl sumr_ge0 // => l _; exact: sqr_ge0.
  exact: abs_le (vi i) (vi j).
have -> : bil A v v = \sum_i \sum_j A i j * (v 0 i * v 0 j).
  rewrite /bil mxE exchange_big /=; apply: eq_bigr => j _; rewrite !mxE mulr_suml; apply: eq_bigr => i _.
  by rewrite mulrAC mulrC mulrA.
apply: le_trans (ler_norm_sum _ _ _) _; rewrite mulr_suml; apply: ler_sum => i _.
apply: le_trans (ler_norm_sum _ _ _) _; rewrite mulr_suml; apply: ler_sum => j _.
by rewrite normrM ler_wpmul2l.
Qed.

Lemma above_nonsingular n (A : 'M[R]_n) : above 0 A -> \det A != 0 -> exists2 c, 0 < c & above c A.
Proof.
move=> [sA pA] dA; have uA : A \in unitmx by rewrite unitmxE unitfE.
have [C C0 HC] := bil_bound (invmx A).
exists C^-1; first by rewrite invr_gt0.
split=> // v; rewrite mulrC ler_pdivr_mulr //.
pose w := v *m invmx A; have := pA (w - C *: v); rewrite mul0r.
have wA u : bil A w u = dot v u by rewrite /bil mulmxKV.
rewrite -scaleNr bilDl !bilDr !bilZl !bilZr (bilC v w sA) !wA [dot v w]dotC -[dot w v]/(gain A v) dot_norm => H.
have Hg : gain A v <= C * norm2 v by apply: le_trans (ler_norm _) (HC v).
rewrite -(ler_pmul2l C0) -subr_ge0; apply: le_trans H _; rewrite -subr_ge0.
rewrite (_ : _ - _ = C * norm2 v - gain A v); first by rewrite subr_ge0.
by ring.
Qed.

Lemma above_sub_scalar n (A : 'M[R]_n) c d : above (c + d) A <-> above c (A - d%:M).
Proof.
have sE v : bil (A - d%:M) v v = bil A v v - d * norm2 v.
  by rewrite bilDm -scaleN1r /bil -scalemxAr -scalemxAl mxE mul_mx_scalar -scalemxAl !mxE mulN1r -dot_norm /dot mxE.
split=> -[sA H]; split=> [|v].
- by rewrite linearB /= sA tr_scalar_mx.
- by rewrite sE ler_subr_addr -mulrDl.
- by move: sA; rewrite linearB /= tr_scalar_mx => /addIr.
- by rewrite mulrDl -ler_subr_addr -sE.
Qed.

Lemma above_eigenvalues n (A : 'M[R]_n) s : A^T = A -> (forall l, eigenvalue A l -> s <= l) -> above s A.
Proof.
case: n A => [|n] A sA H.
  by split=> // v; rewrite /norm2 big_ord0 mulr0 /bil mxE big_ord0.
pose T : set R := [set t | above t A]%classic.
have [C C0 HC] := bil_bound A.
have T0 : (T !=set0)%classic.
  by exists (- C); split=> // v; rewrite mulNr ler_oppl; apply: le_trans (HC v); rewrite -normrN ler_norm.
have ubT v : v != 0 -> ubound T (bil A v v / norm2 v).
  by move=> v0 t [_ Ht]; rewrite ler_pdivl_mulr // lt_neqAle norm2_ge0 eq_sym norm2_eq0 v0.
have v1 : (delta_mx 0 0 : 'rV[R]_n.+1) != 0.
  by apply/eqP => /matrixP/(_ 0 0)/eqP; rewrite !mxE eqxx oner_eq0.
have supT : has_sup T by split=> //; eexists; exact: ubT v1.
pose m := sup T.
have Hm : above m A.
  split=> // v; case: (eqVneq v 0) => [->|v0].
    by rewrite -dot_norm /dot /bil !mul0mx mxE mulr0.
  rewrite -ler_pdivl_mulr; last by rewrite lt_neqAle norm2_ge0 eq_sym norm2_eq0 v0.
  by apply: sup_le_ub T0 _; exact: ubT.
have A0 : above 0 (A - m%:M) by apply/above_sub_scalar; rewrite add0r.
have dm : \det (A - m%:M) = 0.
  apply/eqP; apply: contraT => /(above_nonsingular A0)[c c0 /above_sub_scalar Hc].
  have : c + m <= m by apply: sup_upper_bound supT _ Hc.
  by rewrite ger_addr leNgt c0.
have sm : s <= m.
  apply: H; apply/eigenvalueP; move/eqP/det0P: dm => [v v0 vA]; exists v => //.
  by apply/eqP; rewrite -subr_eq0 -mul_mx_scalar -mulmxBr vA.
split=> // v; apply: le_trans (Hm.2 v); rewrite ler_wpmul2r ?norm2_ge0 //.
Qed.

(* det(u I + A) of a singular A is at most of order u near 0. *)
Lemma singular_det n (A : 'M[R]_n) s : \det A = 0 ->
  exists2 C, 0 <= C & forall u, 0 <= u <= s -> \det (u%:M + A) <= C * u.
Proof.
move=> dA; pose p := char_poly (- A).
have pE u : p.[u] = \det (u%:M + A).
  rewrite /p /char_poly -horner_evalE -det_map_mx; congr (\det _).
  by apply/matrixP => i j; rewrite !mxE /= /horner_eval !(hornerE, hornerMn) opprK.
have /factor_theorem[q pq] : root p 0 by rewrite rootE pE (_ : _ + A = A) ?dA //; apply/matrixP => i j; rewrite !mxE mul0rn add0r.
have [C HC] := poly_itv_bound q 0 s.
exists `|C| => // u /andP[u0 us]; rewrite -pE pq hornerM subr0 hornerX ler_wpmul2r //.
by apply: le_trans (ler_norm _) (le_trans (HC u _) (ler_norm _)); rewrite u0.
Qed.

(* Positive semidefinite matrices give a law. *)
Section Psd.
Variables (n : nat) (L : 'M[R]_n).
Hypothesis HL : above 0 L.

Lemma psd_det_ge0 k (A : 'M[R]_k) : above 0 A -> 0 <= \det A.
Proof.
move=> HA; case: (eqVneq (\det A) 0) => [->//|d]; have [c c0 Hc] := above_nonsingular HA d.
exact: ltW (above_det_gt0 c0 Hc).
Qed.

Lemma psd_minor_ge0 Y : 0 <= minor L Y.
Proof. exact: psd_det_ge0 (above_sub Y HL). Qed.

Lemma psd_total_gt0 : 0 < \det (L + 1%:M).
Proof. by have H := above_add1 HL; rewrite addr0 in H; exact: above_det_gt0 ltr01 H. Qed.

Lemma psd_dpp_ge0 Y : 0 <= dpp L Y.
Proof. by rewrite divr_ge0 ?psd_minor_ge0 // ltW // psd_total_gt0. Qed.

Lemma psd_dpp_sum1 : \sum_Y dpp L Y = 1.
Proof. by rewrite -mulr_suml sum_minor divff // gt_eqF // psd_total_gt0. Qed.

Definition psd_law : law R (subset_of n) := Law psd_dpp_ge0 psd_dpp_sum1.
End Psd.

Lemma psd_above n (L : 'M[R]_n) : psd L <-> above 0 L.
Proof. by split=> -[sL H]; split=> // v; [rewrite mul0r; exact: H | have := H v; rewrite mul0r]. Qed.

(* The marginal kernel. *)
Lemma sum_minor_above n (L : 'M[R]_n) (A : {set 'I_n}) :
  \sum_(Y : {set 'I_n} | A \subset Y) minor L Y = \det (\matrix_(i, j) (L i j + ((i \notin A) && (i == j))%:R)).
Proof.
rewrite [RHS]/determinant; under [RHS]eq_bigr => s _.
  under eq_bigr do rewrite mxE.
  rewrite (prod_add (fun i => L i (s i))) mulr_sumr.
  over.
rewrite exchange_big /= big_mkcond; apply: eq_bigr => Y _; case: ifP => AY.
  rewrite minorE /determinant; apply: eq_bigr => s _; congr (_ * _); apply: eq_bigr => i _; rewrite mxE.
  case: (boolP (i \in Y)) => // iY; suff -> : i \notin A by [].
  by apply: contra iY; exact: (subsetP AY).
have /subsetPn[i iA iY] := negbT AY.
by rewrite big1 // => s _; rewrite (bigD1 i) //= (negbTE iY) iA mul0r mulr0.
Qed.

Lemma marginal_minor n (L : 'M[R]_n) (A : {set 'I_n}) : above 0 L ->
  \sum_(Y : {set 'I_n} | A \subset Y) minor L Y = minor (L *m invmx (L + 1%:M)) A * \det (L + 1%:M).
Proof.
move=> HL; have uL : L + 1%:M \in unitmx by rewrite unitmxE unitfE gt_eqF ?psd_total_gt0.
rewrite sum_minor_above minorE -det_mulmx; congr (\det _).
rewrite (_ : mask _ _ = \matrix_i (if i \in A then row i (L *m invmx (L + 1%:M)) else delta_mx 0 i)); last first.
  by apply/matrixP => i j; rewrite !mxE; case: ifP => iA; rewrite !mxE ?eqxx //= eq_sym.
apply/row_matrixP => i; rewrite row_mul rowK; case: ifP => iA.
  by rewrite -row_mul mulmxKV //; apply/rowP => j; rewrite !mxE iA addr0.
by rewrite -rowE; apply/rowP => j; rewrite !mxE iA.
Qed.
End Least.

Theorem dp_k : DP_K.
Proof.
move=> R n L /psd_above HL K.
have uL : L + 1%:M \in unitmx by rewrite unitmxE unitfE gt_eqF ?psd_total_gt0.
have cL : L *m invmx (L + 1%:M) = invmx (L + 1%:M) *m L.
  apply: (can_inj (mulmxK uL)); rewrite mulmxKV // -mulmxA mulmxDr mulmx1.
  by rewrite -[X in _ = invmx _ *m X](_ : (L + 1%:M) *m L = _) ?mulKmx // mulmxDl mul1mx.
split=> [l v Lv|].
  case: (eqVneq v 0) => [->|v0]; first by rewrite mulmx0 scaler0.
  have l0 : 0 <= l.
    have q : 0 < dot v^T v^T.
      rewrite dot_norm lt_neqAle norm2_ge0 eq_sym norm2_eq0 andbT.
      by rewrite -(inj_eq (@trmx_inj _ _ _)) trmxK trmx0.
    rewrite /dot trmxK in q.
    by have := HL.2 v^T; rewrite /bil trmxK -mulmxA Lv -scalemxAr [X in _ <= X]mxE mul0r pmulr_lge0.
  have l1 : 1 + l != 0 by rewrite gt_eqF // ltr_paddr ?ltr01.
  have Lv1 : (L + 1%:M) *m v = (1 + l) *: v by rewrite mulmxDl mul1mx Lv scalerDl scale1r addrC.
  rewrite /K cL -mulmxA Lv -scalemxAr; have -> : invmx (L + 1%:M) *m v = (1 + l)^-1 *: v.
    by apply: (can_inj (mulKmx uL)); rewrite mulKVmx // -scalemxAr Lv1 scalerA mulVf ?scale1r.
  by rewrite scalerA.
exists (psd_law HL) => // A; rewrite /chance.
rewrite (eq_bigl (fun Y : {set 'I_n} => A \subset Y)) => [|Y]; last by rewrite inE.
by rewrite /dpp -mulr_suml marginal_minor // mulfK // gt_eqF // psd_total_gt0.
Qed.

Theorem dp_t31_rep : DP_T31_REP.
Proof.
move=> R n s B D nb L s0 HL Hnb.
have HA d : above s (L d) by have [sL H] := HL d; exact: above_eigenvalues.
pose M d : law R (subset_of n) := Law (fun Y => ltW (dpp_gt0 Y s0 (HA d))) (dpp_sum1 s0 (HA d)).
exists M => //; have N0 := sqr_ge0 B.
have s1 : 0 < 1 + s by rewrite addr_gt0 ?ltr01.
have top0 : 0 < 1 + B ^+ 2 / s by rewrite ltr_paddr ?ltr01 // divr_ge0 // ltW.
have d1 : 1 <= 1 + B ^+ 2 / (1 + s) by rewrite ler_addl divr_ge0 // ltW.
have d0 : 0 < 1 + B ^+ 2 / (1 + s) by exact: lt_le_trans ltr01 d1.
apply: dp_pointwise => d e nde Y; rewrite lnK ?posrE //.
have pe := dpp_gt0 Y s0 (HA e).
have [x xN [E|E]] := Hnb _ _ nde; rewrite /= E.
- apply: le_trans (dpp_down s0 (HA d) xN Y) _; rewrite -E ler_pmul2r // ler_add2l.
  by rewrite ler_wpmul2l // lef_pinv ?posrE // ler_addr ler01.
- apply: le_trans (dpp_up s0 (HA e) xN Y) _; rewrite ler_pmul2r // ler_pdivr_mulr //.
  by rewrite -[X in X <= _]mulr1 ler_pmul2l.
Qed.
