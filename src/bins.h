// bins.h: the columns in a few steps each, as bytes. A forest that only has to teach
// needs no finer values, and reads a byte eight times faster than a double.
#ifndef CPT_BINS_H
#define CPT_BINS_H

#include <cstdint>
#include <vector>

#include "data.h"

namespace cpt {

class Bins {
 public:
  static constexpr int most = 64;  // bins of a column

  // Cut points are quantiles of the rows of `training`; every row of x gets its bin.
  Bins(const MatrixView& x, const std::vector<int>& training, const Hooks& hooks);

  int rows() const { return rows_; }
  int cols() const { return cols_; }
  int of(int column) const { return count_[column]; }  // bins in use; 1: constant
  const std::uint8_t* column(int j) const {
    return bin_.data() + static_cast<std::size_t>(j) * rows_;
  }

 private:
  int rows_, cols_;
  std::vector<int> count_;
  std::vector<std::uint8_t> bin_;  // by columns
};

}  // namespace cpt

#endif
