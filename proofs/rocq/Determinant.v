(* Linear algebra: principal minors, positive definite matrices, one more row. *)
From Dpassay Require Import Prelude.
From mathcomp Require Import all_fingroup.
From Dpassay Require Import Statements.
Import Statements.Determinantal.

Section Minors.
Variable R : realType.

(* L with the rows outside Y replaced by those of the identity. *)
Definition mask n (L : 'M[R]_n) (Y : {set 'I_n}) : 'M[R]_n :=
  \matrix_(i, j) if i \in Y then L i j else (i == j)%:R.

Lemma prod_add (I : finType) (F G : I -> R) :
  \prod_i (F i + G i) = \sum_(Y : {set I}) \prod_i (if i \in Y then F i else G i).
Proof.
transitivity (\prod_i \sum_(b : bool) (if b then F i else G i)).
  by apply: eq_bigr => i _; rewrite big_bool.
rewrite bigA_distr_bigA /=.
pose h (Y : {set I}) := [ffun i => i \in Y].
rewrite (reindex h) /=; last first.
  exists (fun f : {ffun I -> bool} => [set i | f i]) => [Y _|f _].
    by apply/setP => i; rewrite inE ffunE.
  by apply/ffunP => i; rewrite ffunE inE.
by apply: eq_bigr => Y _; apply: eq_bigr => i _; rewrite ffunE.
Qed.

Lemma det_add1 n (L : 'M[R]_n) : \det (L + 1%:M) = \sum_(Y : {set 'I_n}) \det (mask L Y).
Proof.
rewrite /determinant exchange_big /=; apply: eq_bigr => s _; rewrite -big_distrr /=; congr (_ * _).
under eq_bigr do rewrite 2!mxE.
by rewrite prod_add; apply: eq_bigr => Y _; apply: eq_bigr => i _; rewrite !mxE.
Qed.

Lemma det_mxsub_bij n (f : 'I_n -> 'I_n) (L : 'M[R]_n) : injective f -> \det (mxsub f f L) = \det L.
Proof.
move=> fi; pose s := perm fi.
have -> : mxsub f f L = perm_mx s *m L *m perm_mx (s^-1)%g.
  by rewrite -row_permE -col_permE; apply/matrixP => i j; rewrite !mxE !permE.
by rewrite !det_mulmx mulrAC -det_mulmx -perm_mxM mulgV perm_mx1 det1 mul1r.
Qed.

Lemma det_mxsub_mask k n (f : 'I_k -> 'I_n) (L : 'M[R]_n) :
  injective f -> \det (mxsub f f L) = \det (mask L [set f i | i in setT]).
Proof.
elim: n f L => [|n IH] f L fi.
  have k0 : k = 0%N by apply/eqP; rewrite -leqn0 -(card_ord k) -[X in (_ <= X)%N](card_ord 0) (leq_card f).
  by move: f fi; rewrite k0 => f fi; rewrite !det_mx00.
case: (boolP [forall i, i \in [set f i | i in setT]]) => [/forallP full|].
  have kn : k = n.+1.
    have <- : #|[set f i | i in setT]| = k by rewrite card_imset // cardsT card_ord.
    rewrite -[RHS](card_ord n.+1); apply: eq_card => i; by rewrite full.
  subst k; rewrite det_mxsub_bij //; congr (\det _); apply/matrixP => i j.
  by rewrite !mxE full.
rewrite negb_forall => /existsP[i0 ni0].
have nf i : i0 != f i by apply: contra ni0 => /eqP ->; apply: imset_f; rewrite inE.
have lf i : {j | f i = lift i0 j} by case: (unlift_some (nf i)) => j E _; exists j.
pose f' i := sval (lf i).
have f'E i : lift i0 (f' i) = f i by rewrite /f'; case: (lf i).
have f'i : injective f' by move=> i j E; apply: fi; rewrite -!f'E E.
have -> : mxsub f f L = mxsub f' f' (row' i0 (col' i0 L)).
  by apply/matrixP => i j; rewrite !mxE !f'E.
rewrite IH // (expand_det_row _ i0) (bigD1 i0) //= big1 ?addr0; last first.
  by move=> j ji; rewrite mxE (negbTE ni0) eq_sym (negbTE ji) mul0r.
