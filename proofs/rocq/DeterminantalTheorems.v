(* One theorem per claim. *)
From mathcomp Require Import all_ssreflect.
From Dpassay Require Import Statements Determinant Determinantal Curve Variants Spectral FixedSize FewItems Kernels Functions Scores Conjecture.
Import Statements.Determinantal.

Theorem DP_Z : Statements.Determinantal.DP_Z.
Proof. exact: sum_minor. Qed.

Theorem DP_EPS_REP : Statements.Determinantal.DP_EPS_REP.
Proof. exact: dp_eps_rep. Qed.

Theorem DP_DELTA_REP : Statements.Determinantal.DP_DELTA_REP.
Proof. exact: dp_delta_rep. Qed.

Theorem DP_REPLACE_REP : Statements.Determinantal.DP_REPLACE_REP.
Proof. exact: dp_replace_rep. Qed.

Theorem DP_FUT : Statements.Determinantal.DP_FUT.
Proof. exact: dp_fut. Qed.

Theorem DP_KDPP_REP : Statements.Determinantal.DP_KDPP_REP.
Proof. exact: dp_kdpp_rep. Qed.

Theorem DP_KDPP_SMALL : Statements.Determinantal.DP_KDPP_SMALL.
Proof. exact: dp_kdpp_small. Qed.

Theorem DP_K : Statements.Determinantal.DP_K.
Proof. exact: dp_k. Qed.

Theorem DP_T31_REP : Statements.Determinantal.DP_T31_REP.
Proof. exact: dp_t31_rep. Qed.

Theorem DP_EXP : Statements.Determinantal.DP_EXP.
Proof. exact: dp_exp. Qed.

Theorem DP_T31 : Statements.Determinantal.DP_T31.
Proof. exact: dp_t31. Qed.

Theorem DP_T31_GEN : Statements.Determinantal.DP_T31_GEN.
Proof. exact: dp_t31_gen. Qed.

Theorem DP_PD_UNIF : Statements.Determinantal.DP_PD_UNIF.
Proof. exact: dp_pd_unif. Qed.

Theorem DP_JMON : Statements.Determinantal.DP_JMON.
Proof. exact: dp_jmon. Qed.

Theorem DP_PSD : Statements.Determinantal.DP_PSD.
Proof. exact: dp_psd. Qed.

Theorem DP_PSD_REP : Statements.Determinantal.DP_PSD_REP.
Proof. exact: dp_psd_rep. Qed.

Theorem DP_DL : Statements.Determinantal.DP_DL.
Proof. exact: dp_dl. Qed.

Theorem DP_L2 : Statements.Determinantal.DP_L2.
Proof. exact: dp_l2. Qed.

Theorem DP_DU_OP : Statements.Determinantal.DP_DU_OP.
Proof. exact: dp_du_op. Qed.

Theorem DP_WORST : Statements.Determinantal.DP_WORST.
Proof. exact: dp_worst. Qed.

Theorem DP_SUB2 : Statements.Determinantal.DP_SUB2.
Proof. exact: dp_sub2. Qed.

Theorem DP_DELTA : Statements.Determinantal.DP_DELTA.
Proof. exact: dp_delta_conjecture. Qed.
