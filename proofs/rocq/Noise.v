(* Laplace noise: how an iterated integral moves with the numbers that the noise is added to. *)
From Dpassay Require Import Prelude.
From mathcomp.classical Require Import classical_sets.
From mathcomp.analysis Require Import measure lebesgue_measure lebesgue_integral.
From Dpassay Require Import Statements Core Selection Measures.
Import Statements.Selection.

Section Noise.
Variable R : realType.
Implicit Types (b a : R) (E : seq R -> bool).

Lemma laplace_ge0 b z : 0 < b -> 0 <= laplace_density b z.
Proof. by move=> b0; rewrite divr_ge0 ?expR_ge0 // mulr_ge0 ?ler0n // ltW. Qed.

Lemma laplace_ratio b z a a' : 0 < b -> laplace_density b (z - a) <= expR (`|a - a'| / b) * laplace_density b (z - a').
Proof.
move=> b0; rewrite /laplace_density mulrA -expRD ler_pmul2r ?invr_gt0 ?mulr_gt0 ?ltr0n //.
rewrite ler_expR -mulrDl ler_pmul2r ?invr_gt0 // -ler_subl_addr opprK addrC ler_subl_addr.
by rewrite -[z - a'](subrKA a) [X in _ <= X]addrC; apply: ler_norm_add.
Qed.

Lemma noisy_ge0 b (q : seq R) E : 0 < b -> (0 <= noisy_chance b q E)%E.
Proof.
move=> b0; elim: q E => [|a q IH] E /=; first by rewrite lee_fin ler0n.
by apply: integral_ge0 => z _; apply: mule_ge0 => //; rewrite lee_fin laplace_ge0.
Qed.

Lemma noisy_ratio (I : Type) (s : seq I) (q q' : I -> R) b E : 0 < b ->
  (noisy_chance b [seq q i | i <- s] E <=
   (expR (\sum_(i <- s) `|q i - q' i| / b))%:E * noisy_chance b [seq q' i | i <- s] E)%E.
Proof.
move=> b0; elim: s E => [|i s IH] E /=; first by rewrite big_nil expR0 mul1e.
have pos a (u : seq R) z F : (0 <= (laplace_density b (z - a))%:E * noisy_chance b u F)%E.
  by rewrite mule_ge0 ?noisy_ge0 // lee_fin laplace_ge0.
apply: integral_le => // [|z]; first exact: expR_gt0.
rewrite big_cons expRD [(expR _ * expR _)%:E]EFinM muleACA -[((expR _)%:E * (laplace_density _ _)%:E)%E]EFinM.
apply: lee_pmul => //; rewrite ?noisy_ge0 ?lee_fin ?laplace_ge0 //.
exact: laplace_ratio.
Qed.

End Noise.

Section Predicted.
Variables (R : realType) (I : finType).

Lemma chosen_card (w : I -> R) k (S : {set I}) : (k < #|S|)%N -> chosen w k S = 0.
Proof.
move=> kS; rewrite /chosen big_pred0 // => s; apply/negP => /eqP sS.
by move: kS; rewrite ltnNge -sS cardsE (leq_trans (card_size s)) // size_tuple.
Qed.

(* A private choice of at most k candidates, then noise on their scores. *)
Lemma noisy_private (D : Type) (nb : D -> D -> Prop) (w q : D -> I -> R) (k : nat) (b c e GS : R) (x y : D)
    (E : {set I} -> seq R -> bool) :
  private nb e (fun x => chosen (w x) k) -> 0 < b -> 0 <= GS -> k%:R * (GS / b) <= c ->
  nb x y -> (forall i, `|q x i - q y i| <= GS) ->
  ((\sum_(S : {set I}) (chosen (w x) k S)%:E * noisy_chance b [seq q x i | i <- enum S] (E S)) <=
   (expR (e + c))%:E * \sum_(S : {set I}) (chosen (w y) k S)%:E * noisy_chance b [seq q y i | i <- enum S] (E S))%E.
Proof.
case/private_pointwise => p0 _ ple b0 G0 kc xy qG.
rewrite ge0_sume_distrr; last by move=> S _; rewrite mule_ge0 ?noisy_ge0 // lee_fin.
apply: lee_sum => S _; have [kS|kS] := ltnP k #|S|; first by rewrite !chosen_card // !mul0e mule0.
rewrite expRD [(expR _ * expR _)%:E]EFinM muleACA -[((expR _)%:E * (chosen _ _ _)%:E)%E]EFinM.
apply: lee_pmul; rewrite ?noisy_ge0 ?lee_fin //; first exact: ple.
apply: le_trans (noisy_ratio _ _ _ _ b0) _; apply: lee_wpmul2r; first exact: noisy_ge0.
rewrite lee_fin ler_expR; apply: le_trans kc; apply: le_trans (_ : \sum_(i <- enum S) GS / b <= _).
  by apply: ler_sum => i _; rewrite ler_pmul2r ?invr_gt0.
rewrite big_enum sumr_const -mulr_natl; apply: ler_wpmul2r; last by rewrite ler_nat.
by rewrite divr_ge0 // ltW.
Qed.

End Predicted.
