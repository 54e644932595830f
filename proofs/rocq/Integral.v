(* The Lebesgue integral over ]0, 1] of a falling function that is a derivative. *)
From Dpassay Require Import Prelude.
From mathcomp.classical Require Import boolp classical_sets functions.
From mathcomp.analysis Require Import signed topology normedtype derive realfun.
From mathcomp.analysis Require Import measure lebesgue_measure lebesgue_integral.
From Dpassay Require Import Statements Core Calculus.
Import Statements.Selection.

Import Num.Def.
Import numFieldNormedType.Exports.
Local Open Scope classical_set_scope.

Section Falling.
Variables (R : realType) (f F : R -> R) (M : R).
Hypothesis f01 : forall t, 0 < t <= 1 -> 0 <= f t <= 1.
Hypothesis falling : forall t u, 0 < t -> t <= u -> u <= 1 -> f u <= f t.
Hypothesis fcont : forall t : R, 0 < t -> {for t, continuous f}.
Hypothesis dF : forall t : R, 0 < t -> is_derive t 1 F (f t).
Hypothesis FM : forall t, 0 < t <= 1 -> `|F t| <= M * t.
Local Notation mu := (@lebesgue_measure R).
Definition I (a b : R) : \bar R := (\int[mu]_(x in `]a, b]%classic) (f x)%:E)%E.

Lemma measurable_falling (a b : R) : 0 <= a -> measurable_fun `]a, b]%classic f.
Proof.
move=> a0; have m0 : measurable_fun (`]0, +oo[%classic : set R) f.
  apply: open_continuous_measurable_fun; first exact: interval_open.
  by move=> x; rewrite inE /= in_itv /= andbT => x0; apply: fcont.
apply: measurable_funS m0; first exact: measurable_itv.
by move=> x; rewrite /= !in_itv /= andbT => /andP[ax _]; apply: le_lt_trans ax.
Qed.

Lemma measurable_EFalling (a b : R) : 0 <= a -> measurable_fun `]a, b]%classic (fun x => (f x)%:E).
Proof. by move=> a0; apply/EFin_measurable_fun; apply: measurable_falling. Qed.

Lemma length (a b : R) : a <= b -> mu `]a, b]%classic = (b - a)%:E.
Proof.
move=> ab; rewrite lebesgue_measure_itv hlength_itv /= lte_fin; case: ltP => // ba.
by rewrite (le_anti (_ : a <= b <= a)) ?ab // subrr.
Qed.

Lemma constant (a b c : R) : a <= b -> (\int[mu]_(x in `]a, b]%classic) c%:E)%E = (c * (b - a))%:E.
Proof.
move=> ab; have H := @integral_cst _ _ R mu `]a, b]%classic (measurable_itv _) c%:E.
by apply: (etrans H); rewrite EFinM; congr (_ * _)%E; apply: length.
Qed.

Lemma positive (a b : R) : 0 <= a -> b <= 1 -> forall x : R, `]a, b]%classic x -> (0 <= (f x)%:E)%E.
Proof.
move=> a0 b1 x; rewrite /= in_itv /= => /andP[ax xb]; rewrite lee_fin.
have x01 : 0 < x <= 1 by rewrite (le_lt_trans a0 ax) (le_trans xb).
by case/andP: (f01 x01).
Qed.

Lemma upper (a b u : R) : 0 <= a -> a <= b -> b <= 1 -> 0 <= u -> (forall x, a < x <= b -> f x <= u) ->
  (I a b <= (u * (b - a))%:E)%E.
Proof.
move=> a0 ab b1 u0 H; rewrite -constant // /I; apply: ge0_le_integral.
- exact: measurable_itv.
- exact: positive.
- exact: measurable_EFalling.
- by move=> x _; rewrite lee_fin.
- exact: measurable_fun_cst.
- by move=> x; rewrite /= in_itv /= => axb; rewrite lee_fin; apply: H.
Qed.

Lemma lower (a b l : R) : 0 <= a -> a <= b -> b <= 1 -> 0 <= l -> (forall x, a < x <= b -> l <= f x) ->
  ((l * (b - a))%:E <= I a b)%E.
Proof.
move=> a0 ab b1 l0 H; rewrite -constant // /I; apply: ge0_le_integral.
- exact: measurable_itv.
- by move=> x _; rewrite lee_fin.
- exact: measurable_fun_cst.
- exact: positive.
- exact: measurable_EFalling.
- by move=> x; rewrite /= in_itv /= => axb; rewrite lee_fin; apply: H.
Qed.

Lemma additive (a b c : R) : 0 <= a -> a <= b -> b <= c -> c <= 1 -> (I a c = I a b + I b c)%E.
Proof.
move=> a0 ab bc c1.
have E : `]a, c]%classic = `]a, b]%classic `|` `]b, c]%classic.
  rewrite predeqE => x /=; rewrite !in_itv /=; split=> [/andP[ax xc]|[/andP[ax xb]|/andP[bx xc]]].
  - by have [xb|bx] := leP x b; [left|right]; rewrite ?ax ?xb ?bx.
  - by rewrite ax (le_trans xb).
  - by rewrite xc andbT (le_lt_trans ab).
