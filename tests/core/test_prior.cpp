// test_prior.cpp: the penalty is minus the log of the densities it claims to be
// (scale mixture by numerical integration), its gradient by differences, and the
// scales it fits are where it is least.
#include "prior.h"
#include "support.h"
#include "test.h"

using namespace support;

namespace {

// log of the integral over s > 0 of N(c; 0, s) InvGamma(s; a, b), by the trapezoidal
// rule in log s (double exponential decay at one end: very accurate).
double log_mixture(double c, double a, double b) {
  const double pi = 3.14159265358979323846, step = 0.02;
  double sum = 0;
  for (double t = -40; t <= 60; t += step) {
    const double s = std::exp(t);
    const double log_normal = -0.5 * std::log(2 * pi * s) - c * c / (2 * s);
    const double log_inverse_gamma = a * std::log(b) - std::lgamma(a) - (a + 1) * t - b / s;
    sum += step * std::exp(log_normal + log_inverse_gamma + t);  // ds = s dt
  }
  return std::log(sum);
}

// log density of Gamma(shape, rate).
double log_gamma_density(double x, double shape, double rate) {
  return shape * std::log(rate) - std::lgamma(shape) + (shape - 1) * std::log(x) - rate * x;
}

// Minus the log density of a gate, with its constants; `constant` gets what does not
// depend on gate and scales, which penalty() leaves out.
double independent(const Gate& gate, const std::vector<Real>& scales, const Options& o,
                   double* constant) {
  double sum = 0, known = 0;
  const double shape = o.gamma0 / o.max_facets, pi = 3.14159265358979323846;
  for (int k = 0; k < gate.facets; ++k) {
    sum -= log_gamma_density(gate.r(k), shape, o.c0);
    known -= shape * std::log(o.c0) - std::lgamma(shape);
    sum -= log_gamma_density(scales[k], o.e0, o.f0);
    known -= o.e0 * std::log(o.f0) - std::lgamma(o.e0);
    for (int j = 0; j <= gate.d; ++j) {
      const double c = j < gate.d ? gate.B()[j * gate.width + k] : gate.a()[k];
      sum -= log_mixture(c, o.a_beta, scales[k]);
      known -= std::lgamma(o.a_beta + 0.5) - std::lgamma(o.a_beta) - 0.5 * std::log(2 * pi);
    }
  }
  *constant = o.prior_weight * known;
  return o.prior_weight * sum;
}

Options prior_options(double weight) {
  Options o = options_for(false);
  o.prior_weight = weight;
  o.max_facets = 12;
  return o;
}

std::vector<Real> some_scales(const Gate& gate, Stream& s) {
  std::vector<Real> scales(gate.width, Real(1));
  for (int k = 0; k < gate.facets; ++k) scales[k] = static_cast<Real>(std::exp(s.normal()));
  return scales;
}

}  // namespace

TEST(prior_penalty_is_minus_the_log_of_its_densities) {
  Stream s = random_numbers(40);
  for (double weight : {1.0, 0.3})
    for (double a_beta : {0.6, 1.2, 3.0}) {
      Options o = prior_options(weight);
      o.a_beta = a_beta;
      const Prior prior(o);
      const Gate gate = random_parameters(4, 5, s);
      const std::vector<Real> scales = some_scales(gate, s);
      double constant;
      const double want = independent(gate, scales, o, &constant) - constant;
      const double got = prior.penalty(gate, scales);
      CHECK(std::fabs(got - want) < 1e-6 * (1 + std::fabs(want)), weight, a_beta, got, want);
    }
}

TEST(prior_weight_zero_is_no_prior) {
  Stream s = random_numbers(41);
  const Prior prior(prior_options(0));
  const Gate gate = random_parameters(4, 5, s);
  CHECK(!prior.active());
  CHECK(prior.penalty(gate, some_scales(gate, s)) == 0);
  CHECK(Prior(prior_options(0.1)).active());
}

TEST(prior_gradient_against_differences) {
  Stream s = random_numbers(42);
  const Options o = prior_options(0.6);
  const Prior prior(o);
  Gate gate = random_parameters(5, 6, s);
  const std::vector<Real> scales = some_scales(gate, s);
  const double share = 0.4;
  std::vector<Real> gradient(gate.theta.size(), 0);
  for (int j = 0; j < gate.d; j += 2)  // in chunks, as the trainer does
    prior.add_chunk(gate, scales, share, j, std::min(gate.d, j + 2), gradient.data() + j * gate.width);
  prior.add_tail(gate, scales, share, gradient.data() + gate.tail());
  const double tolerance = is_double ? 1e-8 : 2e-3;  // the differences are single, too
  for (std::size_t i = 0; i < gate.theta.size(); ++i) {
    const Real at = gate.theta[i];
    const Real h = static_cast<Real>(is_double ? 1e-5 : 1.0 / 256);
    gate.theta[i] = at + h;
    const double up = prior.penalty(gate, scales), high = gate.theta[i];
    gate.theta[i] = at - h;
    const double down = prior.penalty(gate, scales), low = gate.theta[i];
    gate.theta[i] = at;
    const double want = share * (up - down) / (high - low);
    const bool padding = i < gate.tail() + 2 * gate.width && static_cast<int>(i) % gate.width >= gate.facets;
    if (padding) CHECK(gradient[i] == 0, i, gradient[i]);
    else CHECK(std::fabs(gradient[i] - want) < tolerance, i, gradient[i], want);
  }
  CHECK(gradient[gate.tail() + 2 * gate.width] == 0);  // the threshold has no prior
}

