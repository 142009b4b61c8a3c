// prior.cpp: see prior.h.
#include "prior.h"

#include <algorithm>
#include <cmath>

namespace cpt {

namespace {

// A weight below r_off is off: it moves f(x) by less than one in a million.
constexpr double r_off = 1e-6;
// b_k and its coefficients can vanish together with ever growing density; the
// floor keeps a facet that has just started from being swallowed.
constexpr double smallest_scale = 1e-4;

double squared(double v) { return v * v; }

double coefficient(const Gate& gate, int j, int k) {  // j = d is the intercept
  return gate.theta[static_cast<std::size_t>(j) * gate.width + k];
}

}  // namespace

// The derivative by log b grows with b: Newton's steps, kept inside a bracket that
// every one of them narrows.
std::vector<Real> Prior::fit_scales(const Gate& gate) const {
  std::vector<Real> scales(gate.width, Real(1));
  if (!active()) return scales;
  for (int k = 0; k < gate.facets; ++k) {
    double low = std::log(smallest_scale), high = std::log(1e6), at = std::log(e0_ / f0_);
    for (int step = 0; step < 60 && high - low > 1e-9; ++step) {
      if (!(at > low && at < high)) at = 0.5 * (low + high);
      const double b = std::exp(at);
      double slope = 0.5 * (gate.d + 1) - (e0_ - 1) + f0_ * b, curvature = f0_ * b;
      for (int j = 0; j <= gate.d; ++j) {
        const double c2 = squared(coefficient(gate, j, k)), inverse = 1 / (2 * b + c2);
        slope -= (a_ + 0.5) * c2 * inverse;
        curvature += (a_ + 0.5) * c2 * 2 * b * squared(inverse);
      }
      (slope < 0 ? low : high) = at;
      const double next = at - slope / curvature;
      if (std::fabs(next - at) < 1e-10) break;
      at = next;
    }
    scales[k] = static_cast<Real>(std::exp(std::min(std::max(at, low), high)));
  }
  return scales;
}

double Prior::coefficients_penalty(const Gate& gate, double scale, int k) const {
  double sum = 0;
  for (int j = 0; j <= gate.d; ++j)
    sum += std::log1p(squared(coefficient(gate, j, k)) / (2 * scale));
  return (a_ + 0.5) * sum;
}

double Prior::penalty(const Gate& gate, const std::vector<Real>& scales) const {
  double sum = 0;
  for (int k = 0; k < gate.facets; ++k) {
    const double b = scales[k];
    sum += log_r_slope() * gate.log_r()[k] + c0_ * gate.r(k) + coefficients_penalty(gate, b, k) +
           (0.5 * (gate.d + 1) - (e0_ - 1)) * std::log(b) + f0_ * b;
  }
  return weight_ * sum;
}

void Prior::add_chunk(const Gate& gate, const std::vector<Real>& scales, double share, int j0,
                      int j1, Real* gradient) const {
  const Real factor = static_cast<Real>(weight_ * share * (2 * a_ + 1));
  for (int j = j0; j < j1; ++j) {
    const Real* b = gate.theta.data() + static_cast<std::size_t>(j) * gate.width;
    Real* out = gradient + static_cast<std::size_t>(j - j0) * gate.width;
    for (int k = 0; k < gate.width; ++k) out[k] += factor * b[k] / (2 * scales[k] + b[k] * b[k]);
  }
}

void Prior::add_tail(const Gate& gate, const std::vector<Real>& scales, double share,
                     Real* gradient) const {
  add_chunk(gate, scales, share, gate.d, gate.d + 1, gradient);  // the intercepts
  for (int k = 0; k < gate.facets; ++k)
    gradient[gate.width + k] +=
        static_cast<Real>(weight_ * share * (log_r_slope() + c0_ * gate.r(k)));
}

double Prior::squared_slope(const Gate& gate, double lambda, int k) const {
  double sum = 0;
  for (int j = 0; j < gate.d; ++j) sum += squared(coefficient(gate, j, k));
  return sum * squared(lambda * gate.r(k));
}

double Prior::slope_penalty(const Gate& gate, double lambda) const {
  double sum = 0;
  for (int k = 0; k < gate.facets; ++k) sum += squared_slope(gate, lambda, k);
  return 0.5 * ridge_ * sum;
}

void Prior::add_slope_chunk(const Gate& gate, double lambda, double share, int j0, int j1,
                            Real* gradient) const {
  std::vector<Real> factor(gate.width, 0);
  for (int k = 0; k < gate.facets; ++k)
    factor[k] = static_cast<Real>(ridge_ * share * squared(lambda * gate.r(k)));
  const Real* b = gate.theta.data() + static_cast<std::size_t>(j0) * gate.width;
  for (int j = j0; j < j1; ++j, b += gate.width, gradient += gate.width)
    for (int k = 0; k < gate.width; ++k) gradient[k] += factor[k] * b[k];
}

void Prior::add_slope_tail(const Gate& gate, double lambda, double share, Real* gradient) const {
  for (int k = 0; k < gate.facets; ++k)
    gradient[gate.width + k] += static_cast<Real>(ridge_ * share * squared_slope(gate, lambda, k));
}

double Prior::price(const Gate& gate, const std::vector<Real>& scales, double lambda,
                    int k) const {
  const double r = std::max(gate.r(k), r_off);
  return weight_ * (log_r_slope() * std::log(r / r_off) + c0_ * (r - r_off) +
                    coefficients_penalty(gate, scales[k], k)) +
         0.5 * ridge_ * squared_slope(gate, lambda, k);
}

}  // namespace cpt
