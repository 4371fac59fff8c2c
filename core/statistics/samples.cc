// Sample statistics: mean, deviation, Student-t intervals and tests, Holm's correction.
#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <cstdio>
#include <numeric>

#include "core/statistics/samples.h"

namespace locus {

double sample_mean(const std::vector<double>& x) {
  if (x.empty()) return kUndefined;
  // Summing the deviations from a first guess keeps the digits that large offsets would eat.
  const double guess = x.front();
  if (!std::isfinite(guess)) return std::accumulate(x.begin(), x.end(), 0.0) / static_cast<double>(x.size());
  double sum = 0;
  for (const double value : x) sum += value - guess;
  return guess + sum / static_cast<double>(x.size());
}

double sample_std(const std::vector<double>& x) {
  if (x.size() < 2) return kUndefined;
  const double mean = sample_mean(x);
  double squares = 0;
  for (const double value : x) squares += (value - mean) * (value - mean);
  return std::sqrt(squares / static_cast<double>(x.size() - 1));
}

double student_t_half_width(const std::vector<double>& x, double level) {
  const double deviation = sample_std(x);
  if (std::isnan(deviation)) return kUndefined;
  const auto n = static_cast<double>(x.size());
  return student_t_quantile(n - 1, level) * deviation / std::sqrt(n);
}

double student_t_quantile(double degrees, double level) {
  return boost::math::quantile(boost::math::students_t(degrees), 0.5 + level / 2);
}

double paired_t_p(const std::vector<double>& differences) {
  const double mean = sample_mean(differences), deviation = sample_std(differences);
  if (!std::isfinite(mean) || !std::isfinite(deviation)) return kUndefined;
  if (deviation == 0) return kUndefined;  // t is 0/0 or infinite: chance had no part to judge by
  const auto n = static_cast<double>(differences.size());
  const double t = std::abs(mean) / (deviation / std::sqrt(n));
  return 2 * boost::math::cdf(boost::math::complement(boost::math::students_t(n - 1), t));
}

SampleSummary summarize_sample(const std::vector<double>& x, double level) {
  SampleSummary out{static_cast<int>(x.size()), sample_mean(x), sample_std(x), kUndefined, kUndefined};
  const double half = student_t_half_width(x, level);
  out.low = out.mean - half;
  out.high = out.mean + half;
  return out;
}

bool times_vary(const std::vector<double>& times) {
  constexpr double kSteady = 1.5;  // repeats on an idle machine agree within some per cent
  const auto [least, most] = std::minmax_element(times.begin(), times.end());
  return times.size() > 1 && *least > 0 && std::isfinite(*most) && *most >= kSteady * *least;
}

std::string vary_sentence(const std::string& what, const std::string& name, double least, double most,
                          std::int64_t count) {
  char range[64];
  std::snprintf(range, sizeof range, "%.4g to %.4g", least, most);
  return what + " varies between the seeds of " + name + " (" + range + ")" +
         (count > 1 ? " and of " + std::to_string(count - 1) + " more" : "") +
         ": something else used the machine, so do not compare these times";
}

std::vector<double> holm(const std::vector<double>& p) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < p.size(); ++i) {
    if (!std::isnan(p[i])) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(), [&p](std::size_t a, std::size_t b) { return p[a] < p[b]; });
  std::vector<double> out(p.size(), kUndefined);
  double largest = 0;
  for (std::size_t rank = 0; rank < order.size(); ++rank) {
    largest = std::max(largest, p[order[rank]] * static_cast<double>(order.size() - rank));
    out[order[rank]] = std::min(1.0, largest);
  }
  return out;
}

}  // namespace locus
