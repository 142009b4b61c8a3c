// lesson.h: what a teacher adds to the data ("born-again trees", Breiman and Shang 1996):
// a forest's opinion of every training row, by the trees that have not seen it, and of
// made rows, which lie between and beside the others. The splits learn from these
// opinions, which hold less noise than the outcomes; leaves hold outcomes all the same.
// Or made rows with verdicts of a council (council.h), which are learnt as if observed.
#ifndef CPT_LESSON_H
#define CPT_LESSON_H

#include <vector>

#include "data.h"
#include "options.h"
#include "task.h"

namespace cpt {

struct Lesson {
  MadeRows made;
  std::vector<float> opinion;   // a teacher's: (rows, then made rows) x outputs
  std::vector<double> verdict;  // a council's: the outcomes of made rows
};

// `training`: rows that the forest may see; the others get no opinion.
Lesson make_lesson(const MatrixView& x, const Task& truth, const std::vector<int>& training,
                   const Options& options, const Hooks& hooks);

// Weights for the rows and the made rows, as much in all as the training rows have: one half for
// the rows and one for the rows that a teacher made; rows with verdicts count like the others.
std::vector<double> lesson_weights(const Lesson& lesson, const std::vector<double>& weight,
                                   const std::vector<int>& training);

}  // namespace cpt

#endif
