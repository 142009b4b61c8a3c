// task.h: what is predicted. A task is its leaf statistics, the cost of a row in
// a leaf, and the value a leaf predicts; the rest of the engine needs no more, so
// a new task is a new class in task.cpp and a line in make_task().
//   classification: cost = -log pi[leaf, y]     (Eqs. 10-13: conditional entropy)
//   regression:     cost = (y - mu[leaf])^2     (Eqs. 15-16: within-leaf variance)
// pi and mu minimise the loss themselves, so by the envelope theorem
// dLoss / dP(leaf | x_n) = cost(leaf, y_n).
#ifndef CPT_TASK_H
#define CPT_TASK_H

#include <memory>
#include <vector>

#include "core.h"
#include "options.h"

namespace cpt {

constexpr double validation_trace = 1.0;  // see Task::costs

class Task {
 public:
  virtual ~Task() = default;

  virtual int statistics() const = 0;  // doubles that describe a leaf; [0] is its weight
  virtual int outputs() const = 0;     // numbers a leaf predicts

  // statistics += sum_i share[i] * weight * (what row i says); share null means 1
  virtual void accumulate(int rows, const int* row, const Real* share, double* statistics) const = 0;

  // cost[i] of each row in a leaf with these statistics. `trace` is the weight of a
  // uniform guess that is mixed in, so that what was never seen has a finite cost.
  virtual void costs(const double* statistics, double trace, int rows, const int* row,
                     double* cost) const = 0;

  // total loss of the leaf's own rows: weight * entropy, or weighted sum of squares
  virtual double impurity(const double* statistics) const = 0;

  // loss[i] = impurity of rows 0..i plus impurity of rows i+1..end, for every cut that
  // may_end[i] allows; others are not written
  virtual void sweep(int rows, const int* row, const char* may_end, double* loss) const = 0;

  // What one nat of log-likelihood is worth in units of the loss, when the mean loss
  // is `mean`: 1 for entropy; twice the variance for squares (a normal outcome). The
  // prior is a log-density and must be weighed against the loss in this unit.
  virtual double nat(double mean) const = 0;

  // what a leaf reports, in the outcome's own units, and the loss in those units
  virtual void value(const double* statistics, double* out) const = 0;
  virtual double reported_loss(double loss) const { return loss; }

  // What the row says: its class code, or its number in standard units.
  virtual double outcome(int row) const = 0;

  // The same task learnt from a teacher's opinions instead of outcomes: for every row its
  // shares of the classes, or a number in standard units. Loss and values keep their units.
  virtual std::unique_ptr<Task> taught(const std::vector<float>& opinion,
                                       const std::vector<double>& weight) const = 0;

  double weight(int row) const { return weight_[row]; }
  const std::vector<double>& weights() const { return weight_; }

 protected:
  std::vector<double> weight_;
};

// y: class codes 0..C-1, or numbers. `training` marks the rows that count when
// the outcome's own scale is measured.
std::unique_ptr<Task> make_task(const Options& options, const std::vector<double>& y,
                                const std::vector<double>& weight,
                                const std::vector<char>& training);

}  // namespace cpt

#endif
