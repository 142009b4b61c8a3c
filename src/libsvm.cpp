// libsvm.cpp: LIBSVM text to numbers, see libsvm.h. A number of at most 2^53 with a
// power of ten up to 22 is exact in double arithmetic (one correctly rounded operation);
// all others go to the standard library, whose rounding is exact too.
#include "libsvm.h"

#include <algorithm>
#include <cfloat>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>

namespace cpt {
namespace {

constexpr int most = std::numeric_limits<int>::max();

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

bool is_digit(char c) { return c >= '0' && c <= '9'; }

const char* skip_blanks(const char* p, const char* end) {
  while (p < end && is_blank(*p)) ++p;
  return p;
}

const char* skip_word(const char* p, const char* end) {
  while (p < end && !is_blank(*p)) ++p;
  return p;
}

// The word at p for a message: short, printable, in quotes.
std::string quote(const char* p, const char* end) {
  const std::ptrdiff_t longest = 30, size = skip_word(p, end) - p;
  std::string out(p, p + std::min(size, longest));
  for (char& c : out)
    if (c < 32 || c > 126) c = '?';
  return "\"" + out + (size > longest ? "...\"" : "\"");
}

// "inf" and "nan" in all their spellings.
bool is_not_finite(const char* p, const char* end) {
  if (p < end && (*p == '+' || *p == '-')) ++p;
  std::string word(p, skip_word(p, end));
  for (char& c : word) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
  return word == "inf" || word == "infinity" || word.compare(0, 3, "nan") == 0;
}

// The end of "the label ..." or "the value of feature 3 ...".
std::string fault_of(const Decimal& number, const char* p, const char* end) {
  const char* what = "not a number: ";
  if (is_not_finite(p, end)) what = "not a finite number: ";
  else if (number.too_large) what = "too large for a number: ";
  return std::string(" is ") + what + quote(p, end);
}

// A number taken apart: digits * 10^scale. Of the significant digits 19 are kept; if
// others are not 0, `exact` is false.
struct Parts {
  std::uint64_t digits = 0;
  long long scale = 0;
  bool exact = true, found = false;
};

const char* take_digits(const char* p, const char* end, Parts* parts) {
  int kept = 0;
  bool point = false;
  for (; p < end && (is_digit(*p) || (*p == '.' && !point)); ++p) {
    if (*p == '.') {
      point = true;
      continue;
    }
    parts->found = true;
    if (kept < 19) {
      parts->digits = 10 * parts->digits + static_cast<std::uint64_t>(*p - '0');
      kept += parts->digits > 0;
      parts->scale -= point;
    } else {
      parts->exact = parts->exact && *p == '0';
      parts->scale += !point;
    }
  }
  return p;
}

// `e-3` if there is one; nullptr if it has no digits.
const char* take_exponent(const char* p, const char* end, Parts* parts) {
  if (p == end || (*p != 'e' && *p != 'E')) return p;
  ++p;
  const bool down = p < end && *p == '-';
  if (p < end && (*p == '-' || *p == '+')) ++p;
  if (p == end || !is_digit(*p)) return nullptr;
  long long exponent = 0;
  for (; p < end && is_digit(*p); ++p)
    if (exponent < 1000000000) exponent = 10 * exponent + (*p - '0');
  parts->scale += down ? -exponent : exponent;
  return p;
}

}  // namespace

// ---- numbers ------------------------------------------------------------------------

bool round_by_from_chars(const char* text, const char* end, double* value) {
#ifdef __cpp_lib_to_chars
  return std::from_chars(text, end, *value).ec == std::errc();
#else
  return round_by_strtod(text, end, value);
#endif
}

bool round_by_strtod(const char* text, const char* end, double* value) {
  // R keeps the locale of numbers at "C", so the point is a point.
  const std::string word(text, end);
  *value = std::strtod(word.c_str(), nullptr);
  return *value != 0 && *value <= std::numeric_limits<double>::max();
}

Decimal read_decimal(const char* p, const char* end) {
  static const double power[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                 1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  Decimal out;
  const bool minus = p < end && *p == '-';
  if (p < end && (*p == '-' || *p == '+')) ++p;
  Parts parts;
  const char* const stop = take_digits(p, end, &parts);
  if (!parts.found) return out;
  out.end = take_exponent(stop, end, &parts);
  if (!out.end) return out;
  const bool small = parts.exact && parts.digits <= (std::uint64_t{1} << 53) &&
                     parts.scale >= -22 && parts.scale <= 22;
  if (small && FLT_EVAL_METHOD == 0) {
    out.value = static_cast<double>(parts.digits);
    if (parts.scale < 0) out.value /= power[-parts.scale];
    else out.value *= power[parts.scale];
  } else if (parts.digits != 0 && !round_by_from_chars(p, out.end, &out.value)) {
    out.too_large = parts.scale > 0;
    out.value = 0;  // too small: the nearest double
  }
  if (minus) out.value = -out.value;
  return out;
}

// ---- lines --------------------------------------------------------------------------

void LibsvmReader::feed(const char* text, std::size_t size) {
  const char* p = text;
  const char* const end = text + size;
  if (!rest_.empty()) {
    const char* cut = std::find(p, end, '\n');
    rest_.append(p, cut);
    if (cut == end) return;
    const std::string line = std::move(rest_) + '\n';
    rest_.clear();
    read_lines(line.data(), line.data() + line.size());
    p = cut + 1;
  }
  const char* last = end;
  while (last > p && last[-1] != '\n') --last;
  rest_.assign(last, end);
  read_lines(p, last);
}

void LibsvmReader::finish() {
  if (rest_.empty()) return;
  const std::string line = std::move(rest_) + '\n';
  rest_.clear();
  read_lines(line.data(), line.data() + line.size());
}

// Whole lines, each with its newline.
void LibsvmReader::read_lines(const char* p, const char* end) {
  while (p < end) {
    const char* cut = static_cast<const char*>(std::memchr(p, '\n', end - p));
    ++line_;
    const bool mark = line_ == 1 && cut - p >= 3 && std::memcmp(p, "\xef\xbb\xbf", 3) == 0;
    read_line(mark ? p + 3 : p, cut);
    p = cut + 1;
  }
}

void LibsvmReader::read_line(const char* p, const char* end) {
  const void* comment = std::memchr(p, '#', end - p);
  if (comment) end = static_cast<const char*>(comment);
  p = skip_blanks(p, end);
  if (p == end) return;
  if (label_.size() == static_cast<std::size_t>(most)) fail("there are more than 2^31 - 1 rows");
  const char* const word_end = skip_word(p, end);
  const Decimal label = read_decimal(p, word_end);
  if (label.end != word_end || label.too_large) {
    if (std::memchr(p, ':', word_end - p))
      fail("the label is missing; the line begins with " + quote(p, end));
    const bool several = std::memchr(p, ',', word_end - p) != nullptr;
    fail("the label" + fault_of(label, p, word_end) +
         (several ? "; a row can have one label only" : ""));
  }
  int last = -1;
  for (p = skip_blanks(word_end, end); p < end; p = skip_blanks(p, end))
    p = read_pair(p, end, &last);
  label_.push_back(label.value);
  row_end_.push_back(column_.size());
}

// `feature:value`; `last` is the column before it in the line, and then this one.
const char* LibsvmReader::read_pair(const char* p, const char* end, int* last) {
  int feature = 0;
  const char* q = read_feature(p, end, &feature);
  if (!q) {
    if (end - p > 4 && std::memcmp(p, "qid:", 4) == 0 && *last < 0) {
      ++groups_;
      return skip_word(p, end);
    }
    fail(quote(p, end) + " is not feature:value");
  }
  check_feature(feature, *last);
  const Decimal number = read_decimal(q, end);
  if (!number.end || (number.end < end && !is_blank(*number.end)) || number.too_large) {
    const std::string of = "the value of feature " + std::to_string(feature);
    if (q == end || is_blank(*q)) fail(of + " is missing");
    fail(of + fault_of(number, q, end));
  }
  *last = feature - base_;
  keep(*last, number.value);
  return number.end;
}

// The number before the colon; returns what follows it, or nullptr for another word.
const char* LibsvmReader::read_feature(const char* p, const char* end, int* feature) const {
  const bool minus = p < end && *p == '-';
  const char* q = p + (p < end && (*p == '-' || *p == '+'));
  const char* const first = q;
  long long number = 0;
  for (; q < end && is_digit(*q); ++q)
    if (number <= most) number = 10 * number + (*q - '0');
  if (q == first || q == end || *q != ':') return nullptr;
  if (minus && number != 0) fail("feature " + quote(p, q) + " is negative");
  if (number - base_ >= most) fail("feature " + quote(p, q) + " is too large");
  *feature = static_cast<int>(number);
  return q + 1;
}

void LibsvmReader::check_feature(int feature, int last) const {
  const int column = feature - base_;
  if (column > last && (wanted_ < 0 || column < wanted_)) return;
  const std::string name = "feature " + std::to_string(feature);
  if (column < 0) fail(name + " is given, but features are numbered from 1");
  if (column == last) fail(name + " is given twice");
  if (column < last)
    fail(name + " comes after feature " + std::to_string(last + base_) + "; features must ascend");
  fail(name + " is beyond the " + std::to_string(wanted_) + " features asked for");
}

void LibsvmReader::keep(int column, double value) {
  found_ = std::max(found_, column + 1);
  if (value == 0) return;
  if (column_.size() == static_cast<std::size_t>(most))
    fail("there are more than 2^31 - 1 values that are not 0");
  column_.push_back(column);
  value_.push_back(value);
}

void LibsvmReader::fail(const std::string& what) const {
  throw Error("line " + std::to_string(line_) + ": " + what);
}

// ---- columns ------------------------------------------------------------------------

void LibsvmReader::write(int* start, int* row, double* value) const {
  std::fill(start, start + columns() + 1, 0);
  for (int column : column_) ++start[column + 1];
  for (int j = 0; j < columns(); ++j) start[j + 1] += start[j];
  std::vector<int> next(start, start + columns());
  std::size_t at = 0;
  for (int i = 0; i < rows(); ++i)
    for (; at < row_end_[i]; ++at) {
      const int to = next[column_[at]]++;
      row[to] = i;
      value[to] = value_[at];
    }
}

}  // namespace cpt