TEST(prior_fitted_scales_are_stationary_and_least) {
  Stream s = random_numbers(43);
  const Prior prior(prior_options(1));
  for (int trial = 0; trial < 5; ++trial) {
    const Gate gate = random_parameters(3 + trial, 6, s);
    const std::vector<Real> scales = prior.fit_scales(gate);
    const double least = prior.penalty(gate, scales);
    for (int k = 0; k < gate.facets; ++k) {
      CHECK(scales[k] > 1e-4 && scales[k] < 1e6, trial, k, scales[k]);
      std::vector<Real> other = scales;
      const double h = 1e-2;  // in log b
      other[k] = static_cast<Real>(scales[k] * std::exp(h));
      const double up = prior.penalty(gate, other);
      other[k] = static_cast<Real>(scales[k] * std::exp(-h));
      const double down = prior.penalty(gate, other);
      CHECK(std::fabs(up - down) / (2 * h) < (is_double ? 2e-4 : 1e-3), trial, k, (up - down) / (2 * h));
      CHECK(up > least && down > least, trial, k, up - least, down - least);
      for (double factor : {1e-3, 0.03, 0.3, 3.0, 30.0, 1e3}) {
        other[k] = static_cast<Real>(scales[k] * factor);
        CHECK(prior.penalty(gate, other) > least, trial, k, factor);
      }
    }
  }
}

TEST(prior_scales_grow_with_the_coefficients) {
  const Prior prior(prior_options(1));
  double before = 0;
  for (double size : {0.0, 0.1, 1.0, 10.0, 100.0}) {
    Gate gate(6, 1);
    for (int j = 0; j <= gate.d; ++j) gate.theta[j * gate.width] = static_cast<Real>(size);
    const double scale = prior.fit_scales(gate)[0];
    CHECK(std::isfinite(scale) && scale > before, size, scale, before);
    before = scale;
  }
}

TEST(prior_slope_penalty_is_that_of_lambda_g_and_its_gradient_fits) {
  Stream s = random_numbers(45);
  Options o = prior_options(0);
  o.ridge = 0.8;
  const Prior prior(o);
  CHECK(!prior.active() && prior.bounds_slope());
  Gate gate = random_parameters(5, 6, s);
  const double lambda = 1.7, share = 0.4;
  double want = 0;  // where z is large, the slope of lambda g by x_j is lambda sum_k r_k b_jk
  for (int k = 0; k < gate.facets; ++k)
    for (int j = 0; j < gate.d; ++j) {
      const double slope = lambda * gate.r(k) * gate.B()[j * gate.width + k];
      want += 0.5 * o.ridge * slope * slope;
    }
  CHECK(std::fabs(prior.slope_penalty(gate, lambda) / want - 1) < 1e-6, want);
  std::vector<Real> gradient(gate.theta.size(), 0);
  for (int j = 0; j < gate.d; j += 2)
    prior.add_slope_chunk(gate, lambda, share, j, std::min(gate.d, j + 2),
                          gradient.data() + j * gate.width);
  prior.add_slope_tail(gate, lambda, share, gradient.data() + gate.tail());
  for (std::size_t i = 0; i < gate.theta.size(); ++i) {
    const Real at = gate.theta[i], h = static_cast<Real>(is_double ? 1e-5 : 1.0 / 256);
    gate.theta[i] = at + h;
    const double up = prior.slope_penalty(gate, lambda), high = gate.theta[i];
    gate.theta[i] = at - h;
    const double down = prior.slope_penalty(gate, lambda), low = gate.theta[i];
    gate.theta[i] = at;
    const double slope = share * (up - down) / (high - low);
    CHECK(std::fabs(gradient[i] - slope) < (is_double ? 1e-8 : 2e-3) * (1 + std::fabs(slope)), i,
          gradient[i], slope);
  }
}

// price() is what penalty() falls by when a facet's weight and coefficients vanish.
TEST(prior_price_is_a_difference_of_penalties) {
  Stream s = random_numbers(44);
  Options o = prior_options(0.7);
  o.ridge = 0.3;
  const Prior prior(o);
  const double lambda = 1.5;
  const auto all = [&](const Gate& gate, const std::vector<Real>& scales) {
    return prior.penalty(gate, scales) + prior.slope_penalty(gate, lambda);
  };
  const Gate gate = random_parameters(4, 5, s);
  const std::vector<Real> scales = prior.fit_scales(gate);
  for (int k = 0; k < gate.facets; ++k) {
    Gate off = gate;
    for (int j = 0; j <= gate.d; ++j) off.theta[j * gate.width + k] = 0;
    off.log_r()[k] = static_cast<Real>(std::log(1e-6));
    const double want = all(gate, scales) - all(off, scales);
    const double got = prior.price(gate, scales, lambda, k);
    CHECK(std::fabs(got - want) < 1e-5 * (1 + std::fabs(want)), k, got, want);
  }
}