rewrite /I {1}E integral_setU //.
- exact: measurable_itv.
- exact: measurable_itv.
- by rewrite -E; apply: measurable_EFalling.
- by rewrite -E; apply: positive.
- apply/disj_set2P; rewrite predeqE => x; split=> // -[] /=; rewrite !in_itv /= => /andP[_ xb] /andP[bx _].
  by move: xb; rewrite leNgt bx.
Qed.

Lemma finite (a b : R) : 0 <= a -> a <= b -> b <= 1 -> exists2 r : R, I a b = r%:E & 0 <= r <= b - a.
Proof.
move=> a0 ab b1.
have fx (x : R) : a < x <= b -> 0 <= f x <= 1.
  by case/andP=> ax xb; apply: f01; rewrite (le_lt_trans a0 ax) (le_trans xb).
have le1 : (I a b <= (1 * (b - a))%:E)%E by apply: upper => // x /fx/andP[].
have ge1 : ((0 * (b - a))%:E <= I a b)%E by apply: lower => // x /fx/andP[].
move: le1 ge1; rewrite mul1r mul0r; case: (I a b)%E => //= r; rewrite !lee_fin => r1 r0.
by exists r; rewrite ?r0.
Qed.

(* Over a short interval the integral and the increment of F differ by little. *)
Lemma close (a h : R) (m : nat) : 0 < a -> 0 <= h -> a + m%:R * h <= 1 ->
  exists2 r : R, I a (a + m%:R * h) = r%:E & `|r - (F (a + m%:R * h) - F a)| <= (f a - f (a + m%:R * h)) * h.
Proof.
move=> a0 h0; elim: m => [|m IH] am1.
  have a1 : a <= 1 by move: am1; rewrite mul0r addr0.
  have [r E /andP[r0 r1]] := finite (ltW a0) (lexx a) a1.
  exists r; first by rewrite mul0r addr0.
  by rewrite mul0r addr0 !subrr mul0r subr0 normr_le0 eq_le r0 andbT -(subrr a).
set b := a + m%:R * h in IH *; set c := a + m.+1%:R * h in am1 *.
have cE : c = b + h by rewrite /c /b -addn1 natrD mulrDl mul1r addrA.
have bc : b <= c by rewrite cE ler_addl.
have ab : a <= b by rewrite /b ler_addl mulr_ge0.
have b0 : 0 < b := lt_le_trans a0 ab.
have [r E1 R1] := IH (le_trans bc am1).
have c0 : 0 < c := lt_le_trans b0 bc.
have [r2 E2 _] := finite (ltW b0) bc am1.
have b1 : b <= 1 := le_trans bc am1.
have fb0 : 0 <= f b by have /f01/andP[] : 0 < b <= 1 by rewrite b0.
have fc0 : 0 <= f c by have /f01/andP[] : 0 < c <= 1 by rewrite c0.
have up : r2 <= f b * h.
  rewrite -lee_fin -E2 (_ : h = c - b); last by rewrite cE addrC addKr.
  apply: upper => //; first exact: ltW.
  by move=> x /andP[bx xc]; apply: falling => //; [apply: ltW | apply: le_trans am1].
have lo : f c * h <= r2.
  rewrite -lee_fin -E2 (_ : h = c - b); last by rewrite cE addrC addKr.
  apply: lower => //; first exact: ltW.
  by move=> x /andP[bx xc]; apply: falling => //; apply: lt_trans bx.
have inc : f c * h <= F c - F b <= f b * h.
  have [h1|h1] := eqVneq h 0; first by rewrite cE h1 addr0 subrr !mulr0 lexx.
  have hp : 0 < h by rewrite lt_neqAle eq_sym h1.
  have bc' : b < c by rewrite cE ltr_addl.
  have [x /andP[bx xc] ->] := mean_value bc' (fun x (bxc : b <= x <= c) => dF (lt_le_trans b0 (proj1 (andP bxc)))).
  have -> : c - b = h by rewrite cE addrC addKr.
  have x0 : 0 < x := lt_trans b0 bx.
  by rewrite !ler_pmul2r //; apply/andP; split; apply: falling => //; apply: ltW => //; apply: lt_le_trans am1.
exists (r + r2); first by rewrite (additive (ltW a0) ab bc am1) E1 E2 EFinD.
have -> : r + r2 - (F c - F a) = (r - (F b - F a)) + (r2 - (F c - F b)) by ring.
have -> : (f a - f c) * h = (f a - f b) * h + (f b - f c) * h by ring.
apply: le_trans (ler_norm_add _ _) _; apply: ler_add => //.
case/andP: inc => i1 i2; rewrite ler_norml; apply/andP; split.
- have -> : - ((f b - f c) * h) = f c * h - f b * h by ring.
  exact: ler_sub.
- by rewrite mulrBl; apply: ler_sub.
Qed.

Lemma integral_falling : I 0 1 = (F 1)%:E.
Proof.
have [r E _] := finite (lexx 0) ler01 (lexx (1 : R)); rewrite E; congr _%:E.
have one : 0 < (1 : R) <= 1 by rewrite ltr01 lexx.
have M0 : 0 <= M by have := FM one; rewrite mulr1; apply: le_trans.
have near N : (0 < N)%N -> `|r - F 1| <= (2 + M) / N%:R.
  move=> N0; have Np : 0 < N%:R :> R by rewrite ltr0n.
  have Nn : N%:R != 0 :> R by rewrite gt_eqF.
  set a := N%:R^-1 : R; have a0 : 0 < a by rewrite invr_gt0.
  have a1 : a <= 1 by rewrite invf_le1 // ler1n.
  have e1 : a + N.-1%:R * a = 1.
    by rewrite -{1}(mul1r a) -mulrDl -[1]/(1%:R) -natrD add1n prednK // divff.
  have e1' : a + N.-1%:R * a <= 1 by rewrite e1.
  have [r2 E2 R2] := close a0 (ltW a0) e1'.
  rewrite e1 in E2 R2; have [r1 E1 /andP[r10 r11]] := finite (lexx 0) (ltW a0) a1.
  have rE : r = r1 + r2.
    by apply: EFin_inj; rewrite -E (additive (lexx 0) (ltW a0) a1 (lexx 1)) E1 E2 EFinD.
  have -> : r - F 1 = r1 + (r2 - (F 1 - F a)) - F a by rewrite rE; ring.
  have -> : (2 + M) / N%:R = (a + a) + M * a by rewrite mulrDl mulr_natl mulr2n.
  apply: le_trans (ler_norm_sub _ _) _; apply: ler_add; last by apply: FM; rewrite a0.
  apply: le_trans (ler_norm_add _ _) _; apply: ler_add; first by rewrite ger0_norm // -[a]subr0.
  apply: le_trans R2 _; rewrite -[X in _ <= X]mul1r; apply: ler_wpmul2r; first exact: ltW.
  have /andP[f10 _] := f01 one; have /f01/andP[_ fa1] : 0 < a <= 1 by rewrite a0.
  by rewrite ler_subl_addr; apply: le_trans fa1 _; rewrite ler_addl.
apply/eqP; rewrite -subr_eq0 -normr_le0 leNgt; apply/negP => d0.
have x0 : 0 <= (2 + M) / `|r - F 1| by rewrite divr_ge0 ?addr_ge0 ?ler0n.
have bnd := archi_boundP x0; set N := Num.bound _ in bnd.
have N0 : (0 < N)%N by rewrite -(ltr_nat R); apply: le_lt_trans bnd.
have := near N N0; rewrite leNgt => /negP; apply.
by rewrite ltr_pdivr_mulr ?ltr0n // mulrC -ltr_pdivr_mulr.
Qed.

End Falling.
