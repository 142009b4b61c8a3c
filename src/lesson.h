// lesson.h: what a teacher adds to the data ("born-again trees", Breiman and Shang 1996):
// a forest's opinion of every training row, by the trees that have not seen it, and of
// made rows, which lie between and beside the others. The splits learn from these
// opinions, which hold less noise than the outcomes; leaves hold outcomes all the same.
#ifndef CPT_LESSON_H
#define CPT_LESSON_H

#include <vector>

#include "data.h"
#include "options.h"
#include "task.h"

namespace cpt {

struct Lesson {
  MadeRows made;
  std::vector<float> opinion;  // (rows, then made rows) x outputs
  bool empty() const { return opinion.empty(); }
};

// `training`: rows that the forest may see; the others get no opinion.
Lesson make_lesson(const MatrixView& x, const Task& truth, const std::vector<int>& training,
                   const Options& options, const Hooks& hooks);

// Weights for the rows and the made rows: one half of the weight of the training rows for
// these, the other half for those.
std::vector<double> lesson_weights(const Lesson& lesson, const std::vector<double>& weight,
                                   const std::vector<int>& training);

}  // namespace cpt

#endif
