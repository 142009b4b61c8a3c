// test_libsvm.cpp: the reader of LIBSVM text: numbers to the last bit, lines cut
// anywhere, and what every wrong line is told.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "libsvm.h"
#include "rng.h"
#include "test.h"

using cpt::Decimal;
using cpt::LibsvmReader;

namespace {

struct Table {
  int rows = 0, columns = 0;
  long long groups = 0;
  std::vector<double> label, value;
  std::vector<int> start, row;
  bool operator==(const Table& o) const {
    return rows == o.rows && columns == o.columns && groups == o.groups && label == o.label &&
           value == o.value && start == o.start && row == o.row;
  }
};

Table table_of(LibsvmReader& reader) {
  reader.finish();
  Table t;
  t.rows = reader.rows();
  t.columns = reader.columns();
  t.groups = reader.groups();
  t.label = reader.labels();
  t.start.resize(t.columns + 1);
  t.row.resize(reader.nonzeros());
  t.value.resize(reader.nonzeros());
  reader.write(t.start.data(), t.row.data(), t.value.data());
  return t;
}

Table read(const std::string& text, std::size_t piece = 1 << 20, bool zero_based = false,
           int features = -1) {
  LibsvmReader reader(zero_based, features);
  for (std::size_t at = 0; at < text.size(); at += piece) {
    // A copy of its own size, so that the sanitizer sees a step beyond its end.
    const std::string part = text.substr(at, piece);
    const std::vector<char> bytes(part.begin(), part.end());
    reader.feed(bytes.data(), bytes.size());
  }
  return table_of(reader);
}

std::string fault(const std::string& text, bool zero_based = false, int features = -1) {
  try {
    read(text, 1 << 20, zero_based, features);
  } catch (const cpt::Error& e) {
    return e.what();
  }
  return "no error";
}

double number(const std::string& text) {
  const std::vector<char> bytes(text.begin(), text.end());
  const Decimal d = cpt::read_decimal(bytes.data(), bytes.data() + bytes.size());
  const bool whole = d.end && d.end == bytes.data() + bytes.size();
  return whole && !d.too_large ? d.value : std::nan("");
}

bool same(double a, double b) { return std::memcmp(&a, &b, sizeof a) == 0; }

}  // namespace

TEST(libsvm_reads_labels_features_and_values) {
  const Table t = read("+1 1:0.5 3:2\n-1 2:1\n2.5 1:-3.25e-1 3:7\n");
  CHECK(t.rows == 3 && t.columns == 3 && t.groups == 0, t.rows, t.columns);
  CHECK((t.label == std::vector<double>{1, -1, 2.5}));
  CHECK((t.start == std::vector<int>{0, 2, 3, 5}));
  CHECK((t.row == std::vector<int>{0, 2, 1, 0, 2}));
  CHECK((t.value == std::vector<double>{0.5, -0.325, 1, 2, 7}));
}

TEST(libsvm_accepts_comments_blanks_and_every_line_end) {
  const Table plain = read("1 1:2 2:3\n0 2:4\n");
  for (const char* text : {"1 1:2 2:3\r\n0 2:4\r\n", "1 1:2 2:3\n0 2:4", "1 1:2 2:3\n0 2:4\r",
                           "\n  \n1\t1:2  2:3 \n\n0 2:4 # 3:5\n#only this\n",
                           "# x\n1 1:2 2:3#\n0 2:4",
                           "\xef\xbb\xbf" "1 1:2 2:3\n0 2:4\n", "1 +1:+2 2:3.\n-0 2:.4e1\n"})
    CHECK(read(text) == plain, text);
  const Table group = read("1 qid:7 1:2 2:3\n0 qid:8 2:4\n");
  CHECK(group.groups == 2 && group.value == plain.value, group.groups);
  const Table none = read("1\n0\n");
  CHECK(none.rows == 2 && none.columns == 0 && none.value.empty(), none.rows);
  CHECK(read("").rows == 0);
  CHECK(read("\n#\n").rows == 0);
}

TEST(libsvm_does_not_depend_on_where_the_text_is_cut) {
  const std::string text = "1 1:0.125 20:2e3 # c\r\n\n-1 qid:3 2:1\n3\n2 4:-5 7:123456789.25";
  const Table whole = read(text);
  CHECK(whole.rows == 4 && whole.columns == 20, whole.rows, whole.columns);
  for (std::size_t piece = 1; piece <= text.size(); ++piece)
    CHECK(read(text, piece) == whole, piece);
}

TEST(libsvm_counts_features_from_zero_or_one) {
  const Table t = read("1 0:5 2:6\n", 100, true);
  CHECK(t.columns == 3 && t.start == (std::vector<int>{0, 1, 1, 2}), t.columns);
  CHECK(read("1 1:5\n", 100, false, 4).columns == 4);
  CHECK(read("1 4:0\n").columns == 4);  // a 0 is a feature, but no entry
  CHECK(read("1 4:0\n").value.empty());
  CHECK(fault("1 0:5\n") == "line 1: feature 0 is given, but features are numbered from 1");
  CHECK(fault("1 4:5\n5 5:1\n", false, 4) ==
        "line 2: feature 5 is beyond the 4 features asked for");
  CHECK(fault("1 4:5\n", true, 4) == "line 1: feature 4 is beyond the 4 features asked for");
  CHECK(fault("1 3:5\n", true, 4) == "no error");
}

