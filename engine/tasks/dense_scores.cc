// Scores of maps.
#include "engine/tasks/dense_scores.h"

#include <cmath>
#include <limits>

#include "engine/tasks/dense_losses.h"

namespace locus::engine {
namespace {

constexpr double kNearest = 1e-3;  // meters
constexpr const char* kDepthMetrics[] = {"abs-rel", "a1", "a2", "a3", "rmse", "l1"};
constexpr const char* kAlignments[] = {"", "median", "none"};  // the first is by least squares
constexpr auto kNumbers = static_cast<std::int64_t>(std::size(kDepthMetrics));
constexpr auto kColumns = kNumbers * static_cast<std::int64_t>(std::size(kAlignments));

// Those pixels of an image that count, in its order: [n] float64 each.
struct CountedDepth {
  Tensor prediction, depth, counts;  // the whole image flat; 0 or 1
};

CountedDepth counted(const Tensor& prediction, const Tensor& depth, double most) {
  const Tensor p = prediction.detach().to(at::kDouble).flatten(), t = depth.to(at::kDouble).flatten();
  if (p.sizes() != t.sizes())
    throw std::invalid_argument("a prediction of " + c10::str(prediction.sizes()) + " is scored against a depth of " +
                                c10::str(depth.sizes()));
  Tensor counts = t.isfinite().logical_and(t.gt(kNearest)).logical_and(p.isfinite());
  if (most > 0) counts = counts.logical_and(t.le(most));
  return {p.masked_fill(counts.logical_not(), 0), t.masked_fill(counts.logical_not(), 1), counts.to(at::kDouble)};
}

Tensor cut(const Tensor& p, double most) {
  const Tensor out = p.clamp_min(kNearest);
  return most > 0 ? out.clamp_max(most) : out;
}

// The middle number, of an even count the lower one of the two, of those that count. NaN of none.
Tensor median_of(const Tensor& x, const Tensor& counts) {
  return x.masked_fill(counts.eq(0), std::numeric_limits<double>::quiet_NaN()).nanmedian();
}

Tensor by_least_squares(const CountedDepth& image) {
  const DepthFit fit = fit_depth(image.prediction.unsqueeze(0), image.depth.unsqueeze(0), image.counts.unsqueeze(0));
  return fit.scale.squeeze() * image.prediction + fit.shift.squeeze();
}

Tensor by_median(const CountedDepth& image) {
  const Tensor ratio = median_of(image.depth, image.counts) / median_of(image.prediction, image.counts);
  return image.prediction * at::where(ratio.isfinite().logical_and(ratio.gt(0)), ratio, at::ones_like(ratio));
}

// The six numbers of an image, NaN without pixels.
Tensor numbers_of(const Tensor& aligned, const CountedDepth& image, double most) {
  const Tensor p = cut(aligned, most), &t = image.depth, n = image.counts.sum();
  const auto mean = [&](const Tensor& x) { return (x.to(at::kDouble) * image.counts).sum() / n; };
  const Tensor apart = (p - t).abs(), ratio = at::maximum(p / t, t / p);
  return at::stack({100 * mean(apart / t), 100 * mean(ratio.lt(1.25)), 100 * mean(ratio.lt(1.25 * 1.25)),
                    100 * mean(ratio.lt(1.25 * 1.25 * 1.25)), mean(apart.square()).sqrt(), mean(apart)});
}

}  // namespace

ConfusionMatrix::ConfusionMatrix(std::int64_t classes) : classes_(classes) {}

void ConfusionMatrix::add(const Tensor& truth, const Tensor& said) {
  if (truth.sizes() != said.sizes())
    throw std::invalid_argument("classes of " + c10::str(said.sizes()) + " are scored against a mask of " +
                                c10::str(truth.sizes()));
  const std::int64_t columns = classes_ + 1, nowhere = classes_ * columns;
  const Tensor flat = truth.flatten();
  const Tensor place = (flat.to(at::kLong) * columns + said.flatten()).masked_fill(flat.eq(kIgnored), nowhere);
  if (!sums_.defined()) sums_ = at::zeros({nowhere + 1}, place.options());
  sums_.scatter_add_(0, place, at::ones_like(place));
}

void ConfusionMatrix::merge(const ConfusionMatrix& other) {
  if (!other.sums_.defined()) return;
  if (other.classes_ != classes_)
    throw std::invalid_argument("counts of " + std::to_string(other.classes_) +
                                " classes cannot be added to those of " + std::to_string(classes_));
  sums_ = sums_.defined() ? sums_ + other.sums_.to(sums_.device()) : other.sums_.clone();
}

Tensor ConfusionMatrix::counts() const {
  if (!sums_.defined()) return at::zeros({classes_, classes_ + 1}, at::kLong);
  return sums_.slice(0, 0, classes_ * (classes_ + 1)).view({classes_, classes_ + 1}).to(at::kCPU).clone();
}

void ConfusionMatrix::load(const Tensor& counts) {
  const std::vector<std::int64_t> shape = {classes_, classes_ + 1};
  if (counts.scalar_type() != at::kLong || counts.sizes() != at::IntArrayRef(shape))
    throw std::invalid_argument("counts of " + c10::str(counts.sizes()) + " " + c10::str(counts.scalar_type()) +
                                " are no int64 " + c10::str(shape));
  sums_ = at::constant_pad_nd(counts.flatten(), {0, 1}, 0);
}

std::vector<Score> segmentation_scores(const Tensor& counts, const std::vector<std::string>& names) {
  const std::int64_t classes = counts.size(0);
  const auto number = counts.accessor<std::int64_t, 2>();
  std::vector<Score> out, each;
  double iou_sum = 0, accuracy_sum = 0;
  std::int64_t defined = 0, occurring = 0, hits = 0, labeled = 0;
  for (std::int64_t c = 0; c < classes; ++c) {
    std::int64_t truth = 0, said = 0;
    for (std::int64_t k = 0; k <= classes; ++k) truth += number[c][k];
    for (std::int64_t k = 0; k < classes; ++k) said += number[k][c];
    const std::int64_t hit = number[c][c], all = truth + said - hit;
    hits += hit;
    labeled += truth;
    if (truth > 0) {
      accuracy_sum += static_cast<double>(hit) / static_cast<double>(truth);
      ++occurring;
    }
    if (all == 0) continue;
    const double iou = static_cast<double>(hit) / static_cast<double>(all);
    iou_sum += iou;
    ++defined;
    const auto place = static_cast<std::size_t>(c);
    each.push_back({"iou", 100 * iou, {{"class", place < names.size() ? names[place] : std::to_string(c)}}});
  }
  if (defined > 0) out.push_back({"miou", 100 * iou_sum / static_cast<double>(defined)});
  if (labeled > 0) {
    out.push_back({"pixel-accuracy", 100 * static_cast<double>(hits) / static_cast<double>(labeled)});
    out.push_back({"mean-accuracy", 100 * accuracy_sum / static_cast<double>(occurring)});
  }
  out.insert(out.end(), each.begin(), each.end());
  return out;
}

void DepthScores::add(const Tensor& prediction, const Tensor& depth) {
  const CountedDepth image = counted(prediction, depth, most_);
  rows_.push_back(at::cat({numbers_of(by_least_squares(image), image, most_),
                           numbers_of(by_median(image), image, most_), numbers_of(image.prediction, image, most_)}));
}

void DepthScores::merge(const DepthScores& other) { rows_.insert(rows_.end(), other.rows_.begin(), other.rows_.end()); }

Tensor DepthScores::rows() const {
  if (rows_.empty()) return at::zeros({0, kColumns}, at::kDouble);
  return at::stack(rows_).to(at::kCPU);
}

void DepthScores::load(const Tensor& rows) {
  if (rows.dim() != 2 || rows.size(1) != kColumns || rows.scalar_type() != at::kDouble)
    throw std::invalid_argument("scores of images of " + c10::str(rows.sizes()) + " are no float64 [images, " +
                                std::to_string(kColumns) + "]");
  rows_ = rows.size(0) == 0 ? std::vector<Tensor>{} : rows.unbind(0);
}

std::vector<Score> DepthScores::scores() const {
  const Tensor all = rows().contiguous();
  std::vector<double> sums(kColumns);
  std::int64_t images = 0;
  const auto number = all.accessor<double, 2>();
  for (std::int64_t i = 0; i < all.size(0); ++i) {
    if (std::isnan(number[i][0])) continue;
    ++images;
    for (std::int64_t k = 0; k < kColumns; ++k) sums[static_cast<std::size_t>(k)] += number[i][k];
  }
  std::vector<Score> out;
  if (images == 0) return out;
  for (std::int64_t k = 0; k < kColumns; ++k) {
    const std::string how = kAlignments[k / kNumbers];
    out.push_back({kDepthMetrics[k % kNumbers], sums[static_cast<std::size_t>(k)] / static_cast<double>(images),
                   how.empty() ? Json::object() : Json{{"alignment", how}}});
  }
  return out;
}

Tensor aligned_depth(const Tensor& prediction, const Tensor& depth, double most) {
  const CountedDepth image = counted(prediction, depth, most);
  return cut(by_least_squares(image), most)
      .masked_fill(image.counts.eq(0), std::numeric_limits<double>::quiet_NaN())
      .view(depth.sizes());
}

}  // namespace locus::engine