rewrite mxE (negbTE ni0) eqxx mul1r /cofactor addnn -signr_odd odd_double mul1r.
congr (\det _); apply/matrixP => i j; rewrite !mxE.
have -> : (i \in [set f' i | i in setT]) = (lift i0 i \in [set f i | i in setT]).
  apply/imsetP/imsetP => -[x _ E]; exists x => //; first by rewrite E f'E.
  by apply: (@lift_inj _ i0); rewrite f'E.
by rewrite (inj_eq (@lift_inj _ i0)).
Qed.

Lemma minorE n (L : 'M[R]_n) Y : minor L Y = \det (mask L Y).
Proof.
rewrite /minor det_mxsub_mask; last exact: enum_val_inj.
congr (\det (mask L _)); apply/setP => i; apply/imsetP/idP => [[j _ ->]|iY]; first exact: enum_valP.
by exists (enum_rank_in iY i); rewrite ?inE // enum_rankK_in.
Qed.

Lemma sum_minor n (L : 'M[R]_n) : \sum_(Y : {set 'I_n}) minor L Y = \det (L + 1%:M).
Proof. by rewrite det_add1; apply: eq_bigr => Y _; rewrite minorE. Qed.

Lemma minor0 n (L : 'M[R]_n) : minor L set0 = 1.
Proof. by rewrite minorE -(det1 R n); congr (\det _); apply/matrixP => i j; rewrite !mxE inE. Qed.

Lemma minorT n (L : 'M[R]_n) : minor L setT = \det L.
Proof. by rewrite minorE; congr (\det _); apply/matrixP => i j; rewrite !mxE inE. Qed.

End Minors.

Section Definite.
Variable R : realType.
Implicit Type n : nat.

(* u A v' for rows u and v. *)
Definition bil n (A : 'M[R]_n) (u v : 'rV[R]_n) : R := (u *m A *m v^T) 0 0.
Definition dot n (u v : 'rV[R]_n) : R := (u *m v^T) 0 0.

Lemma dotE n (u v : 'rV[R]_n) : dot u v = \sum_i u 0 i * v 0 i.
Proof. by rewrite /dot mxE; apply: eq_bigr => i _; rewrite mxE. Qed.
Lemma dotC n (u v : 'rV[R]_n) : dot u v = dot v u.
Proof. by rewrite !dotE; apply: eq_bigr => i _; rewrite mulrC. Qed.
Lemma dot_norm n (u : 'rV[R]_n) : dot u u = norm2 u.
Proof. by rewrite dotE; apply: eq_bigr => i _; rewrite expr2. Qed.
Lemma norm2_ge0 n (u : 'rV[R]_n) : 0 <= norm2 u.
Proof. by apply: sumr_ge0 => i _; exact: sqr_ge0. Qed.
Lemma norm2_eq0 n (u : 'rV[R]_n) : (norm2 u == 0) = (u == 0).
Proof.
rewrite /norm2 psumr_eq0; last by move=> i _; exact: sqr_ge0.
apply/allP/eqP => [H|-> i _]; last by rewrite /= mxE expr0n /= eqxx.
by apply/rowP => i; apply/eqP; have := H i (mem_index_enum i); rewrite /= expf_eq0 mxE.
Qed.
Lemma bil1 n (u v : 'rV[R]_n) : bil 1%:M u v = dot u v.
Proof. by rewrite /bil mulmx1. Qed.
Lemma bilDl n (A : 'M[R]_n) u v w : bil A (u + v) w = bil A u w + bil A v w.
Proof. by rewrite /bil !mulmxDl mxE. Qed.
Lemma bilDr n (A : 'M[R]_n) u v w : bil A w (u + v) = bil A w u + bil A w v.
Proof. by rewrite /bil linearD mulmxDr mxE. Qed.
Lemma bilZl n (A : 'M[R]_n) c u w : bil A (c *: u) w = c * bil A u w.
Proof. by rewrite /bil -!scalemxAl mxE. Qed.
Lemma bilZr n (A : 'M[R]_n) c u w : bil A w (c *: u) = c * bil A w u.
Proof. by rewrite /bil linearZ -scalemxAr mxE. Qed.
Lemma bilDm n (A B : 'M[R]_n) u v : bil (A + B) u v = bil A u v + bil B u v.
Proof. by rewrite /bil mulmxDr mulmxDl mxE. Qed.
Lemma bil_scalar n c (u v : 'rV[R]_n) : bil c%:M u v = c * dot u v.
Proof. by rewrite /bil mul_mx_scalar -scalemxAl mxE. Qed.
Lemma bilC n (A : 'M[R]_n) u v : A^T = A -> bil A u v = bil A v u.
Proof.
by move=> sA; rewrite /bil -[in LHS](trmxK (u *m A *m v^T)) [LHS]mxE !trmx_mul trmxK sA mulmxA.
Qed.
Lemma dotDl n (u v w : 'rV[R]_n) : dot (u + v) w = dot u w + dot v w.
Proof. by rewrite -!bil1 bilDl. Qed.
Lemma dotZl n c (u w : 'rV[R]_n) : dot (c *: u) w = c * dot u w.
Proof. by rewrite -!bil1 bilZl. Qed.
Lemma dotDr n (u v w : 'rV[R]_n) : dot w (u + v) = dot w u + dot w v.
Proof. by rewrite -!bil1 bilDr. Qed.
Lemma dotZr n c (u w : 'rV[R]_n) : dot w (c *: u) = c * dot w u.
Proof. by rewrite -!bil1 bilZr. Qed.

(* A symmetric matrix whose eigenvalues are at least c. *)
Definition above n (c : R) (A : 'M[R]_n) := A^T = A /\ forall v, c * norm2 v <= bil A v v.

Lemma above_det_neq0 n c (A : 'M[R]_n) : 0 < c -> above c A -> \det A != 0.
Proof.
move=> c0 [_ H]; apply/det0P => -[v v0 vA]; have := H v.
rewrite /bil vA mul0mx mxE pmulr_rle0 // => n0.
by case/negP: v0; rewrite -norm2_eq0 eq_le n0 norm2_ge0.
Qed.
Lemma above_unit n c (A : 'M[R]_n) : 0 < c -> above c A -> A \in unitmx.
Proof. by move=> c0 H; rewrite unitmxE unitfE (above_det_neq0 c0 H). Qed.

Lemma above_det_gt0 n c (A : 'M[R]_n) : 0 < c -> above c A -> 0 < \det A.
Proof.
move=> c0; elim: n A => [|n IH] A HA; first by rewrite det_mx00 ltr01.
pose a := @ulsubmx R 1 n 1 n A; pose b := @ursubmx R 1 n 1 n A.
pose d := @drsubmx R 1 n 1 n A; pose e := a 0 0.
have sA : A^T = A by case: HA.
have bE : @dlsubmx R 1 n 1 n A = b^T.
  by apply/matrixP => i j; rewrite !mxE -[in LHS]sA mxE.
have AE : A = @block_mx R 1 n 1 n a b b^T d by rewrite -bE submxK.
have aE : a = e%:M by rewrite [LHS]mx11_scalar.
have e0 : 0 < e.
  have := HA.2 (@row_mx R 1 1 n 1 0).
  rewrite {1}AE /bil (@mul_row_block R 1 1 n 1 n) (@tr_row_mx R 1 1 n) (@mul_row_col R 1 1 n 1) !trmx0 mulmx0 addr0 trmx1 mulmx1.
  rewrite mul1mx mul0mx addr0 -/e; apply: lt_le_trans; rewrite mulr_gt0 //.
  rewrite lt_neqAle norm2_ge0 andbT eq_sym norm2_eq0; apply/eqP => /matrixP/(_ 0 (@lshift 1 n 0)).
  by rewrite (@row_mxEl R 1 1 n) !mxE eqxx => /eqP; rewrite oner_eq0.
pose S := d - e^-1 *: (b^T *m b).
have fac : A = @block_mx R 1 n 1 n 1%:M 0 (e^-1 *: b^T) 1%:M *m @block_mx R 1 n 1 n a b 0 S.
  rewrite mulmx_block !mul1mx !mul0mx !addr0 [LHS]AE; congr (@block_mx R 1 n 1 n _ _ _ _).
    by rewrite aE mul_mx_scalar scalerA divff ?scale1r // gt_eqF.
  by rewrite /S -scalemxAl addrC subrK.
rewrite fac det_mulmx (@det_lblock _ 1) (@det_ublock _ 1) !det1 !mul1r det_mx11 mulr_gt0 //.
apply: IH; split=> [|v].
  rewrite /S linearB /= linearZ /= trmx_mul trmxK; congr (_ - _).
  by apply/matrixP => i j; rewrite !mxE -[in LHS]sA mxE.
pose t := - (e^-1 *: (v *m b^T)).
have := HA.2 (@row_mx R 1 1 n t v).
have -> : bil A (@row_mx R 1 1 n t v) (@row_mx R 1 1 n t v) = bil S v v.
  rewrite /bil {1}AE (@mul_row_block R 1 1 n 1 n) (@tr_row_mx R 1 1 n) (@mul_row_col R 1 1 n 1).
  have -> : t *m a + v *m b^T = 0.
    by rewrite aE mul_mx_scalar /t scalerN scalerA divff ?scale1r ?addNr // gt_eqF.
  rewrite mul0mx add0r /S mulmxBr /t mulNmx [- _ + _]addrC -scalemxAl -scalemxAr mulmxA //.
apply: le_trans; rewrite ler_pmul2l // -!dot_norm /dot (@tr_row_mx R 1 1 n) (@mul_row_col R 1 1 n 1) [X in _ <= X]mxE ler_addr.
by have := norm2_ge0 t; rewrite -dot_norm.
Qed.

(* x A^-1 x'. *)
Definition gain n (A : 'M[R]_n) (x : 'rV[R]_n) : R := bil (invmx A) x x.

Lemma det_row1 n (A : 'M[R]_n) x : A \in unitmx -> \det (A + x^T *m x) = \det A * (1 + gain A x).
Proof.
move=> uA; pose B := block_mx A (- x^T) x (1%:M : 'M_1).
have E1 : B = block_mx 1%:M 0 (x *m invmx A) 1%:M *m block_mx A (- x^T) 0 (1 + gain A x)%:M.
  rewrite mulmx_block !mul1mx !mul0mx !addr0 mulmxKV // mulmxN; congr (block_mx _ _ _ _).
  by rewrite raddfD /= /gain /bil -mx11_scalar addrCA addNr addr0.
have E2 : B = block_mx (A + x^T *m x) (- x^T) 0 1%:M *m block_mx 1%:M 0 x 1%:M.
  by rewrite mulmx_block !mulmx1 !mulmx0 !mul1mx !add0r mulNmx addrK.
have := congr1 determinant E1; rewrite {1}E2 !det_mulmx !det_lblock !det_ublock !det1 !mulr1 !mul1r det_scalar1.
exact.
Qed.

Section OneMatrix.
Variables (n : nat) (c : R) (A : 'M[R]_n).
Hypotheses (c0 : 0 < c) (HA : above c A).

Let uA : A \in unitmx := above_unit c0 HA.

Lemma gain_dot x : gain A x = dot (x *m invmx A) x.
Proof. by []. Qed.

Lemma gain_bil x : bil A (x *m invmx A) (x *m invmx A) = gain A x.
Proof. by rewrite gain_dot dotC /bil mulmxKV. Qed.

Lemma gain_var x v : dot v x *+ 2 - bil A v v <= gain A x.
Proof.
pose w := x *m invmx A; have : 0 <= bil A (v - w) (v - w).
  by apply: le_trans (HA.2 _); rewrite mulr_ge0 ?norm2_ge0 // ltW.
have wA u : bil A w u = dot x u by rewrite /bil mulmxKV.
rewrite -scaleN1r bilDl !bilDr !bilZl !bilZr (bilC v w HA.1) !wA -(gain_bil x) -/w wA (dotC v x).
by move=> H; rewrite -subr_ge0; apply: le_trans H _; rewrite le_eqVlt; apply/orP; left; apply/eqP; ring.
Qed.

Lemma gain_ge0 x : 0 <= gain A x.
Proof. by rewrite -gain_bil; apply: le_trans (HA.2 _); rewrite mulr_ge0 ?norm2_ge0 // ltW. Qed.

Lemma gain_le x : gain A x <= norm2 x / c.
Proof.
pose v := x *m invmx A; have H : c * norm2 v <= gain A x by rewrite -gain_bil; exact: HA.2.
have := norm2_ge0 (c *: v - x).
rewrite -dot_norm -scaleN1r dotDl !dotDr !dotZl !dotZr (dotC x v) -gain_dot !dot_norm => H2.
rewrite ler_pdivl_mulr // -subr_ge0; apply: le_trans H2 _; rewrite -subr_ge0.
rewrite (_ : _ - _ = c * (gain A x - c * norm2 v)); last by ring.
by rewrite mulr_ge0 ?subr_ge0 // ltW.
Qed.

Lemma above_add1 : above (1 + c) (A + 1%:M).
Proof.
split=> [|v]; first by rewrite linearD /= HA.1 trmx1.
by rewrite bilDm bil_scalar dot_norm !mulrDl !mul1r addrC ler_add2r HA.2.
Qed.

Lemma gain_add1_ge x : c / (1 + c) * gain A x <= gain (A + 1%:M) x.
Proof.
have c1 : 0 < 1 + c by rewrite addr_gt0 ?ltr01.
pose v := x *m invmx A; pose t := c / (1 + c).
have H : c * norm2 v <= gain A x by rewrite -gain_bil; exact: HA.2.
pose A1 := A + 1%:M.
have HA1 : above (1 + c) A1 := above_add1.
have uA1 : A1 \in unitmx := above_unit c1 HA1.
pose w := x *m invmx A1; have : 0 <= bil A1 (t *: v - w) (t *: v - w).
  by apply: le_trans (HA1.2 _); rewrite mulr_ge0 ?norm2_ge0 // ltW.
have wA u : bil A1 w u = dot x u by rewrite /bil mulmxKV.
rewrite -scaleN1r bilDl !bilDr !bilZl !bilZr (bilC v w HA1.1) !wA [dot x w]dotC -[dot w x]/(gain A1 x).
rewrite (dotC x v) -gain_dot bilDm gain_bil bil1 dot_norm => H2.
rewrite -subr_ge0; apply: le_trans H2 _; rewrite -subr_ge0 -/A1.
have -> : gain A1 x - c / (1 + c) * gain A x -
   (t * (t * (gain A x + norm2 v)) + t * (-1 * gain A x) + (-1 * (t * gain A x) + -1 * (-1 * gain A1 x)))
  = c / (1 + c) ^+ 2 * (gain A x - c * norm2 v).
  by rewrite /t; field; rewrite gt_eqF.
by rewrite mulr_ge0 ?subr_ge0 // divr_ge0 ?exprn_ge0 // ltW.
Qed.

End OneMatrix.

(* Principal submatrices. *)
Definition sub n (Y : {set 'I_n}) (A : 'M[R]_n) : 'M[R]_#|Y| := mxsub (@enum_val _ (mem Y)) (@enum_val _ (mem Y)) A.
Definition subrow n (Y : {set 'I_n}) (x : 'rV[R]_n) : 'rV[R]_#|Y| := colsub (@enum_val _ (mem Y)) x.
(* The row that is v on Y and 0 elsewhere. *)
Definition extend n (Y : {set 'I_n}) (v : 'rV[R]_#|Y|) : 'rV[R]_n := v *m rowsub (@enum_val _ (mem Y)) 1%:M.

Lemma sub_row1 n (Y : {set 'I_n}) A x : sub Y (A + x^T *m x) = sub Y A + (subrow Y x)^T *m subrow Y x.
Proof.
apply/matrixP => i j; rewrite !mxE; congr (_ + _).
by apply: eq_bigr => k _; rewrite !mxE.
Qed.

Lemma dot_extend n (Y : {set 'I_n}) (v : 'rV[R]_#|Y|) x : dot (extend v) x = dot v (subrow Y x).
Proof.
rewrite /dot /extend -mulmxA mul_rowsub_mx mul1mx; congr ((_ *m _) _ _).
by apply/matrixP => i j; rewrite !mxE.
Qed.

Lemma bil_extend n (Y : {set 'I_n}) (A : 'M[R]_n) (v w : 'rV[R]_#|Y|) : bil A (extend v) (extend w) = bil (sub Y A) v w.
Proof.
rewrite /bil /extend trmx_mul -!mulmxA; congr ((_ *m _) _ _).
rewrite mulmxA mulmxA; congr (_ *m _).
rewrite mul_rowsub_mx mul1mx; apply/matrixP => i j; rewrite !mxE (bigD1 (enum_val j)) //= big1.
  by rewrite !mxE eqxx mulr1 addr0.
by move=> k kj; rewrite !mxE eq_sym (negbTE kj) mulr0.
Qed.

Lemma norm_extend n (Y : {set 'I_n}) (v : 'rV[R]_#|Y|) : norm2 (extend v) = norm2 v.
Proof.
rewrite -!dot_norm -!bil1 bil_extend; congr (bil _ _ _).
by apply/matrixP => i j; rewrite !mxE (inj_eq enum_val_inj).
Qed.

Lemma above_sub n (Y : {set 'I_n}) c A : above c A -> above c (sub Y A).
Proof.
case=> sA H; split=> [|v]; last by rewrite -bil_extend -norm_extend H.
by apply/matrixP => i j; rewrite !mxE -[in LHS]sA mxE.
Qed.

Lemma gain_sub_le n (Y : {set 'I_n}) c A x : 0 < c -> above c A -> gain (sub Y A) (subrow Y x) <= gain A x.
Proof.
move=> c0 HA; have HY := above_sub Y HA.
have -> : gain (sub Y A) (subrow Y x) = let v := subrow Y x *m invmx (sub Y A) in
    dot (extend v) x *+ 2 - bil A (extend v) (extend v).
  by rewrite /= dot_extend bil_extend (gain_bil c0 HY) -gain_dot mulr2n addrK.
exact: gain_var c0 HA _ _.
Qed.

End Definite.
