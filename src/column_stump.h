// column_stump.h: the split that asks about one column only ("age > 30"): the best cut
// of every column by sorting, as in CART. A polytope of one facet and one coefficient,
// so the rest of the engine need not know; Gate::column keeps it so in training.
#ifndef CPT_COLUMN_STUMP_H
#define CPT_COLUMN_STUMP_H

#include "stump.h"

namespace cpt {

// The column is chosen by some of the rows if they are many, its threshold by all of
// them. `cut.found` is false if no column can be cut.
Stump column_stump(const TrainingData& data, const Task& task, const std::vector<int>& rows,
                   double least, const Hooks& hooks);

}  // namespace cpt

#endif
