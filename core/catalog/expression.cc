// A recursive-descent parser that computes as it reads.
#include "core/catalog/expression.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>

#include "core/base/error.h"

namespace locus {
namespace {

constexpr int kMostDepth = 50;        // parentheses
constexpr double kMostEntries = 1e6;  // of a list

bool starts_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool digit(char c) { return c >= '0' && c <= '9'; }

class ExpressionReader {
 public:
  ExpressionReader(std::string_view text, const FormulaWords& words, std::optional<std::size_t> stage)
      : text_(text), words_(words), stage_(stage) {}

  absl::StatusOr<double> run() {
    const double value = sum();
    if (wrong_.empty() && at_ < text_.size()) fail("something follows its end");
    if (wrong_.empty()) return value;
    return make_error(absl::StatusCode::kInvalidArgument, ErrorReason::kInvalidSpecification,
                      "the formula '" + std::string(text_) + "' cannot be computed: " + wrong_);
  }

 private:
  void fail(const std::string& why) {
    if (wrong_.empty()) wrong_ = why + " at offset " + std::to_string(at_);
    at_ = text_.size();
  }
  char next() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool take(char c) {
    if (next() != c) return false;
    ++at_;
    return true;
  }

  double sum() {
    double value = product();
    while (true) {
      if (take('+')) {
        value += product();
      } else if (take('-')) {
        value -= product();
      } else {
        return value;
      }
    }
  }
  double product() {
    double value = power();
    while (true) {
      if (take('*')) {
        value *= power();
      } else if (take('/')) {
        value /= power();
      } else {
        return value;
      }
    }
  }
  double power() {
    const double base = factor();
    return take('^') ? std::pow(base, power()) : base;
  }
  double parenthesis() {
    if (++depth_ > kMostDepth) fail("parentheses are nested too deeply");
    const double value = sum();
    if (!take(')')) fail("a ) is missing");
    --depth_;
    return value;
  }
  double factor() {
    const char c = next();
    if (take('(')) return parenthesis();
    if (take('-')) return -factor();
    if (digit(c)) return number();
    if (starts_name(c)) return name();
    fail("a number or a name is missing");
    return 0;
  }
  double number() {
    double value = 0;
    const auto read = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    at_ = static_cast<std::size_t>(read.ptr - text_.data());
    return value;
  }
  // `sum_stages(x)`, from the parenthesis on: x is read once for each stage.
  double sum_over_stages() {
    if (words_.stages == 0) fail("there are no stages");
    const std::size_t from = at_;
    const std::optional<std::size_t> outside = stage_;
    double value = 0;
    for (std::size_t s = 0; s < words_.stages && wrong_.empty(); ++s) {
      at_ = from;
      stage_ = s;
      take('(');
      value += parenthesis();
    }
    stage_ = outside;
    return value;
  }
  // `[x]` behind the name of a list.
  double entry(std::string_view list) {
    take('[');
    if (++depth_ > kMostDepth) fail("parentheses are nested too deeply");
    const double place = sum();
    if (!take(']')) fail("a ] is missing");
    --depth_;
    if (!wrong_.empty()) return 0;
    const bool counts = place >= 0 && place < kMostEntries && place == std::floor(place);
    const auto value = counts ? words_.entry(list, static_cast<std::size_t>(place)) : std::nullopt;
    if (!value) fail("'" + std::string(list) + "' has no such entry");
    return value.value_or(0);
  }
  // `round(x)` and so on, from the parenthesis on.
  double call(std::string_view function) {
    if (function == "sum_stages") return sum_over_stages();
    take('(');
    if (++depth_ > kMostDepth) fail("parentheses are nested too deeply");
    const double first = sum();
    const bool two = function == "min" || function == "max";
    if (two && !take(',')) fail("a second number is missing");
    const double second = two ? sum() : 0;
    if (!take(')')) fail("a ) is missing");
    --depth_;
    if (function == "round") return std::round(first);
    if (function == "floor") return std::floor(first);
    if (function == "ceil") return std::ceil(first);
    if (function == "log2") return std::log2(first);
    if (function == "zero") return first == 0 ? 1 : 0;
    if (function == "min") return std::min(first, second);
    if (function == "max") return std::max(first, second);
    fail("'" + std::string(function) + "' is no function");
    return 0;
  }
  double name() {
    const std::size_t from = at_;
    bool value_of = false;  // behind the dot stands a value of an option, which may have hyphens
    while (at_ < text_.size() &&
           (starts_name(text_[at_]) || digit(text_[at_]) || text_[at_] == '.' || (value_of && text_[at_] == '-'))) {
      value_of |= text_[at_++] == '.';
    }
    const std::string_view word = text_.substr(from, at_ - from);
    if (next() == '(') return call(word);
    if (next() == '[') return entry(word);
    const auto value = words_.number(word, stage_);
    if (!value) fail("'" + std::string(word) + "' is not known");
    return value.value_or(0);
  }

  std::string_view text_;
  const FormulaWords& words_;
  std::optional<std::size_t> stage_;
  std::size_t at_ = 0;
  int depth_ = 0;
  std::string wrong_;
};

}  // namespace

absl::StatusOr<double> evaluate_expression(std::string_view text, const FormulaWords& words,
                                           std::optional<std::size_t> stage) {
  return ExpressionReader(text, words, stage).run();
}

absl::StatusOr<double> evaluate_expression(std::string_view text, const NameValue& names) {
  return evaluate_expression(
      text, FormulaWords{.number = [&](std::string_view name, std::optional<std::size_t>) { return names(name); },
                         .entry = [](std::string_view, std::size_t) { return std::nullopt; }});
}

}  // namespace locus
