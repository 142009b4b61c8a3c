// prior.h: the shrinkage priors of a gate (Section 3.2 and the penalty in 3.3.1).
//   truncated gamma process   r_k ~ Gamma(gamma0 / K, 1 / c0)
//   coefficients              b_jk ~ N(0, s_jk), s_jk ~ InvGamma(a_beta, b_beta_k), integrated out
//   their scale               b_beta_k ~ Gamma(e0, 1 / f0)
// Penalty of a gate, up to a constant (c = coefficients and intercept of facet k):
//   sum_k (1 - gamma0/K) log r_k + c0 r_k
//         + sum_j (a_beta + 1/2) log(1 + c_jk^2 / (2 b_k)) + 1/2 log b_k
//         - (e0 - 1) log b_k + f0 b_k
// It counts once per data set: the trainer divides by the total weight.
// Scaling r_k up and b_k down leaves a gate almost as it is, and so does a steeper
// lambda, so none of these bounds how fast the probability may change. That does a
// normal prior on the slope of lambda g, as ridge regression has:
//   ridge / 2  sum_k sum_j (lambda r_k b_jk)^2
#ifndef CPT_PRIOR_H
#define CPT_PRIOR_H

#include <vector>

#include "gate.h"
#include "options.h"

namespace cpt {

class Prior {
 public:
  explicit Prior(const Options& o)
      : weight_(o.prior_weight), gamma0_(o.gamma0), c0_(o.c0), a_(o.a_beta), e0_(o.e0), f0_(o.f0),
        ridge_(o.ridge), truncation_(o.max_facets) {}

  bool active() const { return weight_ > 0; }

  // The scales b_k that minimise the penalty for the gate's present coefficients.
  std::vector<Real> fit_scales(const Gate& gate) const;

  double penalty(const Gate& gate, const std::vector<Real>& scales) const;

  // gradient += share * dPenalty / dtheta, for rows [j0, j1) of B ...
  void add_chunk(const Gate& gate, const std::vector<Real>& scales, double share, int j0, int j1,
                 Real* gradient) const;
  // ... and for [ a | log_r | g0 ].
  void add_tail(const Gate& gate, const std::vector<Real>& scales, double share,
                Real* gradient) const;

  // The prior on the slope: penalty, and its gradient added as above.
  bool bounds_slope() const { return ridge_ > 0; }
  double slope_penalty(const Gate& gate, double lambda) const;
  void add_slope_chunk(const Gate& gate, double lambda, double share, int j0, int j1,
                       Real* gradient) const;
  void add_slope_tail(const Gate& gate, double lambda, double share, Real* gradient) const;

  // What the priors save when facet k is switched off (r_k -> r_off, coefficients -> 0).
  double price(const Gate& gate, const std::vector<Real>& scales, double lambda, int k) const;

 private:
  double coefficients_penalty(const Gate& gate, double scale, int k) const;
  double log_r_slope() const { return 1.0 - gamma0_ / truncation_; }

  double squared_slope(const Gate& gate, double lambda, int k) const;

  double weight_, gamma0_, c0_, a_, e0_, f0_, ridge_;
  int truncation_;
};

}  // namespace cpt

#endif
