// median.h: the weighted median of every column, which stands in for missing values
// and for what a picture does not show. Reads the caller's matrix in place.
#ifndef CPT_MEDIAN_H
#define CPT_MEDIAN_H

#include <vector>

#include "core.h"
#include "data.h"

namespace cpt {

// Equal to the median of the rows repeated `weights` times. Missing values (NaN, or
// the smallest int) do not count; NaN where all are missing. Rows of weight zero count
// only in a column where there are no others.
std::vector<double> column_medians(const MatrixView& x, const std::vector<double>& weights,
                                   const Hooks& hooks);

}  // namespace cpt

#endif
