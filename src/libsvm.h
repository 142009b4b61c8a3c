// libsvm.h: a reader of LIBSVM text, `label feature:value feature:value ...`, one row
// a line, features ascending, `#` begins a comment. Text comes in pieces cut anywhere;
// out come labels and a matrix by columns. Knows std only: no files and no R.
#ifndef CPT_LIBSVM_H
#define CPT_LIBSVM_H

#include <cstddef>
#include <string>
#include <vector>

#include "core.h"

namespace cpt {

class LibsvmReader {
 public:
  // zero_based: the first feature is 0, else 1. features: number of columns, or -1 for
  // the largest feature found.
  explicit LibsvmReader(bool zero_based = false, int features = -1)
      : base_(zero_based ? 0 : 1), wanted_(features) {}

  // Both throw Error, with a text that begins with "line <number>: ".
  void feed(const char* text, std::size_t size);
  void finish();  // reads a last line that does not end in a newline

  int rows() const { return static_cast<int>(label_.size()); }
  int columns() const { return wanted_ < 0 ? found_ : wanted_; }
  int nonzeros() const { return static_cast<int>(column_.size()); }
  long long groups() const { return groups_; }  // rows with `qid:`, which is left out
  const std::vector<double>& labels() const { return label_; }

  // Compressed columns: `start` has columns() + 1 places, the others nonzeros() each.
  void write(int* start, int* row, double* value) const;

 private:
  void read_lines(const char* p, const char* end);
  void read_line(const char* p, const char* end);
  const char* read_pair(const char* p, const char* end, int* last);
  const char* read_feature(const char* p, const char* end, int* feature) const;
  void check_feature(int feature, int last) const;
  void keep(int feature, double value);
  [[noreturn]] void fail(const std::string& what) const;

  int base_, wanted_, found_ = 0;
  long long line_ = 0, groups_ = 0;
  std::string rest_;  // an unfinished line
  std::vector<double> label_, value_;
  std::vector<int> column_;
  std::vector<std::size_t> row_end_;
};

// A decimal number such as -1.5e-3, rounded to the nearest double. `end` of the result
// is where the number ends, nullptr if there is none.
struct Decimal {
  const char* end = nullptr;
  double value = 0;
  bool too_large = false;
};
Decimal read_decimal(const char* p, const char* end);

// The two ways to round a number that is too long for exact arithmetic in double:
// std::from_chars, and strtod where the library has none for double. `text` is a
// decimal number without sign; false if it is too large or too small for a double.
bool round_by_from_chars(const char* text, const char* end, double* value);
bool round_by_strtod(const char* text, const char* end, double* value);

}  // namespace cpt

#endif
