// council.h: polytope trees that teach one ("born-again trees", Breiman and Shang 1996). Many
// trees from different starts know together far more than each of them. What they agree on
// is written down as made rows, named by them; one more tree, the pupil, learns from these
// and the observed rows as if all were data.
// Knows finished trees and lessons, not how a tree is fitted.
#ifndef CPT_COUNCIL_H
#define CPT_COUNCIL_H

#include <vector>

#include "lesson.h"
#include "tree.h"

namespace cpt {

// The settings of member i: as asked for, but one tree from a start of its own.
Options member_options(Options options, int i);

// The settings of the pupil. It learns from 1 + council_rows times as many rows: it takes the
// square root of that many times as many steps, and priors weigh that much less beside the rows.
Options pupil_options(Options options);

// Made rows, `council_rows` of each training row, and what the council says of them.
Lesson council_lesson(const MatrixView& x, const std::vector<int>& training,
                      const std::vector<Tree>& council, const Options& options, const Hooks& hooks);

}  // namespace cpt

#endif
