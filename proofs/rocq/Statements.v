(* The theorems that Rocq checks: definitions and statements only, nothing is proved in this file. A claim ID-X of
   dpassay is ID_X here; the theorem ID_X of Theorems.v has this statement. A name with more behind the id (_response)
   is less than that claim or other, says so, and is no evidence for it. Whoever trusts Rocq, its library MathComp and
   this file need read no other.

   Every statement is for every model R of the real numbers (the library's realType), every finite size and every
   parameter. 'rV[R]_n is a row of n reals, 'M[R]_n an n x n matrix, x^T a transpose, *m a matrix product, a%:M the
   matrix a I, {set T} the subsets of a finite type T, seq T finite lists, n%:R the natural number n in R, expR and ln
   the exponential function and its inverse. *)
From mathcomp.classical Require Import classical_sets.
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp.analysis Require Import reals ereal sequences exp measure lebesgue_measure lebesgue_integral.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

(** * Laws and differential privacy *)

(* A law on a finite set of outputs: nonnegative chances that sum to 1. *)
Record law (R : realType) (T : finType) := Law {
  pr : T -> R;
  pr_ge0 : forall t, 0 <= pr t;
  pr_sum1 : \sum_t pr t = 1 }.

(* The chance of an event. *)
Definition chance (R : realType) (T : finType) (mu : law R T) (E : {set T}) : R := \sum_(t in E) pr mu t.

(* (eps, delta)-differential privacy; neighbors is symmetric in every use, so both directions are meant. *)
Definition dp_delta (R : realType) (D : Type) (T : finType) (neighbors : D -> D -> Prop) (eps delta : R)
    (M : D -> law R T) : Prop :=
  forall x y, neighbors x y -> forall E, chance (M x) E <= expR eps * chance (M y) E + delta.

Definition dp (R : realType) (D : Type) (T : finType) (neighbors : D -> D -> Prop) (eps : R) (M : D -> law R T) : Prop :=
  dp_delta neighbors eps 0 M.

(* eps is the smallest epsilon of M. *)
Definition exactly_dp (R : realType) (D : Type) (T : finType) (neighbors : D -> D -> Prop) (eps : R) (M : D -> law R T) : Prop :=
  forall e : R, dp neighbors e M <-> eps <= e.

Module Selection.

(* A mechanism written by its chances p x t of output t on dataset x: for every dataset they are a law (nonnegative and
   summing to 1), and the mechanism is eps-differentially private. *)
Definition private (R : realType) (D : Type) (T : finType) (neighbors : D -> D -> Prop) (eps : R) (p : D -> T -> R) : Prop :=
  exists M : D -> law R T, (forall x t, pr (M x) t = p x t) /\ dp neighbors eps M.

(** * Weighted draws without replacement *)

Section Draws.
Variables (R : realType) (I : finType).
Implicit Types (w : I -> R) (gone : {set I}).

(* Chance that the next draw is i when those in gone were drawn before: i's share of the weight that is left. *)
Definition draw w gone (i : I) : R := if i \in gone then 0 else w i / \sum_(j | j \notin gone) w j.

(* Chance that the next draws are s, in this order. *)
Fixpoint draws w gone (s : seq I) : R :=
  if s is i :: s' then draw w gone i * draws w (i |: gone) s' else 1.

(* Law of the sequence of k draws from all candidates. *)
Definition drawn w k (s : k.-tuple I) : R := draws w set0 s.

(* Law of the set of the k drawn: a set is the sum of the orders in which it can be drawn. *)
Definition chosen w k (S : {set I}) : R := \sum_(s : k.-tuple I | [set i in s] == S) drawn w s.

(* Law of a single draw by weight: i's share of the total. *)
Definition one_draw w (i : I) : R := w i / \sum_j w j.

(* k-th largest of the scores q: the k-th entry (k = 1, 2, ...) when they are sorted in descending order. *)
Definition kth_largest (q : I -> R) (k : nat) : R :=
  nth 0 (sort (fun a b => b <= a) [seq q i | i <- enum I]) k.-1.

End Draws.

(** * Selection with a constant sensitivity *)

(* PP-EM-REP. Selecting k neighbors without replacement with weights exp(eps q / (4k GS)), where GS bounds how far every
   score can move between neighboring datasets, is eps/2-differentially private for every number of candidates: the
   sequence of draws, and so the set. The candidate list I does not depend on the data; GS is a constant. *)
Definition PP_EM_REP : Prop :=
  forall (R : realType) (D : Type) (neighbors : D -> D -> Prop) (I : finType) (q : D -> I -> R) (GS eps : R) (k : nat),
  0 < GS -> 0 <= eps -> (k <= #|I|)%N ->
  (forall x y, neighbors x y -> forall i, `|q x i - q y i| <= GS) ->
  let weight x i := expR (eps * q x i / (4 * k%:R * GS)) in
  private neighbors (eps / 2) (fun x => @drawn R I (weight x) k) /\
  private neighbors (eps / 2) (fun x => chosen (weight x) k).

(** * Replacement selection (X-Map, Theorem 1) *)

(* XM-T1-S. The replacement t_j is drawn by weight exp(eps q_j / (2 GS)). The ratio of its chances on two neighboring
   datasets x, y is a product of two factors P and Q, each at most exp(eps/2), for any number of candidates. GS bounds
   the change of every candidate's score between any two neighbors; the candidates I are the same on both. *)
Definition XM_T1_S : Prop :=
  forall (R : realType) (D : Type) (neighbors : D -> D -> Prop) (I : finType) (q : D -> I -> R) (GS eps : R),
  0 < GS -> 0 <= eps ->
  (forall x y, neighbors x y -> forall i, `|q x i - q y i| <= GS) ->
  let weight x i := expR (eps * q x i / (2 * GS)) in
  forall x y, neighbors x y -> forall j,
  let P := expR (eps * (q x j - q y j) / (2 * GS)) in
  let Q := (\sum_k weight y k) / (\sum_k weight x k) in
  [/\ one_draw (weight x) j / one_draw (weight y) j = P * Q, P <= expR (eps / 2) & Q <= expR (eps / 2)].

Section XSim.
Variables (R : realType) (item : Type).

(* Mean of values (second components) by weights (first components). Division by 0 gives 0 in this library, so the mean
   is 0 where the weights sum to 0, in particular where there is nothing to average. *)
Definition weighted_mean (xs : seq (R * R)) : R := (\sum_(x <- xs) x.1 * x.2) / (\sum_(x <- xs) x.1).

(* What X-SIM reads from a dataset: similarity and significance of two items, the paths (sequences of items) from one
   item to another, and the certainty of a path. *)
Record links := Links {
  similarity : item -> item -> R;
  significance : item -> item -> R;
  paths : item -> item -> seq (seq item);
  certainty : seq item -> R }.

(* Similarities of items lie in [-1, 1]; significances and certainties are not negative. *)
Definition in_range (d : links) : Prop :=
  [/\ forall a b, `|similarity d a b| <= 1, forall a b, 0 <= significance d a b & forall path, 0 <= certainty d path].

(* Similarity of a path: mean of the similarities of successive items by significance. *)
Definition path_similarity (d : links) (path : seq item) : R :=
  weighted_mean [seq (significance d e.1 e.2, similarity d e.1 e.2) | e <- zip path (behead path)].

(* X-SIM: mean of the similarities of the paths from a to b by certainty; 0 where it is undefined. *)
Definition xsim (d : links) (a b : item) : R :=
  weighted_mean [seq (certainty d path, path_similarity d path) | path <- paths d a b].

End XSim.

(* XM-T1-REP. Replacement selection over the whole public catalogue of the target domain (a finite nonempty list of
   items that does not depend on the data), an undefined X-SIM counting as 0 and GS = 2, hence with weights
   exp(eps X-SIM(t_i, t_j) / 4), is eps-differentially private for every number of candidates. This holds for every
   neighboring relation, so for one user joining or leaving. *)
Definition XM_T1_REP : Prop :=
  forall (R : realType) (item D : Type) (neighbors : D -> D -> Prop) (read : D -> links R item)
         (catalogue : finType) (item_of : catalogue -> item) (ti : item) (eps : R),
  (0 < #|catalogue|)%N -> 0 <= eps -> (forall x, in_range (read x)) ->
  private neighbors eps (fun x => one_draw (fun j => expR (eps * xsim (read x) ti (item_of j) / 4))).

(** * Neighbor selection with a soft floor (X-Map, Theorem 3, repaired) *)

(* Scores raised to at least the k-th largest of them less the constant w0. *)
Definition soft_floor (R : realType) (I : finType) (k : nat) (w0 : R) (q : I -> R) (j : I) : R :=
  Num.max (q j) (kth_largest q k - w0).

(* Density at z of centered Laplace noise of scale b. *)
Definition laplace_density (R : realType) (b z : R) : R := expR (- `|z| / b) / (2 * b).

(* Chance that the numbers a_1, ..., a_m (a list), each with independent Laplace noise of scale b, fall in E: the iterated
   Lebesgue integral of the product of the densities over E. (The event E is any set of lists; where it is not measurable,
   the library's integral is the supremum over the simple functions below.) *)
Fixpoint noisy_chance (R : realType) (b : R) (a : seq R) (E : seq R -> bool) : \bar R :=
  if a is a1 :: a' then
    (\int[@lebesgue_measure R]_z ((laplace_density b (z - a1))%:E * noisy_chance b a' (fun zs => E (z :: zs))))%E
  else (E [::])%:R%:E.

(* XM-PNSA-REP. With one constant GS in all weights and a constant w0 in the soft floor, private neighbor selection (k
   candidates drawn without replacement by weight exp(eps' max(q_j, q_(k) - w0) / (4k GS))) is (eps'/2)-differentially
   private; eps'/4 when only candidates' ratings are protected, so that neighboring datasets differ in one score; noise
   of scale 2k GS/eps' on each neighbor's similarity makes a prediction, any function of the chosen set and of the noisy
   similarities of its members (in the fixed order of the candidates), eps'-differentially private: B is any set of
   predictions. GS and w0 are constants, the candidates I do not depend on the data. *)
Definition XM_PNSA_REP : Prop :=
  forall (R : realType) (D : Type) (neighbors : D -> D -> Prop) (I : finType) (q : D -> I -> R) (GS w0 eps : R) (k : nat),
  0 < GS -> 0 < eps -> (0 < k <= #|I|)%N ->
  (forall x y, neighbors x y -> forall i, `|q x i - q y i| <= GS) ->
  let weight x i := expR (eps * soft_floor k w0 (q x) i / (4 * k%:R * GS)) in
  [/\ private neighbors (eps / 2) (fun x => @drawn R I (weight x) k) /\
       private neighbors (eps / 2) (fun x => chosen (weight x) k),
      (forall x y, neighbors x y -> exists i, forall j, j != i -> q x j = q y j) ->
       private neighbors (eps / 4) (fun x => @drawn R I (weight x) k) /\
       private neighbors (eps / 4) (fun x => chosen (weight x) k)
    & forall (T : Type) (predict : {set I} -> seq R -> T) (B : T -> bool),
      let b := 2 * k%:R * GS / eps in
      let predicted x : \bar R :=
        (\sum_(S : {set I}) (chosen (weight x) k S)%:E *
           noisy_chance b [seq q x i | i <- enum S] (fun z => B (predict S z)))%E in
      forall x y, neighbors x y -> (predicted x <= (expR eps)%:E * predicted y)%E].

(** * What draws by weight promise about the chosen (PNCF; X-Map, Theorems 3 and 4, repaired) *)

Section Accuracy.
Variables (R : realType) (I : finType).
Implicit Types (s : I -> R) (S : {set I}) (t : R).

(* Chance that the set of the k drawn has the property P. *)
Definition chosen_chance (weight : I -> R) (k : nat) (P : {set I} -> bool) : R :=
  \sum_(S : {set I} | P S) chosen weight k S.

(* No chosen one has a similarity below t; all chosen have one larger than t; everybody above t is chosen. *)
Definition none_below s t S : bool := [forall j in S, t <= s j].
Definition all_above s t S : bool := [forall j in S, t < s j].
Definition has_all_above s t S : bool := [forall j, (t < s j) ==> (j \in S)].

(* Weights exp(a s_j), or exp(a max(s_j, s_k - w)) with the soft floor: what is said of either is said of both. *)
Definition weighs (a : R) s (k : nat) (w : R) (weight : I -> R) : Prop :=
  (forall j, weight j = expR (a * s j)) \/ (forall j, weight j = expR (a * soft_floor k w s j)).

End Accuracy.

(* PP-LAM-REP. Weights exp(eps s / (4k RS)) with one constant RS > 0. With lambda = (4k RS/eps) ln(k(n-k)/rho), not cut at
   sim_k, with probability at least 1 - rho no neighbor has a similarity below sim_k - lambda, and with probability at
   least 1 - rho every candidate above sim_k + lambda is a neighbor, for every n, k with 1 <= k < n and every list. *)
Definition PP_LAM_REP : Prop :=
  forall (R : realType) (I : finType) (s : I -> R) (RS eps rho : R) (k : nat),
  0 < RS -> 0 < eps -> 0 < rho < 1 -> (1 <= k < #|I|)%N ->
  let weight i := expR (eps * s i / (4 * k%:R * RS)) in
  let lambda := 4 * k%:R * RS / eps * ln (k%:R * (#|I| - k)%:R / rho) in
  1 - rho <= chosen_chance weight k (none_below s (kth_largest s k - lambda)) /\
  1 - rho <= chosen_chance weight k (has_all_above s (kth_largest s k + lambda)).

(* XM-T3-REP. With w = (4k SS/eps') ln(k(N-k)/rho), not cut at sim_k, all k chosen items have a similarity larger than
   sim_k - w with probability at least 1 - rho; for any other w >= 0 at least 1 - k(N-k) exp(-eps' w/(4k SS)) (at w = 0
   that says nothing). One constant SS in all weights and in w, 1 <= k < N, 0 < rho < 1. *)
Definition XM_T3_REP : Prop :=
  forall (R : realType) (I : finType) (s : I -> R) (SS eps rho : R) (k : nat),
  0 < SS -> 0 < eps -> 0 < rho < 1 -> (1 <= k < #|I|)%N ->
  let a := eps / (4 * k%:R * SS) in
  let sk := kth_largest s k in
  let L := 4 * k%:R * SS / eps * ln (k%:R * (#|I| - k)%:R / rho) in
  (forall weight, weighs a s k L weight -> 1 - rho <= chosen_chance weight k (all_above s (sk - L))) /\
  (forall w weight, 0 <= w -> weighs a s k w weight ->
     1 - k%:R * (#|I| - k)%:R * expR (- eps * w / (4 * k%:R * SS)) <= chosen_chance weight k (all_above s (sk - w))).

(* XM-T4-REP. The same for: every item with a similarity above sim_k + w is chosen. *)
Definition XM_T4_REP : Prop :=
  forall (R : realType) (I : finType) (s : I -> R) (SS eps rho : R) (k : nat),
  0 < SS -> 0 < eps -> 0 < rho < 1 -> (1 <= k < #|I|)%N ->
  let a := eps / (4 * k%:R * SS) in
  let sk := kth_largest s k in
  let L := 4 * k%:R * SS / eps * ln (k%:R * (#|I| - k)%:R / rho) in
  (forall weight, weighs a s k L weight -> 1 - rho <= chosen_chance weight k (has_all_above s (sk + L))) /\
  (forall w weight, 0 <= w -> weighs a s k w weight ->
     1 - k%:R * (#|I| - k)%:R * expR (- eps * w / (4 * k%:R * SS)) <= chosen_chance weight k (has_all_above s (sk + w))).

(* XM-JOINT-REP. With w = (4k SS/eps') ln(k(N-k)/rho) both conclusions hold together with probability at least 1 - rho;
   with each pair's own SS_j in [SS_min, SS_max] and similarities that are not negative they do with
   w = s_k (1 - SS_min/SS_max) + SS_min c below s_k and w' = s_k (SS_max/SS_min - 1) + SS_max c above it,
   c = (4k/eps') ln(k(N-k)/rho); weights exp(eps' s_j / (4k SS_j)), with or without the soft floor at s_k - w. *)
Definition XM_JOINT_REP : Prop :=
  forall (R : realType) (I : finType) (s : I -> R) (eps rho : R) (k : nat),
  0 < eps -> 0 < rho < 1 -> (1 <= k < #|I|)%N ->
  let sk := kth_largest s k in
  let both w w' S := all_above s (sk - w) S && has_all_above s (sk + w') S in
  let c := 4 * k%:R / eps * ln (k%:R * (#|I| - k)%:R / rho) in
  (forall SS weight, 0 < SS ->
     let w := 4 * k%:R * SS / eps * ln (k%:R * (#|I| - k)%:R / rho) in
     weighs (eps / (4 * k%:R * SS)) s k w weight -> 1 - rho <= chosen_chance weight k (both w w)) /\
  (forall (SS : I -> R) (SSmin SSmax : R), 0 < SSmin -> (forall j, SSmin <= SS j <= SSmax) -> (forall j, 0 <= s j) ->
     let w := sk * (1 - SSmin / SSmax) + SSmin * c in
     let w' := sk * (SSmax / SSmin - 1) + SSmax * c in
     1 - rho <= chosen_chance (fun j => expR (eps * soft_floor k w s j / (4 * k%:R * SS j))) k (both w w') /\
     1 - rho <= chosen_chance (fun j => expR (eps * s j / (4 * k%:R * SS j))) k (both w w')).

(* XM-T3-STEP. With one SS, in each round an item j with a similarity below sim_k - w is picked with probability at most
   exp(-eps' w / (4k SS)), given any earlier picks (fewer than k), for every w. (The printed reason is another matter:
   the k-th neighbor need not be present any more.) *)
Definition XM_T3_STEP : Prop :=
  forall (R : realType) (I : finType) (s : I -> R) (SS eps w : R) (k : nat) (weight : I -> R) (gone : {set I}) (j : I),
  0 < SS -> 0 < eps -> (1 <= k <= #|I|)%N -> weighs (eps / (4 * k%:R * SS)) s k w weight ->
  (#|gone| < k)%N -> s j < kth_largest s k - w ->
  draw weight gone j <= expR (- eps * w / (4 * k%:R * SS)).

Section Rounds.
Variables (R : realType) (T : finType).

(* Chance that successive rounds give the outcomes s, where the law of a round depends on the outcomes h before it. *)
Fixpoint rounds (round : seq T -> law R T) (h s : seq T) : R :=
  if s is t :: s' then pr (round h) t * rounds round (rcons h t) s' else 1.

(* No round goes wrong; bad h t says that outcome t is wrong after the outcomes h. *)
Fixpoint all_right (bad : seq T -> T -> bool) (h s : seq T) : bool :=
  if s is t :: s' then ~~ bad h t && all_right bad (rcons h t) s' else true.

End Rounds.

(* XM-T3-BERN. If a round goes wrong with probability at most P, given any earlier picks, all k rounds go right with
   probability at least (1-P)^k, which is at least 1 - kP; P is in [0, 1]. *)
Definition XM_T3_BERN : Prop :=
  forall (R : realType) (T : finType) (round : seq T -> law R T) (bad : seq T -> T -> bool) (P : R) (k : nat),
  0 <= P <= 1 -> (forall h, chance (round h) [set t | bad h t] <= P) ->
  (1 - P) ^+ k <= \sum_(s : k.-tuple T | all_right bad [::] s) rounds round [::] s /\
  1 - k%:R * P <= (1 - P) ^+ k.

(** * A whole profile (X-Map, Theorem 1, repaired) *)

(* Renyi divergence of order alpha of the law p from the law q, whose chances are positive. *)
Definition renyi (R : realType) (T : finType) (alpha : R) (p q : T -> R) : R :=
  ln (\sum_t expR (alpha * ln (p t)) * expR ((1 - alpha) * ln (q t))) / (alpha - 1).

(* XM-T1-COMP-REP. One AlterEgo of L items, each replaced as in XM-T1-REP with its own randomness (the chance of a list y
   of replacements is the product of the chances), costs L eps in pure differential privacy and is (L eps^2/8)-zCDP. L
   and the profile's items t_1, ..., t_L are public. *)
Definition XM_T1_COMP_REP : Prop :=
  forall (R : realType) (item D : Type) (neighbors : D -> D -> Prop) (read : D -> links R item)
         (catalogue : finType) (item_of : catalogue -> item) (L : nat) (ti : 'I_L -> item) (eps : R),
  (0 < #|catalogue|)%N -> 0 <= eps -> (forall x, in_range (read x)) ->
  let replaced x l := one_draw (fun j => expR (eps * xsim (read x) (ti l) (item_of j) / 4)) in
  let profile x (y : {ffun 'I_L -> catalogue}) := \prod_l replaced x l (y l) in
  private neighbors (L%:R * eps) profile /\
  (forall x y, neighbors x y -> forall alpha, 1 < alpha ->
     renyi alpha (profile x) (profile y) <= alpha * (L%:R * eps ^+ 2 / 8)).

(** * A pair's own sensitivity (X-Map, Theorem 2, repaired) *)

(* XM-T2-MAX-REP. A pair's own sensitivity S_j may stand in the weights if it is a smooth upper bound of the local one and
   not below e^b - 1: with half the exponent, weights exp(eps' s_j / (8k S_j)), the selection is (eps'/2)-differentially
   private. b > 0 is a constant, the candidates I do not depend on the data, and being neighbors is symmetric. *)
Definition XM_T2_MAX_REP : Prop :=
  forall (R : realType) (D : Type) (neighbors : D -> D -> Prop) (I : finType) (s S : D -> I -> R) (b eps : R) (k : nat),
  0 < b -> 0 <= eps -> (k <= #|I|)%N ->
  (forall x y, neighbors x y -> neighbors y x) ->
  (forall x j, `|s x j| <= 1) ->
  (forall x y, neighbors x y -> forall j, `|s x j - s y j| <= S x j) ->
  (forall x y, neighbors x y -> forall j, S x j <= expR b * S y j) ->
  (forall x j, expR b - 1 <= S x j) ->
  let weight x j := expR (eps * s x j / (8 * k%:R * S x j)) in
  private neighbors (eps / 2) (fun x => @drawn R I (weight x) k) /\
  private neighbors (eps / 2) (fun x => chosen (weight x) k).

(** * Sums of similarities (Lu and Shen, eq. 10 and sec. 6.1) *)

(* PP-E10. The expected sum of similarities of the selected neighbors N (any random set) is the sum of similarity times
   selection probability: E sum_{i in N} s_i = sum_i s_i mu_i, mu_i = Pr[i in N]. *)
Definition PP_E10 : Prop :=
  forall (R : realType) (I : finType) (N : law R [finType of {set I}]) (s : I -> R),
  \sum_(S : {set I}) pr N S * (\sum_(i in S) s i) = \sum_i s i * chance N [set S : {set I} | i \in S].

(* PP-CHEB. The difference of the weighted and the plain mean of the first k selection probabilities is the stated double
   sum, and is not negative: s_1 >= ... >= s_k >= 0, not all 0, and mu_1 >= ... >= mu_k. *)
Definition PP_CHEB : Prop :=
  forall (R : realType) (k : nat) (s mu : 'I_k -> R),
  (forall i j : 'I_k, (i <= j)%N -> s j <= s i) -> (forall i, 0 <= s i) -> (exists i, s i != 0) ->
  (forall i j : 'I_k, (i <= j)%N -> mu j <= mu i) ->
  let difference := (\sum_i s i * mu i) / (\sum_i s i) - (\sum_i mu i) / k%:R in
  difference = (\sum_(i < k) \sum_(j < k | (i < j)%N) (s i - s j) * (mu i - mu j)) / (k%:R * \sum_i s i) /\ 0 <= difference.

(** * Selection probabilities (Lu and Shen, sec. 3.3, Lemma 1 and the proof of Theorem 1) *)

(* Chance that candidate i is among k draws by weight: the exact mean. *)
Definition inclusion (R : realType) (I : finType) (weight : I -> R) (k : nat) (i : I) : R :=
  chosen_chance weight k (fun S => i \in S).

(* The power A^w for A in [0, 1] and w > 0, with 0^w = 0 (the library's `^ is exp(w ln A), right for A > 0 only). *)
Definition power (R : realType) (A w : R) : R := if A == 0 then 0 else A `^ w.

(* mu solves equation (12), Manly's mean: 1 - mu_i = A^(w_i) with one A in [0, 1]. (The total of the mu_i fixes A.) *)
Definition manly (R : realType) (I : finType) (weight mu : I -> R) : Prop :=
  exists A, 0 <= A <= 1 /\ forall i, mu i = 1 - power A (weight i).

(* PP-L1. For two selections from the same candidates (at least one) with the same positive weights and fixed numbers of
   draws, every mu_i is larger in one exactly when the sum of the mu_i is larger: for Manly's means, and for the exact
   means of j and of k draws. *)
Definition PP_L1 : Prop :=
  forall (R : realType) (I : finType) (weight : I -> R),
  (0 < #|I|)%N -> (forall i, 0 < weight i) ->
  (forall mu mu', manly weight mu -> manly weight mu' ->
     ((forall i, mu' i < mu i) <-> \sum_i mu' i < \sum_i mu i)) /\
  (forall j k, (j <= #|I|)%N -> (k <= #|I|)%N ->
     ((forall i, inclusion weight j i < inclusion weight k i) <->
      \sum_i inclusion weight j i < \sum_i inclusion weight k i)).

(* PP-BEST. Among similarity lists s in [0, 1] with the same w_1, where similarity 1 has weight w_1 >= 1 and similarity x
   has weight w_1^x, the list (1^k, 0^(n-k)) maximizes the expected number of neighbors from the first partition, the
   first k candidates: sum_{i<=k} mu_i is at most what it is there, by equation (12) with sum mu_i = k, 1 <= k < n. *)
Definition PP_BEST : Prop :=
  forall (R : realType) (n k : nat) (w1 : R) (s mu best : 'I_n -> R),
  (1 <= k < n)%N -> 1 <= w1 -> (forall i, 0 <= s i <= 1) ->
  manly (fun i => w1 `^ s i) mu -> \sum_i mu i = k%:R ->
  manly (fun i : 'I_n => w1 `^ (if (i < k)%N then 1 else 0)) best -> \sum_i best i = k%:R ->
  \sum_(i < n | (i < k)%N) mu i <= \sum_(i < n | (i < k)%N) best i.

(** * Partitioned Probabilistic Neighbour Selection, PPNS (Lu and Shen, Algorithm 1) *)

Section Picks.
Variables (R : realType) (I : finType).

(* Chance that successive draws without replacement are s, when each draw has weights of its own: steps lists them, and a
   candidate that a draw may not take has weight 0 in it. *)
Fixpoint picks (steps : seq (I -> R)) (gone : {set I}) (s : seq I) : R :=
  match steps, s with
  | weight :: steps', i :: s' => draw weight gone i * picks steps' (i |: gone) s'
  | _, _ => 1
  end.

(* Law of the set of all that are drawn; chance that candidate i is among them. *)
Definition picked (steps : seq (I -> R)) (S : {set I}) : R :=
  \sum_(s : (size steps).-tuple I | [set i in s] == S) picks steps set0 s.
Definition picked_inclusion (steps : seq (I -> R)) (i : I) : R := \sum_(S : {set I} | i \in S) picked steps S.

(* Weights of a draw from the candidates in pool only. *)
Definition from_pool (weight : I -> R) (pool : {set I}) (i : I) : R := if i \in pool then weight i else 0.

End Picks.

Section Ppns.
Variables (R : realType) (n k : nat) (p : R).

(* The n candidates 0, 1, ... stand in descending order of similarity. Partition j (j = 0, 1, ...) holds the candidates
   jk, ..., jk + k - 1, the last one fewer; there are ceil(n/k) of them. *)
Definition partition (j : nat) : {set 'I_n} := [set i : 'I_n | (i %/ k == j)%N].
Definition num_partitions : nat := (n %/ k + (n %% k != 0))%N.

(* How many neighbors are taken from partitions j, j+1, ... (parts of them) when `missing` neighbors are missing: from
   partition j ceil(p (1-p)^j k), but at most what is missing and at most its size; no more once nothing is missing. *)
Fixpoint quotas (j parts missing : nat) : seq nat :=
  if parts is parts'.+1 then
    if missing == 0%N then [::] else
      let q := minn (minn `|ceil (p * (1 - p) ^+ j * k%:R)|%N missing) #|partition j| in
      q :: quotas j.+1 parts' (missing - q)
  else [::].

(* Algorithm 1 takes k - 1 neighbors like this, and the last one from all partitions that it has not visited. It is
   defined when it reaches k - 1 and such a partition is left. *)
Definition taken : seq nat := quotas 0 num_partitions k.-1.
Definition unvisited : {set 'I_n} := [set i : 'I_n | (size taken <= i %/ k)%N].
Definition ppns_defined : bool := (sumn taken == k.-1) && (size taken < num_partitions)%N.

(* The draws of Algorithm 1: from each visited partition by weight, and the last by the weights `last` (line 16 does not
   say how: by weight or uniform). *)
Definition ppns (weight last : 'I_n -> R) : seq ('I_n -> R) :=
  flatten [seq nseq (nth 0%N taken j) (from_pool weight (partition j)) | j <- iota 0 (size taken)]
  ++ [:: from_pool last unvisited].

End Ppns.

(* PP-P. p >= alpha_0 / (s_1 + ... + s_k) guarantees an accuracy alpha = sum_i s_i mu_i of at least alpha_0, mu_i the
   probability that Algorithm 1 selects i; 0 < p <= (k-1)/k, Algorithm 1 is defined (it has a partition left for the last
   neighbor), selection probabilities do not grow along the list, similarities are not negative. *)
Definition PP_P : Prop :=
  forall (R : realType) (n k : nat) (p alpha0 : R) (s weight last : 'I_n -> R),
  0 < p <= (k%:R - 1) / k%:R -> ppns_defined n k p ->
  (forall i, 0 < weight i) -> (forall i, 0 < last i) ->
  (forall i j : 'I_n, (i <= j)%N -> s j <= s i) -> (forall i, 0 <= s i) -> 0 < \sum_(i < n | (i < k)%N) s i ->
  let mu := picked_inclusion (ppns k p weight last) in
  (forall i j : 'I_n, (i <= j)%N -> mu j <= mu i) ->
  alpha0 / (\sum_(i < n | (i < k)%N) s i) <= p -> alpha0 <= \sum_i s i * mu i.

(* PP-T1-REP. With equal weights, PPNS has alpha >= alpha^ for every similarity list s_1 >= ... >= s_n >= 0 exactly when
   at each partition boundary jk the expected picks so far, Q_1 + ... + Q_j, are at least jk k/n; alpha^ is that of k
   draws by the same weights from all candidates (PNCF without truncation, and nPNS). Algorithm 1 is defined, 0 < p < 1, 1 <= k. *)
Definition PP_T1_REP : Prop :=
  forall (R : realType) (n k : nat) (p c : R),
  (1 <= k)%N -> 0 < p < 1 -> ppns_defined n k p -> 0 < c ->
  let mu := picked_inclusion (ppns k p (fun _ : 'I_n => c) (fun _ : 'I_n => c)) in
  let Q j := \sum_(i in partition n k j) mu i in
  (forall s : 'I_n -> R, (forall i j : 'I_n, (i <= j)%N -> s j <= s i) -> (forall i, 0 <= s i) ->
     \sum_i s i * inclusion (fun _ : 'I_n => c) k i <= \sum_i s i * mu i) <->
  (forall j, (j * k <= n)%N -> (j * k)%:R * k%:R / n%:R <= \sum_(l < j) Q l).

(** * The law of the draws (Lu and Shen, sec. 6.2, eqs. 13-17) *)

(* PP-PMF. The probability that weighted sampling without replacement yields a given set S of k candidates is the integral
   (13), Pr[N = S] = int_0^1 prod_{i in S} (1 - t^(w_i/d)) dt with d the sum of the weights outside S (Lebesgue integral
   over 0 < t <= 1), and it is positive, so that of the top k is; all weights positive, 1 <= k < n. *)
Definition PP_PMF : Prop :=
  forall (R : realType) (I : finType) (weight : I -> R) (k : nat) (S : {set I}),
  (forall i, 0 < weight i) -> (1 <= k < #|I|)%N -> #|S| = k ->
  let d := \sum_(i | i \notin S) weight i in
  (chosen weight k S)%:E =
    (\int[@lebesgue_measure R]_(t in `]0%R, 1%R]%classic) (\prod_(i in S) (1 - t `^ (weight i / d)))%:E)%E /\
  0 < chosen weight k S.

End Selection.

Module Determinantal.

(* M draws its output t on dataset d with probability p d t. Claims say that such an M exists, that is, that p d is a
   law for every d; M is determined by p. *)
Definition samples (R : realType) (D : Type) (T : finType) (M : D -> law R T) (p : D -> T -> R) : Prop :=
  forall d t, pr (M d) t = p d t.

(* The determinantal point process. *)

(* The sets of items that can be released, as a finite type. *)
Notation subset_of n := [finType of {set 'I_n}].
(* det(L_Y): the determinant of the rows and columns of L in Y (enum_val lists the items of Y); 1 for Y empty. *)
Definition minor (R : realType) (n : nat) (L : 'M[R]_n) (Y : {set 'I_n}) : R :=
  \det (mxsub (@enum_val _ (mem Y)) (@enum_val _ (mem Y)) L).
(* The probability of the set Y of items: det(L_Y)/det(L + I). *)
Definition dpp (R : realType) (n : nat) (L : 'M[R]_n) (Y : {set 'I_n}) : R := minor L Y / \det (L + 1%:M).
(* The kernel of a dataset, one row per subject, with jitter s: X'X + s I = s I + the sum of x'x over the rows x. *)
Definition kernel (R : realType) (n : nat) (s : R) (D : seq 'rV[R]_n) : 'M[R]_n := s%:M + \sum_(x <- D) x^T *m x.
(* |x|^2. *)
Definition norm2 (R : realType) (n : nat) (x : 'rV[R]_n) : R := \sum_i x 0 i ^+ 2.
(* The rows that may occur: all real rows with |x|^2 <= N, or all rows of zeros and ones. *)
Definition real_rows (R : realType) (n : nat) (N : R) : pred 'rV[R]_n := fun x => norm2 x <= N.
Definition binary_rows (R : realType) (n : nat) : pred 'rV[R]_n := fun x => [forall i, (x 0 i == 0) || (x 0 i == 1)].
(* E has one subject more than D; the order of subjects is of no account. *)
Definition one_more (R : realType) (n : nat) (D E : seq 'rV[R]_n) : Prop := exists x, perm_eq E (x :: D).
(* Neighbors: one subject added or removed; one subject's row replaced. *)
Definition add_remove (R : realType) (n : nat) (rows : pred 'rV[R]_n) (D E : seq 'rV[R]_n) : Prop :=
  all rows D /\ all rows E /\ (one_more D E \/ one_more E D).
Definition replace (R : realType) (n : nat) (rows : pred 'rV[R]_n) (D E : seq 'rV[R]_n) : Prop :=
  all rows D /\ all rows E /\ exists C x z, perm_eq D (x :: C) /\ perm_eq E (z :: C).

(* Sec. 2.1: the determinants of all principal submatrices of L add up to det(L + I), for every square matrix L. *)
Definition DP_Z : Prop :=
  forall (R : realType) (n : nat) (L : 'M[R]_n), \sum_(Y : {set 'I_n}) minor L Y = \det (L + 1%:M).

(* max{ log(1 + N/s) - log(1 + N/(1 + s)), log(1 + N/(1 + s)) } *)
Definition epsilon_star (R : realType) (s N : R) : R :=
  Num.max (ln (1 + N / s) - ln (1 + N / (1 + s))) (ln (1 + N / (1 + s))).

(* Sec. 3.2 and 4, the question left open: the whole sampler, which releases one subset Y drawn by the law dpp, has
   exactly the epsilon above when a subject is added or removed; for real rows with |x|^2 <= B^2 and for binary rows,
   where B^2 = n. (Real rows need an item to carry them: n >= 1.) *)
Definition DP_EPS_REP : Prop :=
  forall (R : realType) (n : nat) (s B : R), 0 < s ->
  exists2 M : seq 'rV[R]_n -> law R (subset_of n), samples M (fun D => dpp (kernel s D)) &
    ((0 < n)%N -> exactly_dp (add_remove (@real_rows R n (B ^+ 2))) (epsilon_star s (B ^+ 2)) M)
    /\ exactly_dp (add_remove (@binary_rows R n)) (epsilon_star s n%:R) M.

(* A coin whose odds of heads (true) are o. *)
Definition coin (R : realType) (o : R) (heads : bool) : R := if heads then o / (1 + o) else 1 / (1 + o).
(* max{0, (s + N)/(1 + s + N) - e^eps s/(1 + s), 1/(1 + s) - e^eps/(1 + s + N)} *)
Definition delta_star (R : realType) (s N eps : R) : R :=
  Num.max 0 (Num.max ((s + N) / (1 + s + N) - expR eps * (s / (1 + s))) (1 / (1 + s) - expR eps / (1 + s + N))).

(* Extension, delta > 0: the smallest delta of the whole sampler for eps >= 0 is delta_star, attained by real rows: a pair
   of neighboring datasets and an event have it as an equality (for binary rows it is an upper bound, with B^2 = n). And
   for every eps the sampler is (eps, delta)-private exactly if one coin C is, whose odds of heads are s on one dataset
   (false) and s + B^2 on the other (true). *)
Definition DP_DELTA_REP : Prop :=
  forall (R : realType) (n : nat) (s B : R), 0 < s ->
  exists2 M : seq 'rV[R]_n -> law R (subset_of n), samples M (fun D => dpp (kernel s D)) &
  exists2 C : bool -> law R [finType of bool], samples C (fun joined => coin (if joined then s + B ^+ 2 else s)) &
    let neighbors := add_remove (@real_rows R n (B ^+ 2)) in
    ((0 < n)%N -> forall eps : R,
      (forall delta, dp_delta neighbors eps delta M <-> dp_delta (fun d e => d <> e) eps delta C) /\
      (0 <= eps -> (forall delta, dp_delta neighbors eps delta M <-> delta_star s (B ^+ 2) eps <= delta) /\
        exists D E A, neighbors D E /\ chance (M D) A = expR eps * chance (M E) A + delta_star s (B ^+ 2) eps))
    /\ (forall eps delta : R, 0 <= eps -> delta_star s n%:R eps <= delta ->
      dp_delta (add_remove (@binary_rows R n)) eps delta M).

(* Extension: when one subject's row is replaced by another, epsilon is exactly log(1 + B^2/s) for real rows and n >= 2. *)
Definition DP_REPLACE_REP : Prop :=
  forall (R : realType) (n : nat) (s B : R), 0 < s -> (2 <= n)%N ->
  exists2 M : seq 'rV[R]_n -> law R (subset_of n), samples M (fun D => dpp (kernel s D)) &
    exactly_dp (replace (@real_rows R n (B ^+ 2))) (ln (1 + B ^+ 2 / s)) M.

(* T sets of items, and the probability of T fresh, independent draws. *)
Notation subsets_of n T := [finType of {ffun 'I_T -> {set 'I_n}}].
Definition draws (R : realType) (n T : nat) (p : {set 'I_n} -> R) (Ys : {ffun 'I_T -> {set 'I_n}}) : R := \prod_t p (Ys t).

(* Sec. 4 (2): on every recommendation more epsilon is consumed: the smallest epsilon of T fresh draws is strictly
   increasing in T; for real rows and for binary rows, with an item to recommend and rows that are not all 0. *)
Definition DP_FUT : Prop :=
  forall (R : realType) (n : nat) (s B : R), 0 < s -> 0 < B -> (0 < n)%N ->
  exists2 M : forall T, seq 'rV[R]_n -> law R (subsets_of n T),
    forall T, samples (M T) (fun D => draws (dpp (kernel s D))) &
    forall rows, rows = @real_rows R n (B ^+ 2) \/ rows = @binary_rows R n ->
    exists2 eps : nat -> R, forall T, exactly_dp (add_remove rows) (eps T) (M T) & forall T, eps T < eps T.+1.

(* The process of fixed size: k items are shown, and P_k(Y) is proportional to det(L_Y) among the sets of k items. *)
Definition kdpp (R : realType) (n k : nat) (L : 'M[R]_n) (Y : {set 'I_n}) : R :=
  if #|Y| == k then minor L Y / \sum_(Z : {set 'I_n} | #|Z| == k) minor L Z else 0.
(* x_Y and a_Y = x_Y L_Y^-1 x_Y'. *)
Definition row_of (R : realType) (n : nat) (Y : {set 'I_n}) (x : 'rV[R]_n) : 'rV[R]_#|Y| := colsub (@enum_val _ (mem Y)) x.
Definition a_of (R : realType) (n : nat) (L : 'M[R]_n) (x : 'rV[R]_n) (Y : {set 'I_n}) : R :=
  (row_of Y x *m invmx (mxsub (@enum_val _ (mem Y)) (@enum_val _ (mem Y)) L) *m (row_of Y x)^T) 0 0.

(* Extension, k items are shown (1 <= k < n): epsilon is exactly log(1 + B^2/s) for real rows (where n >= k + 1), and
   exactly log(1 + k/s) for binary rows if n >= 2k. No pair of neighbors attains it at any output (for real rows, let
   some row not be 0: B > 0). And the formula: P'_k(Y)/P_k(Y) = (1 + a_Y)/E[1 + a_Y], where the row x joins the dataset
   D, E is the expectation under P_k, and 0 <= a_Y <= min(B^2, |x_Y|^2)/s. *)
Definition DP_KDPP_REP : Prop :=
  forall (R : realType) (n k : nat) (s B : R), 0 < s -> 0 <= B -> (1 <= k)%N -> (k < n)%N ->
  exists2 M : seq 'rV[R]_n -> law R (subset_of n), samples M (fun D => kdpp k (kernel s D)) &
    [/\ exactly_dp (add_remove (@real_rows R n (B ^+ 2))) (ln (1 + B ^+ 2 / s)) M,
        (2 * k <= n)%N -> exactly_dp (add_remove (@binary_rows R n)) (ln (1 + k%:R / s)) M,
        0 < B -> forall D E, add_remove (@real_rows R n (B ^+ 2)) D E -> forall Y : {set 'I_n}, #|Y| = k ->
          pr (M D) Y < (1 + B ^+ 2 / s) * pr (M E) Y,
        forall D E, add_remove (@binary_rows R n) D E -> forall Y : {set 'I_n}, #|Y| = k ->
          pr (M D) Y < (1 + k%:R / s) * pr (M E) Y &
        forall (D : seq 'rV[R]_n) (x : 'rV[R]_n) (Y : {set 'I_n}), #|Y| = k -> norm2 x <= B ^+ 2 ->
          let a := a_of (kernel s D) x in
          pr (M (x :: D)) Y / pr (M D) Y = (1 + a Y) / (\sum_Z pr (M D) Z * (1 + a Z)) /\
          0 <= a Y <= Num.min (B ^+ 2) (norm2 (row_of Y x)) / s].

(* The same for binary rows and k < n < 2k: there is a smallest epsilon, and it lies between
   log(1 + max(n - k, k - 2 + 1/(2k - n + 1))/s) and log(1 + k/s). *)
Definition DP_KDPP_SMALL : Prop :=
  forall (R : realType) (n k : nat) (s : R), 0 < s -> (k < n)%N -> (n < 2 * k)%N ->
  exists2 M : seq 'rV[R]_n -> law R (subset_of n), samples M (fun D => kdpp k (kernel s D)) &
  exists2 eps : R, exactly_dp (add_remove (@binary_rows R n)) eps M &
    ln (1 + Num.max (n - k)%:R (k%:R - 2 + 1 / (2 * k - n + 1)%:R) / s) <= eps <= ln (1 + k%:R / s).

(* Theorem 3.1, repaired: if every eigenvalue is at least s > 0 on every dataset, and a neighbor has L' = L + x'x with
   |x|^2 <= B^2 (or L = L' + x'x), then the process is private with eps = log(1 + B^2/s), for any kernel L. *)
Definition DP_T31_REP : Prop :=
  forall (R : realType) (n : nat) (s B : R) (D : Type) (neighbors : D -> D -> Prop) (L : D -> 'M[R]_n), 0 < s ->
  (forall d, (L d)^T = L d /\ forall l, eigenvalue (L d) l -> s <= l) ->
  (forall d e, neighbors d e -> exists2 x, norm2 x <= B ^+ 2 & L e = L d + x^T *m x \/ L d = L e + x^T *m x) ->
  exists2 M : D -> law R (subset_of n), samples M (fun d => dpp (L d)) & dp neighbors (ln (1 + B ^+ 2 / s)) M.

(* A positive semidefinite matrix: symmetric, with z L z' >= 0 for every row z. *)
Definition psd (R : realType) (n : nat) (L : 'M[R]_n) : Prop := L^T = L /\ forall z : 'rV[R]_n, 0 <= (z *m L *m z^T) 0 0.

(* Sec. 2.2: K = L(L + I)^-1 has the eigenvectors of L with the eigenvalues l/(1 + l), and the chance that all items of
   A are chosen is det(K_A); for every positive semidefinite L (which gives a law M of the chosen set). *)
Definition DP_K : Prop :=
  forall (R : realType) (n : nat) (L : 'M[R]_n), psd L ->
  let K := L *m invmx (L + 1%:M) in
  (forall (l : R) (v : 'cV[R]_n), L *m v = l *: v -> K *m v = (l / (1 + l)) *: v) /\
  exists2 M : law R (subset_of n), forall Y, pr M Y = dpp L Y &
    forall A : {set 'I_n}, chance M [set Y : {set 'I_n} | A \subset Y] = minor K A.

(* The exponential mechanism: t with probability proportional to exp(eps u(t)/(2 Delta_u)). *)
Definition exponential (R : realType) (T : finType) (eps Delta_u : R) (u : T -> R) (t : T) : R :=
  expR (eps * u t / (2%:R * Delta_u)) / \sum_t' expR (eps * u t' / (2%:R * Delta_u)).

(* Sec. 3: keeping an eigenvector with probability l/(1 + l) is the exponential mechanism's choice between 'in' (true)
   with score log l and 'out' (false) with score 0, at eps = 2 Delta_u. *)
Definition DP_EXP : Prop :=
  forall (R : realType) (l Delta_u : R), 0 < l -> 0 < Delta_u ->
  forall kept : bool,
    exponential (T := [finType of bool]) (2%:R * Delta_u) Delta_u (fun b => if b then ln l else 0) kept = coin l kept.

(* Theorem 3.1: a process with kernel L = X'X + S, S fixed and positive semidefinite, is eps-private for some eps only if
   L is strictly positive definite on every dataset of binary rows; and where L(D) is singular, the loss is infinite: a
   set that is impossible on D is possible on a neighbor. *)
Definition DP_T31 : Prop :=
  forall (R : realType) (n : nat) (S : 'M[R]_n), psd S ->
  let L (D : seq 'rV[R]_n) := S + \sum_(x <- D) x^T *m x in
  exists2 M : seq 'rV[R]_n -> law R (subset_of n), samples M (fun D => dpp (L D)) &
    ((exists eps, dp (add_remove (@binary_rows R n)) eps M) ->
     forall D, all (@binary_rows R n) D -> forall z : 'rV[R]_n, z != 0 -> 0 < (z *m L D *m z^T) 0 0)
    /\ (forall D, all (@binary_rows R n) D -> \det (L D) = 0 ->
        exists E Y, [/\ add_remove (@binary_rows R n) E D, pr (M D) Y = 0 & 0 < pr (M E) Y]).

(* The same read for every kernel, refuted: it is false that whatever the kernel L (a positive semidefinite matrix for
   every dataset), a singular L(D) for some dataset D rules out every eps; some kernel that is singular on every
   dataset has a finite epsilon. *)
Definition DP_T31_GEN : Prop :=
  forall R : realType,
  ~ (forall (m n : nat) (rows : pred 'rV[R]_m) (L : seq 'rV[R]_m -> 'M[R]_n) (M : seq 'rV[R]_m -> law R (subset_of n)),
       (forall D, psd (L D)) -> samples M (fun D => dpp (L D)) ->
       (exists D, all rows D /\ \det (L D) = 0) -> forall eps, ~ dp (add_remove rows) eps M)
  /\ exists (m n : nat) (L : seq 'rV[R]_m -> 'M[R]_n) (M : seq 'rV[R]_m -> law R (subset_of n)),
       (forall D, psd (L D) /\ \det (L D) = 0) /\ samples M (fun D => dpp (L D)) /\
       exists eps, dp (add_remove (fun=> true)) eps M.

(* Neighbors with at least one subject each. *)
Definition add_remove_some (R : realType) (n : nat) (rows : pred 'rV[R]_n) (D E : seq 'rV[R]_n) : Prop :=
  add_remove rows D E /\ D <> [::] /\ E <> [::].

(* Theorem 3.1, "thereby prevents any eigenvalue from approaching zero", refuted: for dot-product kernels X'X of bounded
   real rows (at least one), a positive definite L(D) for every D gives neither a common positive lower bound of
   the eigenvalues (of z L z'/|z|^2) nor a finite epsilon. *)
Definition DP_PD_UNIF : Prop :=
  forall R : realType,
  let definite (n : nat) (rows : pred 'rV[R]_n) := forall D, all rows D -> D <> [::] ->
    forall z : 'rV[R]_n, z != 0 -> 0 < (z *m kernel 0 D *m z^T) 0 0 in
  ~ (forall (n : nat) (N : R) (rows : pred 'rV[R]_n), (forall x, rows x -> norm2 x <= N) -> definite n rows ->
       exists2 s : R, 0 < s & forall D, all rows D -> D <> [::] ->
         forall z : 'rV[R]_n, s * norm2 z <= (z *m kernel 0 D *m z^T) 0 0)
  /\ ~ (forall (n : nat) (N : R) (rows : pred 'rV[R]_n) (M : seq 'rV[R]_n -> law R (subset_of n)),
       samples M (fun D => dpp (kernel 0 D)) -> (forall x, rows x -> norm2 x <= N) -> definite n rows ->
       exists eps : R, dp (add_remove_some rows) eps M).

(* Sec. 4 (4): more jitter (t > s) lowers eps_star, the epsilon of the whole sampler (DP_EPS_REP), and raises the chance
   of an item i nobody read, and its share relative to an item j which is an eigenvector of X'X with an eigenvalue
   l > 0 (so its eigenvalue s + l in L is larger than the eigenvalue s of item i). *)
Definition DP_JMON : Prop :=
  forall (R : realType) (n : nat) (D : seq 'rV[R]_n),
  exists2 M : R -> law R (subset_of n), forall s Y, 0 < s -> pr (M s) Y = dpp (kernel s D) Y &
    let shown s i := chance (M s) [set Y : {set 'I_n} | i \in Y] in
    forall s t N : R, 0 < s -> s < t -> 0 < N ->
    [/\ epsilon_star t N < epsilon_star s N,
        forall i, (forall x, x \in D -> x 0 i = 0) -> shown s i < shown t i &
        forall i j l, (forall x, x \in D -> x 0 i = 0) -> 0 < l ->
          delta_mx 0 j *m kernel 0 D = l *: (delta_mx 0 j : 'rV[R]_n) -> shown s i / shown s j < shown t i / shown t j].

(* Sec. 2.3: the functions listed as kernels, for rows x_i (real numbers stand for counts and embeddings). *)
Definition tanh (R : realType) (y : R) : R := (expR (2%:R * y) - 1) / (expR (2%:R * y) + 1).
Definition dotp (R : realType) (m : nat) (x y : 'rV[R]_m) : R := \sum_k x 0 k * y 0 k.
Definition dot_kernel (R : realType) (n m : nat) (x : 'I_n -> 'rV[R]_m) : 'M[R]_n := \matrix_(i, j) dotp (x i) (x j).
Definition rbf_kernel (R : realType) (n m : nat) (g : R) (x : 'I_n -> 'rV[R]_m) : 'M[R]_n :=
  \matrix_(i, j) expR (- (g * norm2 (x i - x j))).
Definition polynomial_kernel (R : realType) (n m d : nat) (c : R) (x : 'I_n -> 'rV[R]_m) : 'M[R]_n :=
  \matrix_(i, j) (dotp (x i) (x j) + c) ^+ d.
Definition sigmoid_kernel (R : realType) (n m : nat) (a c : R) (x : 'I_n -> 'rV[R]_m) : 'M[R]_n :=
  \matrix_(i, j) tanh (a * dotp (x i) (x j) + c).

(* "Dot products and the RBF, polynomial and sigmoid functions give positive semidefinite matrices", refuted: not all
   four do; the sigmoid does not. *)
Definition DP_PSD : Prop :=
  forall R : realType,
  ~ (forall (n m d : nat) (g a c : R) (x : 'I_n -> 'rV[R]_m), 0 < g -> 0 < a -> 0 <= c -> (1 <= d)%N ->
       [/\ psd (dot_kernel x), psd (rbf_kernel g x), psd (polynomial_kernel d c x) & psd (sigmoid_kernel a c x)]).

(* Repaired: without the sigmoid they do, and with s I added their eigenvalues are at least s: z (L + s I) z' >= s |z|^2. *)
Definition DP_PSD_REP : Prop :=
  forall (R : realType) (n m d : nat) (g c s : R) (x : 'I_n -> 'rV[R]_m), 0 < g -> 0 <= c -> (1 <= d)%N ->
  forall L, L = dot_kernel x \/ L = rbf_kernel g x \/ L = polynomial_kernel d c x ->
  psd L /\ forall z : 'rV[R]_n, s * norm2 z <= (z *m (L + s%:M) *m z^T) 0 0.

(* The squared Frobenius norm; |A| <= c in the operator norm; the eigenvalues of A with multiplicity, descending. *)
Definition frobenius2 (R : realType) (n : nat) (A : 'M[R]_n) : R := \sum_i \sum_j A i j ^+ 2.
Definition operator_le (R : realType) (n : nat) (A : 'M[R]_n) (c : R) : Prop :=
  forall v : 'rV[R]_n, norm2 (v *m A) <= c ^+ 2 * norm2 v.
Definition eigenvalues (R : realType) (n : nat) (A : 'M[R]_n) (l : 'I_n -> R) : Prop :=
  char_poly A = (\prod_i ('X - (l i)%:P))%R /\ forall i j : 'I_n, (i <= j)%N -> l j <= l i.

(* Sec. 3, special case: for binary rows one subject, added, removed or replaced, changes L by at most n, and a reader of
   everything (who changes it by the matrix of ones) by exactly n, in the Frobenius and in the operator norm. *)
Definition DP_DL : Prop :=
  forall (R : realType) (n : nat) (s : R),
  (forall D E : seq 'rV[R]_n, add_remove (@binary_rows R n) D E \/ replace (@binary_rows R n) D E ->
     frobenius2 (kernel s D - kernel s E) <= n%:R ^+ 2 /\ operator_le (kernel s D - kernel s E) n%:R)
  /\ let ones := const_mx 1 : 'rV[R]_n in
     (forall D, all (@binary_rows R n) D ->
        add_remove (@binary_rows R n) (ones :: D) D /\ kernel s (ones :: D) - kernel s D = const_mx 1) /\
     frobenius2 (const_mx 1 : 'M[R]_n) = n%:R ^+ 2 /\ norm2 (ones *m const_mx 1 : 'rV[R]_n) = n%:R ^+ 2 * norm2 ones.

(* Sec. 3.1.1, "Delta_L^2 = sum l_i^2", refuted: with Delta_L the largest Frobenius norm of L - L' over neighbors of
   binary rows, and l_i the eigenvalues of L. *)
Definition DP_L2 : Prop :=
  forall R : realType,
  ~ (forall (n : nat) (s Delta_L : R) (D : seq 'rV[R]_n) (l : 'I_n -> R), 0 < s -> 0 <= Delta_L ->
       all (@binary_rows R n) D -> eigenvalues (kernel s D) l ->
       (forall E F, add_remove (@binary_rows R n) E F -> frobenius2 (kernel s E - kernel s F) <= Delta_L ^+ 2) ->
       (exists E F, add_remove (@binary_rows R n) E F /\ frobenius2 (kernel s E - kernel s F) = Delta_L ^+ 2) ->
       Delta_L ^+ 2 = \sum_i l i ^+ 2).

(* Sec. 3.1.1, norm as printed, refuted: the changes of the scores log l_i add up to at most n log(1 + Delta_L/(s sqrt n))
   where Delta_L bounds |L - L'| in the operator norm and all eigenvalues are at least s. *)
Definition DP_DU_OP : Prop :=
  forall R : realType,
  ~ (forall (n : nat) (s Delta_L : R) (L L' : 'M[R]_n) (l l' : 'I_n -> R), 0 < s -> 0 <= Delta_L ->
       L^T = L -> L'^T = L' -> eigenvalues L l -> eigenvalues L' l' -> (forall i, s <= l i) -> (forall i, s <= l' i) ->
       operator_le (L - L') Delta_L ->
       \sum_i `|ln (l' i) - ln (l i)| <= n%:R * ln (1 + Delta_L / (s * Num.sqrt n%:R))).

(* Sec. 3.1.1, refuted: for n >= 2 no subject (any real rows, added, removed or replaced) moves every eigenvalue from s
   to s + Delta_L/sqrt n, for any Delta_L > 0. *)
Definition DP_WORST : Prop :=
  forall (R : realType) (n : nat) (s Delta_L : R), (2 <= n)%N -> 0 < s -> 0 < Delta_L ->
  ~ (exists D E : seq 'rV[R]_n, (add_remove (fun=> true) D E \/ replace (fun=> true) D E) /\
       (forall l, eigenvalue (kernel s D) l -> l = s) /\
       (forall l, eigenvalue (kernel s E) l -> l = s + Delta_L / Num.sqrt n%:R)).

(* Sec. 3.1.2, "n instances", refuted: with A = log(1 + s/((n-1)d)) and C = log(1 + s/(1 + nd)), the first of the n
   components changes by -C and each other by A - C; n times their sum is not the printed bound n(n-1) A - n C, with
   their signs or in absolute values. *)
Definition DP_SUB2 : Prop :=
  forall R : realType,
  let A (n : nat) (s d : R) := ln (1 + s / (n.-1%:R * d)) in
  let C (n : nat) (s d : R) := ln (1 + s / (1 + n%:R * d)) in
  let printed n s d := n%:R * n.-1%:R * A n s d - n%:R * C n s d in
  ~ (forall n s d, (2 <= n)%N -> 0 < s -> 0 < d ->
       n%:R * (- C n s d + n.-1%:R * (A n s d - C n s d)) = printed n s d)
  /\ ~ (forall n s d, (2 <= n)%N -> 0 < s -> 0 < d ->
       n%:R * (`|- C n s d| + n.-1%:R * `|A n s d - C n s d|) = printed n s d).

(* The binomial pair: on one dataset j ~ Bin(q, s/(1 + s)), and the loss of j is log(1 + j/s) - log(1 + q/(1 + s)), so
   the chance of j on the other is the binomial one times ratio j. Its delta(eps) in either order. *)
Definition binomial (R : realType) (s : R) (q j : nat) : R := 'C(q, j)%:R * (s / (1 + s)) ^+ j * (1 / (1 + s)) ^+ (q - j).
Definition binomial_ratio (R : realType) (s : R) (q j : nat) : R := (1 + j%:R / s) / (1 + q%:R / (1 + s)).
Definition binomial_delta (R : realType) (s eps : R) (q : nat) : R :=
  Num.max (\sum_(j < q.+1) binomial s q j * Num.max 0 (binomial_ratio s q j - expR eps))
          (\sum_(j < q.+1) binomial s q j * Num.max 0 (1 - expR eps * binomial_ratio s q j)).

(* First conjecture, refuted: for binary rows and n <= 3 the sampler's delta(eps) is at most the largest one of the
   binomial pairs with q <= n. *)
Definition DP_DELTA : Prop :=
  forall R : realType,
  ~ (forall (n : nat) (s eps delta : R) (M : seq 'rV[R]_n -> law R (subset_of n)), (n <= 3)%N -> 0 < s -> 0 <= eps ->
       samples M (fun D => dpp (kernel s D)) -> (forall q, (q <= n)%N -> binomial_delta s eps q <= delta) ->
       dp_delta (add_remove (@binary_rows R n)) eps delta M).

End Determinantal.

Module Finite.

(* The chances p x t of output t on input x are laws, and the mechanism M with these laws satisfies the claim.      *)
(* (M x is determined by p x, so "there is M" is "the M".)                                                          *)
Definition mechanism (R : realType) (D : Type) (T : finType) (p : D -> T -> R) (claim : (D -> law R T) -> Prop) : Prop :=
  exists M : D -> law R T, (forall x t, pr (M x) t = p x t) /\ claim M.

(* Any two inputs are compared. *)
Definition all_pairs (D : Type) (x y : D) : Prop := True.

(* --- Rating collection (Zheng) ---------------------------------------------------------------------------------- *)

(* Randomized response (Definition 3) of one entry, a number of stars in {0, ..., d} where 0 is a missing rating:   *)
(* the chance that x is released as z.                                                                              *)
Definition rr_entry (R : realType) (d : nat) (eps : R) (x z : 'I_d.+1) : R :=
  (if z == x then expR eps else 1) / (expR eps + d%:R).
(* The same of a vector with places I (n items, or the cells of a matrix) and a fresh draw for each. *)
Definition rr_vector (R : realType) (I : finType) (d : nat) (eps : R) (x z : {ffun I -> 'I_d.+1}) : R :=
  \prod_i rr_entry eps (x i) (z i).
(* How many entries of two vectors differ. *)
Definition differing (n : nat) (T : eqType) (x y : {ffun 'I_n -> T}) : nat := \sum_i (x i != y i).

(* Theorem 2: n eps-differential privacy for any two vectors; and n eps is exact. *)
Definition RC_T2 : Prop :=
  forall (R : realType) (n d : nat) (eps : R), 0 <= eps ->
  mechanism (@rr_vector R [finType of 'I_n] d eps) (fun M =>
    dp (@all_pairs _) (n%:R * eps) M /\ ((0 < d)%N -> (0 < n)%N -> exactly_dp (@all_pairs _) (n%:R * eps) M)).

(* Modified Laplace (Definition 2): an entry is a rating in [-1, 1] or missing (None), and is released as a number or  *)
(* as missing. (That the Laplace density integrates to 1 is not used.)                                                *)
Definition in_space (R : realType) (x : option R) : Prop := if x is Some a then -1 <= a <= 1 else True.
(* The chance that x is released as a number: r/(r + 1) for a rating, 1/(r + 1) for a missing one, r = e^(eps/2).      *)
Definition number_chance (R : realType) (eps : R) (x : option R) : R :=
  (if x is Some _ then expR (eps / 2) else 1) / (expR (eps / 2) + 1).
(* The mean of f of the release of x. The number is x (0 for a missing one) with Laplace noise of scale 2/eps.          *)
Definition ml_mean (R : realType) (eps : R) (x : option R) (f : option R -> \bar R) : \bar R :=
  ((number_chance eps x)%:E *
     \int[@lebesgue_measure R]_z ((Selection.laplace_density (2 / eps) (z - odflt 0 x))%:E * f (Some z)) +
   (1 - number_chance eps x)%:E * f None)%E.
(* The chance that the entries of a list, released with fresh and independent draws, fall in S.                       *)
Fixpoint ml_chance (R : realType) (eps : R) (x : seq (option R)) (S : seq (option R) -> bool) : \bar R :=
  if x is x1 :: x' then ml_mean eps x1 (fun z => ml_chance eps x' (fun zs => S (z :: zs))) else (S [::])%:R%:E.
(* The same for a vector of n entries.                                                                                *)
Definition ml_vector (R : realType) (n : nat) (eps : R) (x : {ffun 'I_n -> option R}) (S : seq (option R) -> bool) : \bar R :=
  ml_chance eps [seq x i | i <- enum 'I_n] S.

(* Theorem 1: n eps-differential privacy. (For all sets S; where S is not measurable, the library's integral is the   *)
(* supremum over the simple functions below.)                                                                         *)
Definition RC_T1 : Prop :=
  forall (R : realType) (n : nat) (eps : R) (x y : {ffun 'I_n -> option R}) (S : seq (option R) -> bool), 0 < eps ->
  (forall i, in_space (x i)) -> (forall i, in_space (y i)) ->
  (ml_vector eps x S <= (expR (n%:R * eps))%:E * ml_vector eps y S)%E.

(* The nine cases of the proof, about one entry: x and y are ratings or missing, S an event of numbers, of ? alone, or *)
(* of both.                                                                                                           *)
Definition entry_chance (R : realType) (eps : R) (x : option R) (S : option R -> bool) : \bar R :=
  ml_mean eps x (fun z => (S z)%:R%:E).
Definition numbers (R : realType) (S : option R -> bool) : Prop := S None = false.
Definition missing (R : realType) (S : option R -> bool) : Prop := forall z, S z = ~~ z.
Definition mixed (R : realType) (S : option R -> bool) : Prop := S None /\ exists a, S (Some a).
Definition entry_case (x_is_rating y_is_rating : bool) (event : forall R : realType, (option R -> bool) -> Prop) : Prop :=
  forall (R : realType) (eps : R) (x y : option R) (S : option R -> bool), 0 < eps -> in_space x -> in_space y ->
  (x : bool) = x_is_rating -> (y : bool) = y_is_rating -> event R S ->
  (entry_chance eps x S <= (expR eps)%:E * entry_chance eps y S)%E.
Definition RC_T1_i : Prop := entry_case true true numbers.
Definition RC_T1_ii : Prop := entry_case true true missing.
Definition RC_T1_iii : Prop := entry_case true true mixed.
Definition RC_T1_iv : Prop := entry_case true false numbers.
Definition RC_T1_v : Prop := entry_case true false missing.
Definition RC_T1_vi : Prop := entry_case true false mixed.
Definition RC_T1_vii : Prop := entry_case false true numbers.
Definition RC_T1_viii : Prop := entry_case false true missing.
Definition RC_T1_ix : Prop := entry_case false true mixed.

(* Vectors that differ in k entries cost at most k eps, and exactly that: with Laplace noise on the event that all     *)
(* releases are numbers in [1, 2], of which the chance is positive and finite; with randomized response no smaller     *)
(* epsilon will do.                                                                                                   *)
Definition RC_T1_TIGHT : Prop :=
  forall (R : realType) (n k : nat) (eps : R), 0 < eps -> (k <= n)%N ->
  [/\ forall (x y : {ffun 'I_n -> option R}) S, (forall i, in_space (x i)) -> (forall i, in_space (y i)) -> differing x y = k ->
         (ml_vector eps x S <= (expR (k%:R * eps))%:E * ml_vector eps y S)%E,
      exists x y : {ffun 'I_n -> option R}, (forall i, in_space (x i) /\ in_space (y i)) /\ differing x y = k /\
         let S := all (fun z => if z is Some a then 1 <= a <= 2 else false) in
         (0 < ml_vector eps y S < +oo)%E /\ ml_vector eps x S = ((expR (k%:R * eps))%:E * ml_vector eps y S)%E
    & forall d, (0 < d)%N -> (0 < k)%N ->
         mechanism (@rr_vector R [finType of 'I_n] d eps) (exactly_dp (fun x y => differing x y = k) (k%:R * eps))].

(* Numbers cut to [-1, 1].                                                                                            *)
Definition clip (R : realType) (z : option R) : option R := omap (fun a => Num.max (-1) (Num.min 1 a)) z.
(* Clipped, modified Laplace maps the space of ratings into itself and stays n eps-differentially private; so does     *)
(* randomized response (whose outputs are vectors of numbers in {0, ..., d} by definition).                           *)
Definition RC_CONJ_REP : Prop :=
  forall (R : realType) (n : nat) (eps : R), 0 < eps ->
  [/\ forall z : option R, in_space (clip z),
      forall (x y : {ffun 'I_n -> option R}) (S : seq (option R) -> bool), (forall i, in_space (x i)) -> (forall i, in_space (y i)) ->
        (ml_vector eps x (fun zs => S (map (@clip R) zs)) <= (expR (n%:R * eps))%:E * ml_vector eps y (fun zs => S (map (@clip R) zs)))%E
    & forall d, mechanism (@rr_vector R [finType of 'I_n] d eps) (dp (@all_pairs _) (n%:R * eps))].

(* The use of mechanisms M i, entry by entry with independent draws, on a vector x. *)
Definition entrywise (R : realType) (D : Type) (T : finType) (n : nat) (M : 'I_n -> D -> law R T)
  (x : 'I_n -> D) (z : {ffun 'I_n -> T}) : R := \prod_i pr (M i (x i)) (z i).

(* The measurable space of vectors of n + 1 entries of T: nested pairs, with the product sigma-algebra.               *)
Fixpoint vectors (d : measure_display) (T : measurableType d) (n : nat) : {d' : measure_display & measurableType d'} :=
  if n is n'.+1 then existT _ _ [the measurableType _ of (T * projT2 (vectors T n'))%type] else existT _ _ T.
(* The chance that n + 1 independent entries, the i-th of law P i, give a vector in S: the product measure of S, which *)
(* is the integral over the first entry of the chances of the sections of S.                                         *)
Fixpoint independent (R : realType) (d : measure_display) (T : measurableType d) (n : nat) (P : nat -> {measure set T -> \bar R}) :
    set (projT2 (vectors T n)) -> \bar R :=
  if n is n'.+1 then fun S => (\int[P 0%N]_z independent (fun i => P i.+1) (xsection S z))%E else P 0%N.
(* eps-differential privacy of any mechanism, given by the chance that its output on x is in S.                       *)
Definition private_on (R : realType) (D : Type) (d : measure_display) (T : measurableType d) (neighbors : D -> D -> Prop) (eps : R)
    (M : D -> set T -> \bar R) : Prop :=
  forall x y, neighbors x y -> forall S, measurable S -> (M x S <= (expR eps)%:E * M y S)%E.

(* n-fold use: for mechanisms M i with outputs in any measurable space, eps per entry is n eps per vector of n = m + 1 *)
(* entries drawn independently (the product is a probability measure); no smaller factor serves all mechanisms.       *)
Definition RC_NFOLD : Prop :=
  (forall (R : realType) (D : Type) (d : measure_display) (T : measurableType d) (neighbors : D -> D -> Prop) (eps : R)
      (M : nat -> D -> {measure set T -> \bar R}) (m : nat),
     (forall i x, M i x [set: T]%classic = 1%E) -> (forall i, private_on neighbors eps (M i)) ->
     let vector x := @independent R d T m (fun i => M i (x i)) in
     private_on (fun x y : nat -> D => forall i, (i < m.+1)%N -> neighbors (x i) (y i)) (m.+1%:R * eps) vector /\
     forall x, exists2 P : {measure set (projT2 (vectors T m)) -> \bar R}, (forall S, P S = vector x S) & P [set: _]%classic = 1%E) /\
  (forall (R : realType) (n : nat) (eps : R), 0 <= eps -> (0 < n)%N ->
     exists M : 'I_2 -> law R [finType of 'I_2], dp (@all_pairs _) eps M /\
       mechanism (entrywise (fun _ : 'I_n => M)) (exactly_dp (@all_pairs _) (n%:R * eps))).

(* Definition 3 to the letter: one draw xi_v per value v, and entry x_k becomes xi_(x_k). *)
Definition rr_by_value (R : realType) (n d : nat) (eps : R) (x z : {ffun 'I_n -> 'I_d.+1}) : R :=
  \sum_(xi : {ffun 'I_d.+1 -> 'I_d.+1} | [forall k, z k == xi (x k)]) \prod_v rr_entry eps v (xi v).

(* Refuted for every n >= 2, d >= 1 and eps, and with any other privacy parameter eps' in place of n eps. *)
Definition RC_IND3 : Prop :=
  forall (R : realType) (n d : nat) (eps eps' : R), (1 < n)%N -> (0 < d)%N -> 0 <= eps ->
  mechanism (@rr_by_value R n d eps) (fun M => ~ dp (@all_pairs _) eps' M).

(* RC-EPS0-REP, the half on randomized response: it is defined for every eps >= 0. *)
Definition RC_EPS0_REP_response : Prop :=
  forall (R : realType) (d : nat) (eps : R), 0 <= eps -> mechanism (@rr_entry R d eps) (fun _ => True).

(* Definition 2 to the letter: one coin zeta and one noise xi for all entries; a missing entry turns the coin over. *)
Definition one_noise (R : realType) (n : nat) (x : 'I_n -> option R) (zeta : bool) (xi : R) : 'I_n -> option R :=
  fun i => match x i with
           | Some rating => if zeta then Some (rating + xi) else None
           | None => if zeta then None else Some xi
           end.

(* Refuted for every probability space, every law of zeta and xi, and every parameter eps' in place of n eps. *)
Definition RC_IND2 : Prop :=
  forall (R : realType) (n : nat) (eps' : R) (d : measure_display) (T : measurableType d)
    (P : {measure set T -> \bar R}) (zeta : T -> bool) (xi : T -> R), (1 < n)%N -> P [set: T]%classic = 1%E ->
  ~ (forall (x y : 'I_n -> option R) (S : set ('I_n -> option R)),
       (forall z, x z = None \/ exists a, x z = Some a /\ -1 <= a <= 1) ->
       (forall z, y z = None \/ exists a, y z = Some a /\ -1 <= a <= 1) ->
       measurable [set t | S (one_noise x (zeta t) (xi t))]%classic -> measurable [set t | S (one_noise y (zeta t) (xi t))]%classic ->
       (P [set t | S (one_noise x (zeta t) (xi t))]%classic <= (expR eps')%:E * P [set t | S (one_noise y (zeta t) (xi t))]%classic)%E).

(* "Conjugate" transforms: the second half of the sentence, that f maps the space of ratings into itself implies    *)
(* that an algorithm keeps its guarantee (here: an error of at most b for every true rating), is refuted.           *)
Definition RC_CONJ : Prop :=
  forall R : realType,
  ~ (forall f : R -> R, (forall x, -1 <= x <= 1 -> -1 <= f x <= 1) ->
     forall (algorithm : R -> R) (b : R), (forall x, -1 <= x <= 1 -> `|algorithm x - x| <= b) ->
     forall x, -1 <= x <= 1 -> `|algorithm (f x) - x| <= b).

(* The mean squared difference of a number theta and the release of entry x, given that the release is a rating. *)
Definition mean_squared_error (R : realType) (d : nat) (eps theta : R) (x : 'I_d.+1) : R :=
  (\sum_(z : 'I_d.+1 | z != ord0) rr_entry eps x z * (theta - z%:R) ^+ 2) /
  (\sum_(z : 'I_d.+1 | z != ord0) rr_entry eps x z).

(* A created rating (x is missing) has the error (d-1)^2: refuted, and for every d and theta strictly less. *)
Definition RC_EQ : Prop :=
  forall R : realType,
  ~ (forall (d : nat) (eps theta : R), (1 < d)%N -> 0 <= eps -> 1 <= theta <= d%:R ->
       mean_squared_error eps theta (ord0 : 'I_d.+1) = (d%:R - 1) ^+ 2) /\
  (forall (d : nat) (eps theta : R), (1 < d)%N -> 0 <= eps -> 1 <= theta <= d%:R ->
       mean_squared_error eps theta (ord0 : 'I_d.+1) < (d%:R - 1) ^+ 2).

Definition RC_EQ_REP : Prop :=
  forall (R : realType) (d : nat) (eps theta : R), (1 < d)%N -> 0 <= eps -> 1 <= theta <= d%:R ->
  let bound := (d%:R - 1) * (2%:R * d%:R - 1) / 6%:R in
  mean_squared_error eps theta (ord0 : 'I_d.+1) <= bound <= (d%:R - 1) ^+ 2 /\
  (theta = 1 \/ theta = d%:R -> mean_squared_error eps theta (ord0 : 'I_d.+1) = bound).

(* The steps of section 4.3 "as printed": refuted by the printed equality of RC-EQ. *)
Definition RC_T3_S : Prop := RC_EQ.

(* No range of Theta is needed, refuted by randomized response: X are the observed ratings (0 is missing) of a matrix  *)
(* Theta of rank at most 1, equal to X where X is a rating, and a created rating's error exceeds its bound. (The half  *)
(* on Laplace noise and Theorem 3 itself are not refuted here.)                                                       *)
Definition RC_RANGE : Prop :=
  forall (R : realType) (d : nat) (eps : R), (1 < d)%N -> 0 <= eps ->
  ~ (forall (m n : nat) (Theta : 'M[R]_(m, n)) (X : 'I_m -> 'I_n -> 'I_d.+1), (\rank Theta <= 1)%N ->
       (forall i j, X i j != ord0 -> Theta i j = (X i j)%:R) ->
       forall i j, X i j = ord0 -> mean_squared_error eps (Theta i j) (X i j) <= (d%:R - 1) ^+ 2).

(* RC-RANGE-REP, the half on randomized response. *)
Definition RC_RANGE_REP_response : Prop :=
  forall (R : realType) (d : nat) (eps theta : R), (1 < d)%N -> 0 <= eps -> 1 <= theta <= d%:R ->
  mean_squared_error eps theta (ord0 : 'I_d.+1) <= (d%:R - 1) ^+ 2.

(* A rating that stays a rating: the mean squared change. *)
Definition RC_RRX : Prop :=
  forall (R : realType) (d : nat) (eps : R) (x : 'I_d.+1), (1 < d)%N -> 0 <= eps -> x != ord0 ->
  mean_squared_error eps x%:R x <= (d%:R - 1) ^+ 2 * d%:R / (expR eps + d%:R).

(* The Frobenius norm of a matrix with cells I, over the cells of a set. *)
Definition norm_on (R : realType) (I : finType) (cells : pred I) (A : I -> R) : R :=
  Num.sqrt (\sum_(c | cells c) A c ^+ 2).

(* rho is at most the sum of the three norms, the first of which is at most that over all observed cells. *)
Definition RC_DEC : Prop :=
  forall (R : realType) (I : finType) (in_X in_Z : pred I) (Theta X Z : I -> R) (rho0 : R),
  norm_on in_X (fun c => Theta c - X c) <= rho0 * Num.sqrt #|in_X|%:R ->
  norm_on in_Z (fun c => Theta c - Z c) <=
    norm_on (fun c => in_Z c && in_X c) (fun c => Theta c - X c) +
    norm_on (fun c => in_Z c && in_X c) (fun c => X c - Z c) +
    norm_on (fun c => in_Z c && ~~ in_X c) (fun c => Theta c - Z c) /\
  norm_on (fun c => in_Z c && in_X c) (fun c => Theta c - X c) <= rho0 * Num.sqrt #|in_X|%:R.

(* For any probability space. *)
Definition RC_UNION : Prop :=
  forall (R : realType) (d : measure_display) (T : measurableType d) (P : {measure set T -> \bar R}) (gamma : R) (A B : set T),
  P [set: T]%classic = 1%E -> measurable A -> measurable B ->
  (P A <= (gamma / 2%:R)%:E)%E -> (P B <= (gamma / 2%:R)%:E)%E -> ((1 - gamma)%:E <= P (~` A `&` ~` B)%classic)%E.

(* Theorem 3 for randomized response. An m x n matrix is a vector of its cells.                                     *)
Definition rated (I : finType) (d : nat) (x : {ffun I -> 'I_d.+1}) : pred I := fun c => x c != ord0.
Definition rho (R : realType) (I : finType) (d : nat) (Theta : I -> R) (z : {ffun I -> 'I_d.+1}) : R :=
  norm_on (rated z) (fun c => Theta c - (z c)%:R).
Definition theorem3_response (failure : forall (R : realType) (m n d : nat) (eps gamma : R), R) : Prop :=
  forall (R : realType) (m n d : nat) (eps gamma rho0 : R) (Theta : 'I_m * 'I_n -> R)
    (X : {ffun 'I_m * 'I_n -> 'I_d.+1}),
  0 <= eps -> 0 < gamma < 1 -> (1 < d)%N -> (forall c, 1 <= Theta c <= d%:R) ->
  let s := #|rated X|%:R in
  norm_on (rated X) (fun c => Theta c - (X c)%:R) <= rho0 * Num.sqrt s ->
  mechanism (@rr_vector R _ d eps) (fun M =>
    1 - gamma <= chance (M X) [set z | rho Theta z <= rho0 * Num.sqrt s + failure R m n d eps gamma]).

Definition RC_T3_RR : Prop :=
  theorem3_response (fun R m n d eps gamma =>
    2%:R * (d%:R - 1) * Num.sqrt (2%:R * m%:R * n%:R * d%:R / ((expR eps + d%:R) * gamma))).

(* RC-T3-TIGHT, the half on randomized response: sqrt(E/gamma), and that it is smaller than the bound of Theorem 3. *)
Definition tight_E (R : realType) (m n d : nat) (eps : R) : R :=
  (d%:R - 1) * (2%:R * d%:R - 1) / 6%:R * (m%:R * n%:R) * d%:R / (expR eps + d%:R).
Definition RC_T3_TIGHT_response : Prop :=
  theorem3_response (fun R m n d eps gamma => Num.sqrt (tight_E m n d eps / gamma)) /\
  forall (R : realType) (m n d : nat) (eps gamma : R), 0 <= eps -> 0 < gamma < 1 -> (1 < d)%N -> (0 < m)%N -> (0 < n)%N ->
    Num.sqrt (tight_E m n d eps / gamma) <
    2%:R * (d%:R - 1) * Num.sqrt (2%:R * m%:R * n%:R * d%:R / ((expR eps + d%:R) * gamma)).

(* The bounds (6) and (7) as functions of eps. *)
Definition bound6 (R : realType) (m n s : nat) (rho0 gamma eps : R) : R :=
  rho0 * Num.sqrt s%:R + 4%:R / eps * Num.sqrt (s%:R / gamma) +
  Num.sqrt (2%:R * m%:R * n%:R / ((expR (eps / 2%:R) + 1) * gamma) * (1 + 8%:R / eps ^+ 2)).
Definition bound7 (R : realType) (m n d s : nat) (rho0 gamma eps : R) : R :=
  rho0 * Num.sqrt s%:R + 2%:R * (d%:R - 1) * Num.sqrt (2%:R * m%:R * n%:R * d%:R / ((expR eps + d%:R) * gamma)).
(* f is strictly decreasing on eps > 0 and tends to the limit. *)
Definition decreases_to (R : realType) (f : R -> R) (limit : R) : Prop :=
  (forall eps eps', 0 < eps -> eps < eps' -> f eps' < f eps) /\
  (forall t, 0 < t -> exists eps0, forall eps, eps0 <= eps -> `|f eps - limit| < t).
Definition RC_MON : Prop :=
  forall (R : realType) (m n d s : nat) (rho0 gamma : R), (0 < s <= m * n)%N -> (1 < d)%N -> 0 < gamma < 1 ->
  decreases_to (bound6 m n s rho0 gamma) (rho0 * Num.sqrt s%:R) /\
  decreases_to (bound7 m n d s rho0 gamma) (rho0 * Num.sqrt s%:R).

(* The squared Frobenius norm of a matrix over the observed cells, and the share p of these. *)
Definition square_on (R : realType) (m n : nat) (Omega : {set 'I_m * 'I_n}) (A : 'M[R]_(m, n)) : R :=
  \sum_(c in Omega) A c.1 c.2 ^+ 2.
Definition share (R : realType) (m n : nat) (Omega : {set 'I_m * 'I_n}) : R := #|Omega|%:R / (m%:R * n%:R).
(* The restricted isometry property (2) of the projection on Omega. *)
Definition isometry (R : realType) (m n : nat) (Omega : {set 'I_m * 'I_n}) (r0 : nat) (alpha : R) : Prop :=
  forall A : 'M[R]_(m, n), (\rank A <= r0)%N ->
  (1 - alpha) * square_on [set: _] A <= square_on Omega A / share R Omega <= (1 + alpha) * square_on [set: _] A.
(* Vacuous: the property fails for every Omega that misses an entry, every r0 >= 1 and every alpha < 1. *)
Definition RC_RIP : Prop :=
  forall (R : realType) (m n : nat) (Omega : {set 'I_m * 'I_n}) (r0 : nat) (alpha : R),
  Omega != [set: _] -> (0 < r0)%N -> alpha < 1 -> ~ isometry Omega r0 alpha.
(* RC-5 assumes the property and a missing entry, and so says nothing: its hypothesis is never true. *)
Definition RC_5 : Prop :=
  ~ exists (R : realType) (m n : nat) (Omega : {set 'I_m * 'I_n}) (r0 : nat) (alpha : R),
      [/\ Omega != [set: _], (0 < r0)%N, alpha < 1 & isometry Omega r0 alpha].

(* Every cell is observed independently with probability p: the chance that Omega is the set of observed cells. *)
Definition observed_law (R : realType) (m n : nat) (p : R) (Omega : {set 'I_m * 'I_n}) : R :=
  \prod_c (if c \in Omega then p else 1 - p).
Definition RC_RIP_REP : Prop :=
  forall (R : realType) (m n : nat) (p mu alpha : R) (A : 'M[R]_(m, n)), 0 < p <= 1 -> 0 < alpha -> 0 <= mu -> (0 < m * n)%N ->
  (forall i j, A i j ^+ 2 <= mu * square_on [set: _] A / (m%:R * n%:R)) ->
  mechanism (fun _ : unit => @observed_law R m n p) (fun M =>
    chance (M tt) [set Omega | `|square_on Omega A / p - square_on [set: _] A| > alpha * square_on [set: _] A] <=
    (1 - p) * mu / (p * alpha ^+ 2 * (m%:R * n%:R))).

(* The nuclear norm by duality: ||A||_* <= c when tr(A'B) <= c for every B that lengthens no vector. *)
Definition contraction (R : realType) (m n : nat) (B : 'M[R]_(m, n)) : Prop :=
  forall v : 'rV[R]_m, \sum_j (v *m B) ord0 j ^+ 2 <= \sum_i v ord0 i ^+ 2.
Definition nuclear_at_most (R : realType) (m n : nat) (A : 'M[R]_(m, n)) (c : R) : Prop :=
  forall B, contraction B -> \tr (A^T *m B) <= c.
(* The Frobenius norm over observed cells. *)
Definition frobenius_on (R : realType) (m n : nat) (Omega : {set 'I_m * 'I_n}) (A : 'M[R]_(m, n)) : R :=
  Num.sqrt (square_on Omega A).
(* A completes Z (eq. 4): it is within rho of Z on Omega, and no such matrix has a smaller nuclear norm. *)
Definition completes (R : realType) (m n : nat) (Omega : {set 'I_m * 'I_n}) (Z : 'M[R]_(m, n)) (rho : R) (A : 'M[R]_(m, n)) : Prop :=
  frobenius_on Omega (A - Z) <= rho /\
  forall A', frobenius_on Omega (A' - Z) <= rho -> forall c, nuclear_at_most A' c -> nuclear_at_most A c.
Definition RC_5_REP : Prop :=
  (forall (R : realType) (m n : nat) (Theta Z estimate : 'M[R]_(m, n)),
     let rho := frobenius_on [set: _] (Theta - Z) in
     completes [set: _] Z rho estimate -> frobenius_on [set: _] (estimate - Theta) <= 2%:R * rho) /\
  (forall (R : realType) (m n : nat) (Omega : {set 'I_m * 'I_n}), Omega != [set: _] ->
     exists Theta Z : 'M[R]_(m, n), let rho := frobenius_on Omega (Theta - Z) in
       [/\ \rank Theta = 1%N, rho = 0, exists estimate, completes Omega Z rho estimate &
          forall estimate, completes Omega Z rho estimate ->
            frobenius_on [set: _] (estimate - Theta) = 1 /\
            forall C0 : R, C0 / Num.sqrt (share R Omega) * rho < frobenius_on [set: _] (estimate - Theta)]).

(* The mean rating of each item (column) over the users who rated it, as a completion method. *)
Definition item_means (R : realType) (m n : nat) (Omega : {set 'I_m * 'I_n}) (Z : 'M[R]_(m, n)) : 'M[R]_(m, n) :=
  \matrix_(i, j) ((\sum_(k | (k, j) \in Omega) Z k j) / #|[set k | (k, j) \in Omega]|%:R).
(* Not for all methods: no C0 serves the item means, even with every entry observed. *)
Definition RC_5_ALL : Prop :=
  forall R : realType,
  ~ (forall method : forall m n, {set 'I_m * 'I_n} -> 'M[R]_(m, n) -> 'M[R]_(m, n), exists C0 : R,
       forall (m n : nat) (Omega : {set 'I_m * 'I_n}) (Theta Z : 'M[R]_(m, n)),
       frobenius_on [set: _] (method m n Omega Z - Theta) <= C0 / Num.sqrt (share R Omega) * frobenius_on Omega (Theta - Z)) /\
  (forall C0 : R, exists (m n : nat) (Theta : 'M[R]_(m, n)),
     C0 / Num.sqrt (share R ([set: 'I_m * 'I_n])) * frobenius_on [set: _] (Theta - Theta) <
     frobenius_on [set: _] (item_means [set: _] Theta - Theta)).

(* --- X-Map (Guerraoui, Kermarrec, Lin, Patra) --------------------------------------------------------------------- *)

(* Ratings of items by users; None is a missing rating (an option counts as true when it is there). *)
Definition ratings (R : realType) (U I : finType) : Type := U -> I -> option R.
(* The dataset after user x has left. *)
Definition leaves (R : realType) (U I : finType) (x : U) (D : ratings R U I) : ratings R U I :=
  fun y i => if y == x then None else D y i.
(* A rating less the mean of its user's ratings, 0 where missing. *)
Definition user_mean (R : realType) (U I : finType) (D : ratings R U I) (x : U) : R :=
  (\sum_(i | D x i) odflt 0 (D x i)) / (\sum_(i | D x i) 1).
Definition centered (R : realType) (U I : finType) (D : ratings R U I) (x : U) (i : I) : R :=
  if D x i is Some a then a - user_mean D x else 0.
Definition dot (R : realType) (U I : finType) (D : ratings R U I) (i j : I) : R :=
  \sum_x centered D x i * centered D x j.
(* The norm of item i beside item j: over all raters of i, or (corated) over the users who rated both. *)
Definition norm (R : realType) (U I : finType) (corated : bool) (D : ratings R U I) (i j : I) : R :=
  Num.sqrt (\sum_(x | ~~ corated || D x j) centered D x i ^+ 2).
(* |r_i||r_j|, and the similarity: the cosine of the centered ratings. *)
Definition lengths (R : realType) (U I : finType) (corated : bool) (D : ratings R U I) (i j : I) : R :=
  norm corated D i j * norm corated D j i.
Definition similarity (R : realType) (U I : finType) (corated : bool) (D : ratings R U I) (i j : I) : R :=
  dot D i j / lengths corated D i j.

(* Theorem 2. The two terms of SS for a user y who leaves; SS is the largest over all y in U_ij, the co-raters, so   *)
(* c <= SS means that one of these terms is at least c.                                                             *)
Definition first_term (R : realType) (U I : finType) (corated : bool) (D : ratings R U I) (i j : I) (y : U) : R :=
  centered D y i * centered D y j / lengths corated (leaves y D) i j.
Definition second_term (R : realType) (U I : finType) (corated : bool) (D : ratings R U I) (i j : I) (y : U) : R :=
  dot D i j / lengths corated (leaves y D) i j - dot D i j / lengths corated D i j.
Definition at_most_SS (R : realType) (U I : finType) (corated : bool) (D : ratings R U I) (i j : I) (c : R) : Prop :=
  exists y, D y i /\ D y j /\ (c <= first_term corated D i j y \/ c <= second_term corated D i j y).
(* No denominator of SS is zero. *)
Definition SS_defined (R : realType) (U I : finType) (corated : bool) (D : ratings R U I) (i j : I) : Prop :=
  forall y, D y i -> D y j -> 0 < lengths corated (leaves y D) i j.

(* Refuted in both readings of the norms, also where SS is defined. *)
Definition XM_T2 : Prop :=
  forall (R : realType) (corated : bool),
  ~ (forall (U I : finType) (D : ratings R U I) (i j : I) (x : U), i != j -> D x i -> D x j -> SS_defined corated D i j ->
       at_most_SS corated D i j `|similarity corated D i j - similarity corated (leaves x D) i j|).

(* If P >= 0 (P <= 0) the similarity falls (rises) by at most the first (second) term: refuted in both readings. *)
Definition XM_T2_P : Prop :=
  forall (R : realType) (corated : bool),
  ~ (forall (U I : finType) (D : ratings R U I) (i j : I) (x : U), i != j -> D x i -> D x j -> SS_defined corated D i j ->
       let D' := leaves x D in
       dot D' i j * lengths corated D i j <= dot D i j * lengths corated D' i j ->
       similarity corated D i j - similarity corated D' i j <= first_term corated D i j x).
Definition XM_T2_M : Prop :=
  forall (R : realType) (corated : bool),
  ~ (forall (U I : finType) (D : ratings R U I) (i j : I) (x : U), i != j -> D x i -> D x j -> SS_defined corated D i j ->
       let D' := leaves x D in
       dot D i j * lengths corated D' i j <= dot D' i j * lengths corated D i j ->
       similarity corated D' i j - similarity corated D i j <= second_term corated D i j x).

(* A user who rated one of the items or none: refuted, the vector of an item holding all its ratings. *)
Definition XM_T2_N : Prop :=
  forall R : realType,
  ~ (forall (U I : finType) (D : ratings R U I) (i j : I) (x : U), i != j -> ~~ (D x i && D x j) ->
       0 < lengths false D i j -> 0 < lengths false (leaves x D) i j ->
       similarity false D i j = similarity false (leaves x D) i j).

(* The product of the norms does not grow when a user leaves: true in both readings. *)
Definition XM_T2_NORM : Prop :=
  forall (R : realType) (corated : bool) (U I : finType) (D : ratings R U I) (i j : I) (x : U),
  lengths corated (leaves x D) i j <= lengths corated D i j.

(* "Hence": the inequality of the norms is to follow from XM-T2-N for every way to measure the length of a vector of  *)
(* the co-raters' ratings: a norm on the vectors with one entry for each co-rater. A length takes the set of         *)
(* co-raters and a vector over users, of which it reads the co-raters' entries.                                     *)
Definition norm_on_entries (R : realType) (U : finType) (S : {set U}) (len : (U -> R) -> R) : Prop :=
  [/\ forall v v', (forall x, x \in S -> v x = v' x) -> len v = len v',
      forall v, 0 <= len v,
      forall v, len v = 0 -> forall x, x \in S -> v x = 0,
      forall c v, len (fun x => c * v x) = `|c| * len v &
      forall v v', len (fun x => v x + v' x) <= len v + len v'].
Definition corated_by (R : realType) (U I : finType) (D : ratings R U I) (i j : I) : {set U} := [set x | D x i && D x j].
Definition lengths_by (R : realType) (U I : finType) (len : {set U} -> (U -> R) -> R) (D : ratings R U I) (i j : I) : R :=
  len (corated_by D i j) (fun x => centered D x i) * len (corated_by D i j) (fun x => centered D x j).
(* Refuted: for some norms the similarity never depends on who rated one of the items or none, and still the product *)
(* of the norms grows when somebody leaves.                                                                         *)
Definition XM_T2_NN : Prop :=
  forall R : realType,
  ~ (forall (U : finType) (len : {set U} -> (U -> R) -> R), (forall S, norm_on_entries S (len S)) ->
       (forall (I : finType) (D : ratings R U I) (i j : I) (x : U), i != j -> ~~ (D x i && D x j) ->
          dot D i j / lengths_by len D i j = dot (leaves x D) i j / lengths_by len (leaves x D) i j) ->
       forall (I : finType) (D : ratings R U I) (i j : I) (x : U), i != j -> D x i && D x j ->
         lengths_by len (leaves x D) i j <= lengths_by len D i j).

(* The denominators of SS are never zero: refuted in both readings. *)
Definition XM_T2_DEN : Prop :=
  forall (R : realType) (corated : bool),
  ~ (forall (U I : finType) (D : ratings R U I) (i j : I), i != j -> 0 < lengths corated D i j -> SS_defined corated D i j).

(* The repaired bound, for whoever leaves (the largest over all users covers her): the sum of the absolute terms;    *)
(* the larger of them when the user's product has the sign of dot.                                                  *)
Definition XM_T2_REP : Prop :=
  forall (R : realType) (corated : bool) (U I : finType) (D : ratings R U I) (i j : I) (x : U),
  let M := lengths corated (leaves x D) i j in
  let N := lengths corated D i j in
  let p := centered D x i * centered D x j in
  let change := `|similarity corated D i j - similarity corated (leaves x D) i j| in
  0 < M ->
  change <= (`|p| + `|dot D i j| * (1 - M / N)) / M /\
  (0 <= p * dot D i j -> change <= Num.max (`|p| / M) (`|dot D i j| * (1 - M / N) / M)).

(* Theorem 1, private replacement selection of item ti. X-SIM of two items is the mean of the similarities of the     *)
(* meta-paths from one to the other by certainty (Selection.xsim); a path's similarity is the mean of those of its   *)
(* successive items by significance. The report leaves open which sequences of items are meta-paths, and what their  *)
(* certainty and the significance are: `reading` reads them off a dataset, in any way, if only successive items of a *)
(* meta-path have a common rater, and two items of different domains that have one and a similarity (their norms are *)
(* positive) are a meta-path by themselves.                                                                         *)
Definition linked (R : realType) (U I : finType) (D : ratings R U I) : rel I := fun i j => [exists x, D x i && D x j].
Definition reads_xsim (R : realType) (U I : finType) (corated : bool) (target : pred I)
    (reading : ratings R U I -> Selection.links R I) : Prop :=
  forall D i j,
    [/\ Selection.similarity (reading D) i j = similarity corated D i j,
        forall p, p \in Selection.paths (reading D) i j -> exists s, [/\ p = i :: s, last i s = j & path (linked D) i s] &
        ~~ target i -> target j -> linked D i j -> 0 < lengths corated D i j ->
          [:: i; j] \in Selection.paths (reading D) i j].
(* The candidates I(ti): the items of the target domain with a quantified X-SIM, to which a meta-path leads.         *)
Definition candidates (R : realType) (U I : finType) (target : pred I) (reading : ratings R U I -> Selection.links R I)
    (D : ratings R U I) (ti : I) : pred I :=
  fun j => target j && (Selection.paths (reading D) ti j != [::]).
(* The chance that ti is replaced by tj. The sensitivity GS may be any function of the dataset and the candidate.    *)
Definition prs (R : realType) (U I : finType) (target : pred I) (reading : ratings R U I -> Selection.links R I) (ti : I)
    (eps : R) (GS : ratings R U I -> I -> R) (D : ratings R U I) (tj : I) : R :=
  let weight k := expR (eps * Selection.xsim (reading D) ti k / (2%:R * GS D k)) in
  (if candidates target reading D ti tj then weight tj else 0) / \sum_(k | candidates target reading D ti k) weight k.
(* Where it has candidates before and after a user leaves, no replacement betrays her by more than eps.              *)
Definition prs_private (R : realType) (U I : finType) (target : pred I) (reading : ratings R U I -> Selection.links R I)
    (ti : I) (eps : R) (GS : ratings R U I -> I -> R) (eps' : R) : Prop :=
  forall (D : ratings R U I) (x : U) (tj : I), let P := prs target reading ti eps GS in
  (exists k, candidates target reading D ti k) -> (exists k, candidates target reading (leaves x D) ti k) ->
  P D tj <= expR eps' * P (leaves x D) tj /\ P (leaves x D) tj <= expR eps' * P D tj.

(* There are such readings, and with a candidate the chances are a law. Theorem 1 is refuted for every reading of     *)
(* X-SIM and of the norms, and with any parameter eps' in place of its eps.                                          *)
Definition XM_T1 : Prop :=
  (forall (R : realType) (U I : finType) (corated : bool) (target : pred I),
     exists reading : ratings R U I -> Selection.links R I, reads_xsim corated target reading) /\
  (forall (R : realType) (U I : finType) (target : pred I) (reading : ratings R U I -> Selection.links R I) (ti : I)
     (eps : R) (GS : ratings R U I -> I -> R) (D : ratings R U I), (exists k, candidates target reading D ti k) ->
     (forall tj, 0 <= prs target reading ti eps GS D tj) /\ \sum_tj prs target reading ti eps GS D tj = 1) /\
  (forall R : realType, exists (U I : finType) (target : pred I) (ti : I), ~~ target ti /\
     forall (corated : bool) (reading : ratings R U I -> Selection.links R I) (eps eps' : R) (GS : ratings R U I -> I -> R),
     reads_xsim corated target reading -> ~ prs_private target reading ti eps GS eps').

(* The same candidates on D and on D': refuted for every reading, also where both datasets have candidates. (That     *)
(* there are readings is the first half of XM_T1.)                                                                    *)
Definition XM_T1_I : Prop :=
  forall R : realType, exists (U I : finType) (target : pred I) (ti : I), ~~ target ti /\
  forall (corated : bool) (reading : ratings R U I -> Selection.links R I), reads_xsim corated target reading ->
  ~ (forall (D : ratings R U I) (x : U),
       (exists k, candidates target reading D ti k) -> (exists k, candidates target reading (leaves x D) ti k) ->
       forall k, candidates target reading D ti k = candidates target reading (leaves x D) ti k).

(* Draws without replacement in proportion to the weights w: the chance that k draws from a pool give the set S. *)
Fixpoint drawn (R : realType) (I : finType) (w : I -> R) (k : nat) (pool S : {set I}) : R :=
  if k is k'.+1 then \sum_(i in S :&: pool) w i / (\sum_(j in pool) w j) * drawn w k' (pool :\ i) (S :\ i)
  else (#|S| == 0)%N%:R.

(* Theorems 3 and 4: N candidates in descending order of similarity s, k of them drawn by weight                     *)
(* exp(eps' max(s_j, s_k - width)/(4k SS)); s_k is the k-th, with number k-1 as numbers begin at 0.                  *)
Definition kth (R : realType) (N k : nat) (s : 'I_N.+1 -> R) : R := s (inord k.-1).
Definition width (R : realType) (N k : nat) (s : 'I_N.+1 -> R) (eps' SS rho : R) : R :=
  Num.min (kth k s) (4%:R * k%:R * SS / eps' * ln (k%:R * (N.+1 - k)%:R / rho)).
Definition selected (R : realType) (N k : nat) (s : 'I_N.+1 -> R) (eps' SS rho : R) (S : {set 'I_N.+1}) : R :=
  drawn (fun j => expR (eps' * Num.max (s j) (kth k s - width k s eps' SS rho) / (4%:R * k%:R * SS))) k [set: _] S.
(* Similarities in [0, 1], descending, and parameters of the theorems. *)
Definition theorem3_setting (R : realType) (N k : nat) (s : 'I_N.+1 -> R) (eps' SS rho : R) : Prop :=
  (0 < k < N.+1)%N /\ (forall i j : 'I_N.+1, (i <= j)%N -> s j <= s i) /\ (forall i, 0 <= s i <= 1) /\
  0 < eps' /\ 0 < SS /\ 0 < rho < 1.

(* "Larger" and "not below": refuted. *)
Definition XM_T3_STRICT : Prop :=
  forall R : realType,
  ~ (forall (N k : nat) (s : 'I_N.+1 -> R) (eps' SS rho : R), theorem3_setting k s eps' SS rho ->
       let threshold := kth k s - width k s eps' SS rho in
       1 - rho <= \sum_(S : {set 'I_N.+1} | [forall j in S, threshold <= s j]) selected k s eps' SS rho S ->
       1 - rho <= \sum_(S : {set 'I_N.+1} | [forall j in S, threshold < s j]) selected k s eps' SS rho S).

(* P(B|A) <= exp(-eps' w/(4k SS)), A: item a above s_k + w is not chosen, B: item b below s_k is. Refuted.           *)
(* (P(B|A) <= c is written P(A and B) <= c P(A), with P(A) > 0.)                                                    *)
Definition XM_T4_AB : Prop :=
  forall R : realType,
  ~ (forall (N k : nat) (s : 'I_N.+1 -> R) (eps' SS rho : R) (a b : 'I_N.+1), theorem3_setting k s eps' SS rho ->
       let w := width k s eps' SS rho in
       let P (event : pred {set 'I_N.+1}) := \sum_(S | event S) selected k s eps' SS rho S in
       kth k s + w < s a -> s b < kth k s -> 0 < P (fun S => a \notin S) ->
       P (fun S => (a \notin S) && (b \in S)) <= expR (- (eps' * w / (4%:R * k%:R * SS))) * P (fun S => a \notin S)).

(* --- PPNS (Lu and Shen) ------------------------------------------------------------------------------------------ *)

(* Cosine of two users over the items that both rated (eq. 5), and whether it is defined (where not, it is 0, as       *)
(* division by 0 gives 0 in this library).                                                                           *)
Definition value_of (R : realType) (r : option R) : R := odflt 0 r.
Definition user_norm (R : realType) (n : nat) (I : finType) (D : ratings R [finType of 'I_n] I) (a i : 'I_n) : R :=
  Num.sqrt (\sum_(t | D a t && D i t) value_of (D a t) ^+ 2).
Definition cosine (R : realType) (n : nat) (I : finType) (D : ratings R [finType of 'I_n] I) (a i : 'I_n) : R :=
  (\sum_(t | D a t && D i t) value_of (D a t) * value_of (D i t)) / (user_norm D a i * user_norm D i a).
Definition cosine_defined (R : realType) (n : nat) (I : finType) (D : ratings R [finType of 'I_n] I) (a i : 'I_n) : bool :=
  0 < user_norm D a i * user_norm D i a.
Definition all_defined (R : realType) (n : nat) (I : finType) (D : ratings R [finType of 'I_n] I) (a : 'I_n) : Prop :=
  forall i, i != a -> cosine_defined D a i.
(* The number of candidates (users other than the target a) that stand before candidate i in descending similarity;  *)
(* tie says who stands first among equals.                                                                          *)
Definition rank (R : realType) (n : nat) (I : finType) (tie : rel nat) (D : ratings R [finType of 'I_n] I) (a i : 'I_n) : nat :=
  (\sum_(j | (j != a) && (j != i)) ((cosine D a i < cosine D a j)%R || ((cosine D a i == cosine D a j) && tie j i)))%N.
(* Ratings of 1 to 5 stars. *)
Definition stars5 (R : realType) (r : option R) : Prop := exists a : nat, (1 <= a <= 5)%N /\ r = Some a%:R.
Definition star_ratings (R : realType) (U I : finType) (D : ratings R U I) : Prop := forall i t, D i t = None \/ stars5 (D i t).
(* One rating is changed (changed = true), or one is added or removed.                                               *)
Definition one_rating (R : realType) (U I : finType) (changed : bool) (D D' : ratings R U I) : Prop :=
  exists i t, [/\ forall j s, (j, s) != (i, t) -> D j s = D' j s, D i t <> D' i t & D i t && D' i t = changed].
(* The datasets of the claims on privacy: 1 to 5 stars, one rating differs, every similarity to the target a is       *)
(* defined.                                                                                                          *)
Definition neighboring (R : realType) (n : nat) (I : finType) (changed : bool) (D D' : ratings R [finType of 'I_n] I) (a : 'I_n) : Prop :=
  [/\ star_ratings D, star_ratings D', one_rating changed D D', all_defined D a & all_defined D' a].

(* How many neighbors a share x of a partition is: ceil(x) in Algorithm 1; x rounded, at least 1, in (18) and (19).    *)
Definition up_to_whole (R : realType) (x : R) : nat := `|ceil x|%N.
Definition rounded (R : realType) (x : R) : nat := maxn 1 `|floor (x + 2%:R^-1)|%N.
(* Partition number i (from 0) supplies the share p (1-p)^i k, at most what is missing, until none is missing. (fuel   *)
(* bounds the number of partitions; each supplies one neighbor at least.)                                            *)
Fixpoint quotas (R : realType) (whole : R -> nat) (p : R) (k missing i fuel : nat) : seq nat :=
  if fuel is fuel'.+1 then
    if missing == 0%N then [::] else
    let q := minn (whole (p * (1 - p) ^+ i * k%:R)) missing in q :: quotas whole p k (missing - q) i.+1 fuel'
  else [::].
(* Algorithm 1 draws k - 1 neighbors by these quotas; of n users, the target among them, some are left for the last.   *)
Definition algorithm_quotas (R : realType) (p : R) (k : nat) : seq nat := quotas (@up_to_whole R) p k k.-1 0 k.
Definition algorithm_defined (R : realType) (n : nat) (p : R) (k : nat) : Prop := (size (algorithm_quotas p k) * k < n.-1)%N.
(* The other schemes draw all k by them; no partition lacks candidates.                                              *)
Definition scheme_defined (R : realType) (whole : R -> nat) (n : nat) (p : R) (k : nat) : Prop :=
  let qs := quotas whole p k k 0 k in forall i, (i < size qs)%N -> (i * k + nth 0%N qs i <= n.-1)%N.
(* The candidates of partition number i, k in number, and those from it on. *)
Definition partition_of (R : realType) (n : nat) (I : finType) (tie : rel nat) (k : nat) (D : ratings R [finType of 'I_n] I) (a : 'I_n) (i : nat) : {set 'I_n} :=
  [set j | (j != a) && (i * k <= rank tie D a j < i.+1 * k)%N].
Definition partitions_from (R : realType) (n : nat) (I : finType) (tie : rel nat) (k : nat) (D : ratings R [finType of 'I_n] I) (a : 'I_n) (i : nat) : {set 'I_n} :=
  [set j | (j != a) && (i * k <= rank tie D a j)%N].
(* The chance that the draws from the visited partitions give the parts of S in them. *)
Definition drawn_from_partitions (R : realType) (n : nat) (I : finType) (tie : rel nat) (k : nat) (w : 'I_n -> R)
  (D : ratings R [finType of 'I_n] I) (a : 'I_n) (qs : seq nat) (S : {set 'I_n}) : R :=
  \prod_(i < size qs) drawn w (nth 0%N qs i) (partition_of tie k D a i) (S :&: partition_of tie k D a i).
(* PPNS: k - 1 neighbors from the first partitions, the last from all partitions that were not visited.             *)
(* w are the weights of candidates, w' those of the last draw (line 16 does not say which).                         *)
Definition ppns (R : realType) (n : nat) (I : finType) (tie : rel nat) (p : R) (k : nat) (w w' : 'I_n -> R)
  (D : ratings R [finType of 'I_n] I) (a : 'I_n) (S : {set 'I_n}) : R :=
  let qs := algorithm_quotas p k in
  let rest := partitions_from tie k D a (size qs) in
  drawn_from_partitions tie k w D a qs S * drawn w' 1 rest (S :&: rest) * (a \notin S)%:R.
(* All k neighbors from the first partitions: whole is up_to_whole in the scheme before the changed last draw, and     *)
(* rounded in (18) and (19).                                                                                         *)
Definition ppns_scheme (R : realType) (n : nat) (I : finType) (whole : R -> nat) (tie : rel nat) (p : R) (k : nat) (w : 'I_n -> R)
  (D : ratings R [finType of 'I_n] I) (a : 'I_n) (S : {set 'I_n}) : R :=
  let qs := quotas whole p k k 0 k in
  drawn_from_partitions tie k w D a qs S * (S \subset ~: (a |: partitions_from tie k D a (size qs)))%:R.

(* How ties are broken among n users: a rule is drawn, by chances that do not depend on the data. With one rule the     *)
(* order of equals is fixed, with all orders and equal chances it is random.                                         *)
Record ties (R : realType) := Ties {
  tie_rule : nat -> finType;
  tie_law : forall n, law R (tie_rule n);
  tie_first : forall n, tie_rule n -> rel nat }.
(* The mean of F over the rules. *)
Definition over_ties (R : realType) (b : ties R) (n : nat) (F : rel nat -> R) : R :=
  \sum_t pr (tie_law b n) t * F (tie_first t).

(* A rule for weights: they may depend on all that is public and private, p, k, the data D, the target a and the       *)
(* candidate, and are positive.                                                                                      *)
Definition weights (R : realType) : Type :=
  forall (n : nat) (I : finType), R -> nat -> ratings R [finType of 'I_n] I -> 'I_n -> 'I_n -> R.
Definition positive (R : realType) (w : weights R) : Prop := forall n I p k D a i, 0 < w n I p k D a i.
(* The weights (1), with any positive or other RS, a function of all of that too. *)
Definition paper_weight (R : realType) (eps : R) (RS : weights R) : weights R :=
  fun n I p k D a i => expR (eps * cosine D a i / (4%:R * k%:R * RS n I p k D a i)).
(* The selection of neighbors with the chance select n I tie p k D a S of the set S is eps-differentially private for   *)
(* every p of sec. 6.3 for which it is defined.                                                                      *)
Definition private_selection (R : realType) (eps : R) (b : ties R) (changed : bool) (defined : nat -> R -> nat -> Prop)
    (select : forall (n : nat) (I : finType), rel nat -> R -> nat -> ratings R [finType of 'I_n] I -> 'I_n -> {set 'I_n} -> R) : Prop :=
  forall (n : nat) (I : finType) (p : R) (k : nat) (D D' : ratings R [finType of 'I_n] I) (a : 'I_n) (S : {set 'I_n}),
  0 < p <= (k%:R - 1) / k%:R -> defined n p k -> neighboring changed D D' a ->
  over_ties b n (fun tie => select n I tie p k D a S) <= expR eps * over_ties b n (fun tie => select n I tie p k D' a S).

(* Refuted, for one rating added or removed and for one changed, for any eps', any way to break ties and any rules for  *)
(* weights, a uniform last draw included: Algorithm 1, and the formulas (18) and (19). So for the weights (1), with any *)
(* parameter eps' in place of their eps.                                                                             *)
Definition PP_DP : Prop :=
  forall (R : realType) (eps' : R) (b : ties R) (changed : bool),
  (forall w w' : weights R, positive w -> positive w' ->
     ~ private_selection eps' b changed (@algorithm_defined R)
         (fun n I tie p k D a => ppns tie p k (w n I p k D a) (w' n I p k D a) D a) /\
     ~ private_selection eps' b changed (scheme_defined (@rounded R))
         (fun n I tie p k D a => ppns_scheme (@rounded R) tie p k (w n I p k D a) D a)) /\
  (forall (eps : R) (RS : weights R), positive (paper_weight eps RS)).

(* The paper on its first scheme: there are neighbors and a set that is possible on one side only, whatever the       *)
(* weights w on the one and w' on the other, for every rule for ties and so for a random one.                          *)
Definition PP_ORIG : Prop :=
  forall (R : realType) (changed : bool),
  exists (n : nat) (I : finType) (p : R) (k : nat) (D D' : ratings R [finType of 'I_n] I) (a : 'I_n) (S : {set 'I_n}),
    [/\ 0 < p <= (k%:R - 1) / k%:R, scheme_defined (@up_to_whole R) n p k & neighboring changed D D' a] /\
    forall (tie : rel nat) (w w' : 'I_n -> R), (forall i, 0 < w i) -> (forall i, 0 < w' i) ->
    0 < ppns_scheme (@up_to_whole R) tie p k w D a S /\ ppns_scheme (@up_to_whole R) tie p k w' D' a S = 0.

(* The kNN attack (sec. 4.1): k fakes rated what the attacker knows, the items known to him, like the target, and      *)
(* nothing else; the target has other ratings for him to learn.                                                      *)
Definition knn_attack (R : realType) (n : nat) (I : finType) (k : nat) (D : ratings R [finType of 'I_n] I) (fakes : {set 'I_n})
    (target : 'I_n) (known : {set I}) : Prop :=
  [/\ target \notin fakes, #|fakes| = k, forall t, t \in known -> D target t : bool,
      exists2 t, t \notin known & D target t : bool &
      forall f t, f \in fakes -> D f t = if t \in known then D target t else None].
(* "Pr[N = top k] = 0 implies that no fake user's list contains the target": refuted. The top k of a user are the      *)
(* first k candidates.                                                                                               *)
Definition PP_SEC2 : Prop :=
  forall (R : realType) (b : ties R) (w w' : weights R), positive w -> positive w' ->
  ~ (forall (n : nat) (I : finType) (p : R) (k : nat) (D : ratings R [finType of 'I_n] I) (fakes : {set 'I_n}) (target : 'I_n)
       (known : {set I}),
       let list f tie := ppns tie p k (w n I p k D f) (w' n I p k D f) D f in
       0 < p <= (k%:R - 1) / k%:R -> algorithm_defined n p k -> star_ratings D -> knn_attack k D fakes target known ->
       (forall f, f \in fakes -> all_defined D f) ->
       (forall f, f \in fakes -> over_ties b n (fun tie => list f tie (partition_of tie k D f 0)) = 0) ->
       forall (f : 'I_n) (S : {set 'I_n}), f \in fakes -> target \in S -> over_ties b n (fun tie => list f tie S) = 0).

(* PNCF: candidates above s_k + lambda are chosen for sure, those below s_k - lambda never, the rest of the k are     *)
(* drawn in between; lambda = min(s_k, (4k RS/eps) ln(k(n-k)/rho)) for n candidates, s_k the k-th largest similarity. *)
Definition kth_similarity (R : realType) (n : nat) (I : finType) (k : nat) (D : ratings R [finType of 'I_n] I) (a : 'I_n) : R :=
  nth 0 (sort (fun x y => y <= x) [seq cosine D a i | i <- enum 'I_n & i != a]) k.-1.
Definition lambda (R : realType) (n : nat) (I : finType) (k : nat) (eps RS rho : R) (D : ratings R [finType of 'I_n] I) (a : 'I_n) : R :=
  Num.min (kth_similarity k D a) (4%:R * k%:R * RS / eps * ln (k%:R * (n.-1 - k)%:R / rho)).
Definition pncf (R : realType) (n : nat) (I : finType) (k : nat) (eps RS rho : R) (w : 'I_n -> R)
  (D : ratings R [finType of 'I_n] I) (a : 'I_n) (S : {set 'I_n}) : R :=
  let sk := kth_similarity k D a in
  let width := lambda k eps RS rho D a in
  let sure := [set i | (i != a) && (sk + width < cosine D a i)] in
  let pool := [set i | (i != a) && (sk - width <= cosine D a i <= sk + width)] in
  drawn w (k - #|sure|) pool (S :\: sure) * (sure \subset S)%:R.

(* The truncation breaks differential privacy, whatever positive weights w and sensitivity RS the one dataset has and  *)
(* w', RS' the other: a set that is possible on D is impossible on D'. For every eps, rho, RS and RS' since a          *)
(* candidate rises above s_k + lambda; and, where RS and RS' are small enough (at most c) that lambda < s_k really     *)
(* cuts the list on either dataset, since a candidate falls below s_k - lambda.                                       *)
Definition PP_PNCF_NOT : Prop :=
  forall R : realType,
  (exists (n : nat) (I : finType) (k : nat) (D D' : ratings R [finType of 'I_n] I) (a : 'I_n) (S : {set 'I_n}),
     (0 < k < n.-1)%N /\ neighboring false D D' a /\
     forall (eps rho RS RS' : R) (w w' : 'I_n -> R), 0 < eps -> 0 < rho < 1 -> 0 < RS -> 0 < RS' ->
     (forall i, 0 < w i) -> (forall i, 0 < w' i) ->
     0 < pncf k eps RS rho w D a S /\ pncf k eps RS' rho w' D' a S = 0) /\
  (exists (n : nat) (I : finType) (k : nat) (D D' : ratings R [finType of 'I_n] I) (a : 'I_n) (S : {set 'I_n}),
     (0 < k < n.-1)%N /\ neighboring false D D' a /\
     forall eps rho : R, 0 < eps -> 0 < rho < 1 -> exists2 c, 0 < c &
     forall (RS RS' : R) (w w' : 'I_n -> R), 0 < RS <= c -> 0 < RS' <= c ->
     (forall i, 0 < w i) -> (forall i, 0 < w' i) ->
     [/\ lambda k eps RS rho D a < kth_similarity k D a, lambda k eps RS' rho D' a < kth_similarity k D' a,
         0 < pncf k eps RS rho w D a S & pncf k eps RS' rho w' D' a S = 0]).

(* Users who rate the same items: x and y are their ratings. The norm of x runs over all of its items (full) or over  *)
(* the co-rated ones, and may leave an item out.                                                                    *)
Definition norm_without (R : realType) (I : finType) (full : bool) (x y : I -> option R) (out : option I) : R :=
  Num.sqrt (\sum_(t | [&& x t : bool, full || y t & out != Some t]) value_of (x t) ^+ 2).
Definition lengths_without (R : realType) (I : finType) (full : bool) (x y : I -> option R) (out : option I) : R :=
  norm_without full x y out * norm_without full y x out.
Definition user_similarity (R : realType) (I : finType) (full : bool) (x y : I -> option R) : R :=
  (\sum_(t | x t && y t) value_of (x t) * value_of (y t)) / lengths_without full x y None.
(* c is at most RS (eq. 3, as printed): one of the two terms of a co-rated item s is at least c. *)
Definition at_most_RS (R : realType) (I : finType) (full : bool) (x y : I -> option R) (c : R) : Prop :=
  exists s, x s /\ y s /\
    let p := value_of (x s) * value_of (y s) in
    let N := lengths_without full x y None in
    let M := lengths_without full x y (Some s) in
    c <= p / M \/ c <= p * (N - M) / (N * M).
(* One rating of a co-rated item changes, ratings in {1, ..., 5}: refuted in both readings of the norms. *)
Definition PP_RS : Prop :=
  forall (R : realType) (full : bool),
  ~ (forall (I : finType) (x y y' : I -> option R) (s : I), (forall t, stars5 (x t)) -> (forall t, stars5 (y t)) -> (forall t, stars5 (y' t)) ->
       (forall t, t != s -> y t = y' t) -> (forall t, 0 < lengths_without full x y (Some t)) ->
       at_most_RS full x y `|user_similarity full x y - user_similarity full x y'|).

(* The prediction (6) of user a's rating of item x from neighbors S, and the sum of their similarities. *)
Definition predicted (R : realType) (n : nat) (I : finType) (D : ratings R [finType of 'I_n] I) (a : 'I_n) (x : I) (S : {set 'I_n}) : R :=
  (\sum_(i in S) cosine D a i * value_of (D i x)) / (\sum_(i in S) `|cosine D a i|).
(* Refuted, both predictions being defined: not all similarities are 0. *)
Definition PP_ACC : Prop :=
  forall R : realType,
  ~ (forall (n : nat) (I : finType) (D : ratings R [finType of 'I_n] I) (a : 'I_n) (x : I) (truth : R) (S S' : {set 'I_n}),
       star_ratings D -> stars5 (Some truth) -> ~~ D a x -> (forall i, i \in S :|: S' -> [/\ i != a, cosine_defined D a i & D i x : bool]) -> #|S| = #|S'| ->
       0 < \sum_(i in S) `|cosine D a i| -> 0 < \sum_(i in S') `|cosine D a i| ->
       \sum_(i in S') cosine D a i < \sum_(i in S) cosine D a i ->
       `|truth - predicted D a x S| <= `|truth - predicted D a x S'|).

(* Lemma 2: methods are laws on sets of k of n candidates in descending order of similarity s. *)
Definition picks (R : realType) (n : nat) (M : law R [finType of {set 'I_n}]) (i : 'I_n) : R := chance M [set S : {set 'I_n} | i \in S].
Definition PP_L2 : Prop :=
  forall R : realType,
  ~ (forall (n k : nat) (s : 'I_n -> R) (M M' : law R [finType of {set 'I_n}]), (0 < k < n)%N ->
       (forall i j : 'I_n, (i <= j)%N -> s j <= s i) -> (forall i, 0 <= s i <= 1) ->
       (forall S : {set 'I_n}, #|S| != k -> pr M S = 0 /\ pr M' S = 0) ->
       \sum_(i : 'I_n | (i < k)%N) picks M' i < \sum_(i : 'I_n | (i < k)%N) picks M i ->
       \sum_i s i * picks M' i <= \sum_i s i * picks M i).

(* The chance that the target is in one at least of the lists of these users, drawn independently of each other;     *)
(* list f S is the chance that f's list is S.                                                                        *)
Definition some_list_has (R : realType) (n : nat) (list : 'I_n -> {set 'I_n} -> R) (users : {set 'I_n}) (target : 'I_n) : R :=
  1 - \prod_(f in users) (1 - \sum_(S : {set 'I_n} | target \in S) list f S).
(* nPNS: k of all candidates are drawn by weight. *)
Definition npns (R : realType) (n k : nat) (w : 'I_n -> R) (a : 'I_n) (S : {set 'I_n}) : R := drawn w k [set~ a] S.
(* "PNCF and nPNS preserve users' privacy against the kNN attack": refuted with k = 50 fakes, who know one rating at    *)
(* least, and 942 further candidates, whoever these are. Some fake's list has the target with a chance above 1/2 under *)
(* nPNS, and under PNCF with eps = 1, RS = 1 and every rho: by any positive weights that do not fall as similarity     *)
(* grows, so by (1). (There are datasets under this attack. An undefined similarity is 0.)                            *)
Definition PP_SUCC : Prop :=
  forall R : realType, let n := (50 + 1 + 942)%N in
  let attack (I : finType) (D : ratings R [finType of 'I_n] I) (fakes : {set 'I_n}) (target : 'I_n) (known : {set I}) :=
    [/\ star_ratings D, knn_attack 50 D fakes target known & known != set0] in
  (exists (I : finType) (D : ratings R [finType of 'I_n] I) (fakes : {set 'I_n}) (target : 'I_n) (known : {set I}),
     attack I D fakes target known) /\
  forall (I : finType) (D : ratings R [finType of 'I_n] I) (fakes : {set 'I_n}) (target : 'I_n) (known : {set I}),
  attack I D fakes target known -> forall w : 'I_n -> 'I_n -> R,
  (forall a i, 0 < w a i) -> (forall a i j, cosine D a i <= cosine D a j -> w a i <= w a j) ->
  1 / 2%:R < some_list_has (fun f => npns 50 (w f) f) fakes target /\
  forall rho : R, 0 < rho < 1 -> 1 / 2%:R < some_list_has (fun f => pncf 50 1 1 rho (w f) D f) fakes target.

(* --- PriCDR (Chen et al.) ---------------------------------------------------------------------------------------- *)

(* Definition 3.2 as printed: two rating matrices differ in one rating, by less than 1 (rows, columns not the ends).  *)
Definition printed_neighbors (R : realType) (n m : nat) (A B : 'M[R]_(n, m)) : Prop :=
  exists (i0 : 'I_n) (j0 : 'I_m),
    (0 < i0 < n.-1)%N /\ (0 < j0 < m.-1)%N /\ A i0 j0 <> B i0 j0 /\ `|A i0 j0 - B i0 j0| < 1 /\
    (forall i j, (i, j) != (i0, j0) -> A i j = B i j).
(* Vacuous: binarized matrices have no neighbors. *)
Definition CD_DEF : Prop :=
  forall (R : realType) (n m : nat) (A B : 'M[R]_(n, m)),
  (forall i j, A i j = 0 \/ A i j = 1) -> (forall i j, B i j = 0 \/ B i j = 1) -> ~ printed_neighbors A B.

(* Neighbors as they must be meant: one rating differs, by at most 1. *)
Definition rating_neighbors (R : realType) (n m : nat) (A B : 'M[R]_(n, m)) : Prop :=
  exists (i0 : 'I_n) (j0 : 'I_m), `|A i0 j0 - B i0 j0| <= 1 /\ (forall i j, (i, j) != (i0, j0) -> A i j = B i j).
(* Each row (item) less its mean over the users. *)
Definition row_centered (R : realType) (n m : nat) (A : 'M[R]_(n, m)) : 'M[R]_(n, m) :=
  \matrix_(i, j) (A i j - (\sum_k A i k) / m%:R).
Definition CD_CENTRE : Prop :=
  forall (R : realType) (n m : nat) (A B : 'M[R]_(n, m)), rating_neighbors A B ->
  exists (i : 'I_n) (v : 'rV[R]_m), row_centered A - row_centered B = delta_mx i ord0 *m v /\ \sum_j v ord0 j ^+ 2 <= 1.

(* R1 lifts A by w: A = U diag(sigma) V', R1 = U diag(sqrt(sigma^2 + w^2)) V', with orthonormal columns of U and V.   *)
(* (The case n <= m, in which Theorem 5.2 fails; A then has n singular values.)                                     *)
Definition lifts (R : realType) (n m : nat) (w : R) (A R1 : 'M[R]_(n, m)) : Prop :=
  exists (U : 'M[R]_n) (sigma : 'rV[R]_n) (V : 'M[R]_(m, n)),
    [/\ U^T *m U = 1%:M, V^T *m V = 1%:M, forall i, 0 <= sigma ord0 i,
        A = U *m diag_mx sigma *m V^T &
        R1 = U *m diag_mx (\row_i Num.sqrt (sigma ord0 i ^+ 2 + w ^+ 2)) *m V^T].
(* A routine that lifts what can be lifted; which of several lifted matrices it gives is its own affair.             *)
Definition liftable (R : realType) (n m : nat) (w : R) (A : 'M[R]_(n, m)) : Prop := exists R1, lifts w A R1.
Definition lifting (R : realType) (n m : nat) (w : R) (lift : 'M[R]_(n, m) -> 'M[R]_(n, m)) : Prop :=
  forall A, liftable w A -> lifts w A (lift A).
(* The standard Gaussian law: its density is proportional to exp(-z^2/2) and integrates to 1 (Gaussian.v proves it). *)
Definition bell (R : realType) (z : R) : R := expR (- (z ^+ 2 / 2)).
Definition gaussian_density (R : realType) (z : R) : R := bell z / fine (\int[@lebesgue_measure R]_t (bell t)%:E)%E.
(* The chance that k independent standard Gaussian numbers, as a list, have the property E: the iterated Lebesgue     *)
(* integral of the product of the densities over E.                                                                   *)
Fixpoint gaussian_chance (R : realType) (k : nat) (E : seq R -> bool) : \bar R :=
  if k is k'.+1 then
    (\int[@lebesgue_measure R]_z ((gaussian_density z)%:E * gaussian_chance k' (fun zs => E (z :: zs))))%E
  else (E [::])%:R%:E.
(* The chance that the sketch M R1 / sqrt(r) has the property E; M has r rows of n such numbers (the list, row by row). *)
Definition sketch_chance (R : realType) (r n m : nat) (R1 : 'M[R]_(n, m)) (E : 'M[R]_(r, m) -> bool) : \bar R :=
  gaussian_chance (r * n) (fun zs => E ((Num.sqrt r%:R)^-1 *: (\matrix_(i < r, j < n) nth 0 zs (i * n + j) *m R1))).

(* Neighbors with ratings in [0, 1] that have lifted matrices. *)
Definition liftable_neighbors (R : realType) (n m : nat) (w : R) (D D' : 'M[R]_(n, m)) : Prop :=
  [/\ forall i j, 0 <= D i j <= 1 /\ 0 <= D' i j <= 1, rating_neighbors D D',
      liftable w (row_centered D) & liftable w (row_centered D')].

(* Theorem 5.2 refuted, for every w > 0 (so for that of Algorithm 1 and of the proof), every eps, every delta < 1, any *)
(* number r of rows, n of items and m >= n + 2 of users: already the events "R~ l = 0", l a vector, contradict         *)
(* (eps, delta)-privacy. (A routine gives the same lifted matrix for the same ratings.)                              *)
Definition CD_T52 : Prop :=
  forall (R : realType) (w eps delta : R) (r n m : nat) (lift : 'M[R]_(n, m) -> 'M[R]_(n, m)),
  0 < w -> delta < 1 -> (0 < r)%N -> (0 < n)%N -> (n + 2 <= m)%N -> lifting w lift ->
  ~ (forall D D' : 'M[R]_(n, m), liftable_neighbors w D D' ->
       forall l : 'cV[R]_m, let E (Z : 'M[R]_(r, m)) := Z *m l == 0 in
       (sketch_chance (lift (row_centered D)) E <= (expR eps)%:E * sketch_chance (lift (row_centered D')) E + delta%:E)%E).

(* Theorem 5.1 refuted likewise, about the i-th row of what is published, for every eps0 and every delta0 < 1.         *)
Definition CD_T51 : Prop :=
  forall (R : realType) (w eps0 delta0 : R) (r n m : nat) (i : 'I_r) (lift : 'M[R]_(n, m) -> 'M[R]_(n, m)),
  0 < w -> delta0 < 1 -> (0 < n)%N -> (n + 2 <= m)%N -> lifting w lift ->
  ~ (forall D D' : 'M[R]_(n, m), liftable_neighbors w D D' ->
       forall l : 'cV[R]_m, let E (Z : 'M[R]_(r, m)) := row i Z *m l == 0 in
       (sketch_chance (lift (row_centered D)) E <= (expR eps0)%:E * sketch_chance (lift (row_centered D')) E + delta0%:E)%E).

(* The row of DMF on Amazon Movie to Book in Table 1: HR, NDCG and MRR at 5, the same at 10. No numbers that round to  *)
(* the printed ones satisfy the inequalities of one held-out item.                                                  *)
(* (rounds_to x 32 53: x rounds to 0.3253.) *)
Definition rounds_to (R : realType) (x : R) (high low : nat) : Prop := `|x - (100 * high + low)%:R / 10%:R ^+ 4| <= 1 / 2%:R / 10%:R ^+ 4.
Definition one_item_identities (R : realType) (h5 n5 m5 h10 n10 m10 : R) : Prop :=
  let log2 x := ln x / ln 2%:R in
  [/\ m5 <= n5 <= h5, m10 <= n10 <= h10,
      (h10 - h5) / log2 11%:R <= n10 - n5 <= (h10 - h5) / log2 7%:R & (h10 - h5) / 10%:R <= m10 - m5 <= (h10 - h5) / 6%:R].
Definition CD_TAB_ID : Prop :=
  forall R : realType,
  ~ (exists h5 n5 m5 h10 n10 m10 : R,
       rounds_to h5 32 53 /\ rounds_to n5 22 81 /\ rounds_to m5 25 70 /\ rounds_to h10 42 38 /\ rounds_to n10 25 10 /\ rounds_to m10 24 39 /\
       one_item_identities h5 n5 m5 h10 n10 m10).

(* Definition 3.7: H_ij = (-1)^<i, j> / sqrt(n), <i, j> the number of common binary digits 1 of i and j (from 0). *)
Definition common_bits (i j : nat) : nat := \sum_(k < i) (odd (i %/ 2 ^ k) && odd (j %/ 2 ^ k)).
Definition hadamard (R : realType) (n : nat) : 'M[R]_n := \matrix_(i, j) ((-1) ^+ common_bits i j / Num.sqrt n%:R).
(* Refuted for every odd n above 1, as three of the six n of Table 3 are (18467, 24091, 9471): H is not unitary, and   *)
(* H D preserves no Euclidean norms, whatever the signs in D.                                                       *)
Definition CD_HAD : Prop :=
  forall (R : realType) (n : nat), odd n -> (1 < n)%N -> ~ ((hadamard R n)^T *m hadamard R n = 1%:M).
Definition CD_ISO : Prop :=
  forall (R : realType) (n : nat) (sign : 'I_n -> bool), odd n -> (1 < n)%N ->
  let D : 'M[R]_n := diag_mx (\row_i (-1) ^+ sign i) in
  ~ (forall x : 'cV[R]_n, \sum_i ((hadamard R n *m D *m x) i ord0) ^+ 2 = \sum_i x i ord0 ^+ 2).

End Finite.

Module Programs.

(* What joins the conditions that `dp.prove` checks of a program. Two runs take their noise from the measures mu1 and mu2;
   each has a trace, of which there are countably many, and an output. If the noise of the first run is moved, by a map
   that depends on its trace alone, so that the second run has the same trace and output, and no set of noise of one
   trace is more than e^eps times likelier than its image, then no event is more than e^eps times likelier in the first
   run. That a translation of independent noise is such a map is no part of the statement.                              *)
Local Open Scope classical_set_scope.
Definition ALIGNMENT : Prop :=
  forall (R : realType) d1 d2 (noise1 : measurableType d1) (noise2 : measurableType d2)
    (mu1 : {measure set noise1 -> \bar R}) (mu2 : {measure set noise2 -> \bar R}) (output : Type)
    (trace1 : noise1 -> nat) (trace2 : noise2 -> nat) (out1 : noise1 -> output) (out2 : noise2 -> output)
    (align : nat -> noise1 -> noise2) (eps : R),
  (forall t, measurable [set x | trace1 x = t]) ->
  (forall t A, measurable A -> A `<=` [set x | trace1 x = t] ->
     measurable (align t @` A) /\ (mu1 A <= (expR eps)%:E * mu2 (align t @` A))%E) ->
  (forall x, trace2 (align (trace1 x) x) = trace1 x /\ out2 (align (trace1 x) x) = out1 x) ->
  forall E : set output, measurable (out1 @^-1` E) -> measurable (out2 @^-1` E) ->
    (mu1 (out1 @^-1` E) <= (expR eps)%:E * mu2 (out2 @^-1` E))%E.

End Programs.
