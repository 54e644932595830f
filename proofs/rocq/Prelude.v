(* What the proofs use of MathComp, and their settings. *)
From mathcomp Require Export all_ssreflect all_algebra ring.
From mathcomp.analysis Require Export reals ereal sequences exp.
Export Order.TTheory GRing.Theory Num.Theory.
#[export] Set Implicit Arguments.
#[export] Unset Strict Implicit.
#[export] Unset Printing Implicit Defensive.
#[global] Open Scope ring_scope.
