(* Two runs of a program whose noise is aligned: events of the first are at most e^eps times likelier. *)
From mathcomp.classical Require Import boolp classical_sets functions.
From Dpassay Require Import Prelude.
From mathcomp.analysis Require Import topology normedtype measure.
From Dpassay Require Statements.
Local Open Scope classical_set_scope.

Theorem ALIGNMENT : Statements.Programs.ALIGNMENT.
Proof.
move=> R d1 d2 noise1 noise2 mu1 mu2 output trace1 trace2 out1 out2 align eps tm image kept E m1 m2.
pose F t := out1 @^-1` E `&` [set x | trace1 x = t].
have Fm t : measurable (F t) by apply: measurableI.
have Ft t : F t `<=` [set x | trace1 x = t] by move=> x [].
pose G t := align t @` F t.
have Gm t : measurable (G t) by have [] := image t (F t) (Fm t) (Ft t).
have Gt t y : G t y -> trace2 y = t /\ E (out2 y).
  by move=> [x [xE <-] <-]; have [-> ->] := kept x.
have -> : out1 @^-1` E = \bigcup_t F t.
  by apply/seteqP; split=> [x xE|x [t _ []//]]; exists (trace1 x).
rewrite measure_bigcup //; last by move=> s t _ _ [x [[_ <-] [_ <-]]].
have step : (\sum_(t <oo) mu1 (F t) <= \sum_(t <oo) (expR eps)%:E * mu2 (G t))%E.
  apply: lee_nneseries => t; first by move=> _; apply: measure_ge0.
  by move=> _; have [] := image t (F t) (Fm t) (Ft t).
apply: le_trans step _; rewrite nneseriesrM; last by move=> t _; exact: measure_ge0.
apply: lee_wpmul2l; first by rewrite lee_fin ltW ?expR_gt0.
rewrite -measure_bigcup //; last by move=> s t _ _ [y [/Gt [<- _] /Gt [<- _]]].
have GU : measurable (\bigcup_t G t) by apply: bigcup_measurable => t _; apply: Gm.
apply: le_measure; [by apply/mem_set | by apply/mem_set |].
by move=> y [t _ /Gt [_]].
Qed.
