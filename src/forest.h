// forest.h: the teacher: a random forest (Breiman 2001) of ordinary trees on binned
// columns. What it is asked for is what it thinks of every row that a tree has not
// seen, so the trees are not kept: such rows go down each tree while it is grown.
// Knows nothing of gates, nor why somebody wants to know.
#ifndef CPT_FOREST_H
#define CPT_FOREST_H

#include <cstdint>
#include <vector>

#include "bins.h"

namespace cpt {

struct ForestInput {
  const Bins& bins;
  const MadeRows& made;              // rows made of two others, asked about but not learnt from
  const std::vector<int>& training;  // rows to learn from
  const std::vector<double>& y;      // class codes, or numbers in standard units
  const std::vector<double>& weight;
  int classes;                       // 0: a regression
  int trees;
  std::uint64_t seed;
};

// Row by row, first those of the bins, then the made ones: shares of the classes, or the
// mean. Of training rows only the trees speak that were grown without them; a row of
// which no tree speaks keeps its own outcome.
std::vector<float> forest_opinions(const ForestInput& input, const Hooks& hooks);

}  // namespace cpt

#endif
