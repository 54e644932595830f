(* Finite-support differential privacy: what every other file uses. *)
From Dpassay Require Import Prelude Statements.
Import Statements.Selection.

Section Core.
Variable R : realType.

Lemma expR_ge0 (x : R) : 0 <= expR x. Proof. exact: ltW (expR_gt0 x). Qed.

Lemma expR_ge1 (x : R) : 0 <= x -> 1 <= expR x.
Proof. by move=> x0; rewrite -(@expR0 R) ler_expR. Qed.

Lemma sum_gt0 (T : finType) (f : T -> R) : (forall t, 0 < f t) -> (exists t : T, True) -> 0 < \sum_t f t.
Proof.
move=> f0 [t _]; rewrite (bigD1 t) //=; apply: ltr_spaddl => //.
by apply: sumr_ge0 => u _; apply: ltW.
Qed.

(* Law from a nonnegative function summing to 1, and back. *)
Lemma privateP (D : Type) (T : finType) (nb : D -> D -> Prop) (eps : R) (p : D -> T -> R) :
  (forall x t, 0 <= p x t) -> (forall x, \sum_t p x t = 1) ->
  (forall x y, nb x y -> forall t, p x t <= expR eps * p y t) -> private nb eps p.
Proof.
move=> p0 p1 ple; exists (fun x => @Law R T (p x) (p0 x) (p1 x)); split=> // x y xy E.
by rewrite addr0 /chance mulr_sumr; apply: ler_sum => t _ /=; apply: ple.
Qed.

Lemma private_pointwise (D : Type) (T : finType) (nb : D -> D -> Prop) (eps : R) (p : D -> T -> R) :
  private nb eps p -> [/\ forall x t, 0 <= p x t, forall x, \sum_t p x t = 1 &
    forall x y, nb x y -> forall t, p x t <= expR eps * p y t].
Proof.
case=> M [Mp Mdp]; split.
- by move=> x t; rewrite -Mp; apply: pr_ge0.
- by move=> x; rewrite -(pr_sum1 (M x)); apply: eq_bigr => t _; rewrite Mp.
move=> x y xy t; have := Mdp x y xy [set t].
by rewrite addr0 /chance !big_set1 !Mp.
Qed.

(* Post-processing by a function. *)
Lemma private_map (D : Type) (T U : finType) (nb : D -> D -> Prop) (eps : R) (p : D -> T -> R) (f : T -> U) :
  private nb eps p -> private nb eps (fun x u => \sum_(t | f t == u) p x t).
Proof.
case/private_pointwise => p0 p1 ple; apply: privateP.
- by move=> x u; apply: sumr_ge0.
- move=> x; rewrite -(p1 x) (partition_big f predT) //=.
- by move=> x y xy u; rewrite mulr_sumr; apply: ler_sum => t _; apply: ple.
Qed.

Lemma private_le (D : Type) (T : finType) (nb : D -> D -> Prop) (eps eps' : R) (p : D -> T -> R) :
  eps <= eps' -> private nb eps p -> private nb eps' p.
Proof.
move=> ee /private_pointwise[p0 p1 ple]; apply: privateP => // x y xy t.
by apply: le_trans (ple _ _ xy t) _; apply: ler_wpmul2r => //; rewrite ler_expR.
Qed.

(* Adaptive composition: the second mechanism sees the first's output. *)
Lemma private_adaptive (D : Type) (T U : finType) (nb : D -> D -> Prop) (e1 e2 : R) (p : D -> T -> R) (q : T -> D -> U -> R) :
  private nb e1 p -> (forall t, private nb e2 (q t)) ->
  private nb (e1 + e2) (fun x (tu : T * U) => p x tu.1 * q tu.1 x tu.2).
Proof.
move=> /private_pointwise[p0 p1 ple] Q; apply: privateP => [x [t u]|x|x y xy [t u]] /=.
- by case/private_pointwise: (Q t) => q0 _ _; apply: mulr_ge0.
- rewrite -(pair_bigA _ (fun t u => p x t * q t x u)) /= -(p1 x); apply: eq_bigr => t _.
  by case/private_pointwise: (Q t) => _ q1 _; rewrite -mulr_sumr q1 mulr1.
- case/private_pointwise: (Q t) => q0 _ qle; rewrite expRD mulrACA.
  by apply: ler_pmul => //; [apply: ple | apply: qle].
Qed.

(* y is m steps from x. *)
Fixpoint within (D : Type) (nb : D -> D -> Prop) (m : nat) (x y : D) : Prop :=
  if m is m'.+1 then exists2 z, nb x z & within nb m' z y else x = y.

(* Group privacy. *)
Lemma private_group (D : Type) (T : finType) (nb : D -> D -> Prop) (eps : R) (p : D -> T -> R) (m : nat) :
  private nb eps p -> private (within nb m) (m%:R * eps) p.
Proof.
case/private_pointwise => p0 p1 ple; apply: privateP => // x y; rewrite expRMm.
elim: m x => [|m IH] x /= => [-> t|[z xz zy] t]; first by rewrite expr0 mul1r.
apply: le_trans (ple _ _ xz t) _; rewrite exprS -mulrA; apply: ler_wpmul2l; [exact: expR_ge0 | exact: IH].
Qed.

(* Independent composition of L mechanisms. *)
Lemma product_sum (T : finType) (L : nat) (f : 'I_L -> T -> R) :
  \sum_(y : {ffun 'I_L -> T}) \prod_l f l (y l) = \prod_l \sum_t f l t.
Proof. by rewrite bigA_distr_bigA. Qed.

Lemma product_private (D : Type) (T : finType) (L : nat) (nb : D -> D -> Prop) (eps : R) (p : D -> 'I_L -> T -> R) :
  (forall l, private nb eps (fun x => p x l)) ->
  private nb (L%:R * eps) (fun x (y : {ffun 'I_L -> T}) => \prod_l p x l (y l)).
Proof.
move=> H; apply: privateP => [x y|x|x y xy v].
- by apply: prodr_ge0 => l _; case/private_pointwise: (H l).
- by rewrite product_sum big1 // => l _; case/private_pointwise: (H l).
rewrite expRMm -[X in _ ^+ X]card_ord -prodr_const -big_split /=.
by apply: ler_prod => l _; case/private_pointwise: (H l) => p0 _ ple; rewrite p0 ple.
Qed.

End Core.

Section Tuples.
Variables (V : zmodType) (I : finType).

Lemma sum_tuple0 (F : 0.-tuple I -> V) : \sum_(s : 0.-tuple I) F s = F [tuple].
Proof.
by apply: big_pred1 => s; apply/esym/eqP; apply: tuple0.
Qed.

Lemma sum_tupleS k (F : k.+1.-tuple I -> V) :
  \sum_(s : k.+1.-tuple I) F s = \sum_i \sum_(s : k.-tuple I) F [tuple of i :: s].
Proof.
rewrite pair_big /=.
rewrite (reindex (fun p : I * k.-tuple I => [tuple of p.1 :: p.2])) //=.
exists (fun s : k.+1.-tuple I => (thead s, [tuple of behead s])) => [[i s] _ | s _] /=.
- by congr pair; apply: val_inj.
- by rewrite [RHS]tuple_eta; apply: val_inj.
Qed.

End Tuples.