TEST(libsvm_names_the_line_and_the_fault) {
  const struct {
    const char *text, *fault;
  } cases[] = {
      {"1 1:2\n\n# c\nx 1:2\n", "line 4: the label is not a number: \"x\""},
      {"1:2 2:3\n", "line 1: the label is missing; the line begins with \"1:2\""},
      {"1,2 2:3\n", "line 1: the label is not a number: \"1,2\"; a row can have one label only"},
      {"nan 1:2\n", "line 1: the label is not a finite number: \"nan\""},
      {"1 1:2 3\n", "line 1: \"3\" is not feature:value"},
      {"1 a:2\n", "line 1: \"a:2\" is not feature:value"},
      {"1 :2\n", "line 1: \":2\" is not feature:value"},
      {"1 1:2 qid:3\n", "line 1: \"qid:3\" is not feature:value"},
      {"1 1:\n", "line 1: the value of feature 1 is missing"},
      {"1 1: 2\n", "line 1: the value of feature 1 is missing"},
      {"1 2:x\n", "line 1: the value of feature 2 is not a number: \"x\""},
      {"1 2:1.2.3\n", "line 1: the value of feature 2 is not a number: \"1.2.3\""},
      {"1 2:1e\n", "line 1: the value of feature 2 is not a number: \"1e\""},
      {"1 2:0x1p3\n", "line 1: the value of feature 2 is not a number: \"0x1p3\""},
      {"1 2:NaN\n", "line 1: the value of feature 2 is not a finite number: \"NaN\""},
      {"1 2:-Inf\n", "line 1: the value of feature 2 is not a finite number: \"-Inf\""},
      {"1 2:1e999\n", "line 1: the value of feature 2 is too large for a number: \"1e999\""},
      {"1 -2:1\n", "line 1: feature \"-2\" is negative"},
      {"1 99999999999:1\n", "line 1: feature \"99999999999\" is too large"},
      {"1 2:1 2:3\n", "line 1: feature 2 is given twice"},
      {"1 5:1 2:3\n", "line 1: feature 2 comes after feature 5; features must ascend"},
      {"1 1:2\n1 x\x01\xff:2", "line 2: \"x??:2\" is not feature:value"},
      {"1 1:abcdefghijklmnopqrstuvwxyzabcdefghijkl\n",
       "line 1: the value of feature 1 is not a number: \"abcdefghijklmnopqrstuvwxyzabcd...\""},
  };
  for (const auto& c : cases) {
    const std::string got = fault(c.text);
    CHECK(got == c.fault, got, c.fault);
  }
  std::string many;
  for (int i = 0; i < 100000; ++i) many += "1 1:2\n";
  CHECK(fault(many + "1 1;2\n") == "line 100001: \"1;2\" is not feature:value");
}

TEST(libsvm_rounds_known_hard_numbers) {
  const double tiny = std::numeric_limits<double>::denorm_min();
  const struct {
    const char* text;
    double value;
  } cases[] = {{"0", 0.0}, {"-0", -0.0}, {"0e999999999999", 0.0}, {"00012.500", 12.5},
               {"9007199254740993", 0x1p53}, {"9007199254740993.0000000000000001", 0x1p53 + 2},
               {"9007199254740995", 0x1p53 + 4}, {"1e22", 1e22}, {"1e23", 0x1.52d02c7e14af6p+76},
               {"8.5e22", 0x1.1ffdbf6b2b2ebp+76}, {"0.1", 0x1.999999999999ap-4},
               {"123456789012345678901234567890", 0x1.8ee90ff6c373ep+96},
               {"1.7976931348623157e308", std::numeric_limits<double>::max()},
               {"2.2250738585072011e-308", 0x0.fffffffffffffp-1022},
               {"2.2250738585072014e-308", 0x1p-1022}, {"4.9406564584124654e-324", tiny},
               {"2.4703282292062328e-324", tiny}, {"2.4703282292062327e-324", 0.0},
               {"1e-400", 0.0}, {"-1e-400", -0.0}, {"1e-999999999999", 0.0}};
  for (const auto& c : cases) CHECK(same(number(c.text), c.value), c.text, number(c.text));
  for (const char* text : {"1.7976931348623159e308", "1e309", "1e999999999999", "-1e309", "", "+",
                           ".", "e5", "1e+", "--1", "1 "})
    CHECK(std::isnan(number(text)), text);
}

// The reference is the C library's strtod.
TEST(libsvm_rounds_random_numbers_to_the_nearest_double) {
  cpt::Stream s(1, 1, cpt::Purpose::sample);
  char text[64];
  for (int i = 0; i < 60000; ++i) {
    const std::uint64_t bits = s.bits();
    double any;
    std::memcpy(&any, &bits, sizeof any);
    if (!std::isfinite(any)) continue;
    const int digits = 1 + static_cast<int>(s.below(20));
    // Bits of every size, numbers of daily life, and halves between two doubles.
    const double value = i % 3 == 0 ? any : 1e3 * (s.uniform() - 0.5);
    std::snprintf(text, sizeof text, i % 3 == 1 ? "%.*f" : "%.*g", digits, value);
    const double known = std::strtod(text, nullptr);
    const double got = number(text);
    CHECK(same(got, known) || (std::isinf(known) && std::isnan(got)), text, got, known);
  }
}

// Where a library has no from_chars for double, strtod takes its place.
TEST(libsvm_both_ways_of_rounding_agree) {
  cpt::Stream s(2, 1, cpt::Purpose::sample);
  char text[64];
  for (int i = 0; i < 20000; ++i) {
    const double scale = std::pow(10.0, 640 * s.uniform() - 330);
    std::snprintf(text, sizeof text, "%.17ge%d", s.uniform(), static_cast<int>(std::log10(scale)));
    const char* end = text + std::strlen(text);
    double a = -1, b = -1;
    const bool one = cpt::round_by_from_chars(text, end, &a);
    const bool two = cpt::round_by_strtod(text, end, &b);
    CHECK(one == two && (!one || same(a, b)), text, one, two, a, b);
  }
}
