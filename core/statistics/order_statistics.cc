// Expected order statistics of normal values.
#include "core/statistics/order_statistics.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numbers>

namespace locus {
namespace {

constexpr double kBeyond = 13;     // no probability that a double holds lies further out
constexpr int kStepsPerUnit = 64;  // the trapezoidal rule converges faster than any power of the step here

// log of of! / ((rank - 1)! (of - rank)!)
double log_weight(int rank, int of) {
  double out = std::log(of);
  for (int i = 1; i < rank; ++i) out += std::log(static_cast<double>(of - i)) - std::log(static_cast<double>(i));
  return out;
}

// The expected value of the rank-th smallest of `of`.
double expected_order_statistic(int rank, int of) {
  const double weight = log_weight(rank, of);
  const double step = 1.0 / kStepsPerUnit;
  double sum = 0;
  for (int i = -static_cast<int>(kBeyond) * kStepsPerUnit; i <= static_cast<int>(kBeyond) * kStepsPerUnit; ++i) {
    const double x = i * step;
    const double below = 0.5 * std::erfc(-x / std::numbers::sqrt2), above = 0.5 * std::erfc(x / std::numbers::sqrt2);
    if (below <= 0 || above <= 0) continue;
    const double log_density = -0.5 * x * x - 0.5 * std::log(2 * std::numbers::pi);
    sum += x * std::exp(weight + log_density + (rank - 1) * std::log(below) + (of - rank) * std::log(above));
  }
  return sum * step;
}

std::string two_digits(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", value);
  return text;
}

const char* reads(bool low) { return low ? "reads low by about " : "reads high by about "; }

}  // namespace

double expected_top_mean(int top, int of) {
  if (top < 1 || top > of) return kUndefined;
  // All of them are no choice. Beyond the half, the worst ones say it in fewer terms: the sum over all ranks is 0.
  if (top == of) return 0;
  const bool complement = top > of - top;
  const int terms = complement ? of - top : top;
  double sum = 0;
  for (int i = 0; i < terms; ++i) sum += expected_order_statistic(of - i, of);
  return sum / top;  // the best `terms` and the worst ones differ in sign alone
}

TopMean top_mean(const std::vector<double>& values, std::size_t top, bool maximize) {
  TopMean out;
  out.all_mean = sample_mean(values);
  out.all_std = sample_std(values);
  if (top == 0 || values.size() < top) return out;
  std::vector<double> best = values;
  std::stable_sort(best.begin(), best.end(), [maximize](double a, double b) {
    if (!std::isfinite(a) || !std::isfinite(b)) return std::isfinite(a) && !std::isfinite(b);
    return maximize ? a > b : a < b;
  });
  best.resize(top);
  out.mean = sample_mean(best);
  return out;
}

std::string top_sentence(int top, int of, const std::string& split, bool low) {
  return "top " + std::to_string(top) + " of " + std::to_string(of) + " by " + split + ": " + reads(low) +
         two_digits(expected_top_mean(top, of)) + " standard deviations";
}

std::string winner_sentence(int of, const std::string& split, bool low) {
  return "the best of " + std::to_string(of) + " by " + split + " by itself " + reads(low) +
         two_digits(expected_top_mean(1, of)) + " standard deviations, even where all are equal";
}

}  // namespace locus
