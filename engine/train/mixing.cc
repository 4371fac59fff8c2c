// What is mixed is decided on the host, for every image; the device then does it for all of them at once.
#include "engine/train/mixing.h"

#include <algorithm>
#include <cmath>

#include "engine/base/draws.h"

namespace locus::engine {
namespace {

constexpr std::int64_t kUsualChunk = 256;

std::int64_t chunk_of(const MixingSettings& settings, std::int64_t images) {
  const std::int64_t usual = settings.torchvision || images % kUsualChunk != 0 ? images : kUsualChunk;
  const std::int64_t chunk = settings.chunk > 0 ? settings.chunk : usual;
  if (images % chunk != 0) {
    throw std::invalid_argument("mix_chunk is " + std::to_string(chunk) + ", which does not divide a batch of " +
                                std::to_string(images) + " images; choose a divisor or 0");
  }
  if (!settings.torchvision && chunk % 2 != 0) {
    throw std::invalid_argument("images are mixed in pairs, first and last, and a chunk of " + std::to_string(chunk) +
                                " has one left; choose an even train.batch or mix_chunk");
  }
  return chunk;
}

// An integer in [0, count) from a uniform number.
std::int64_t place(double unit, std::int64_t count) {
  return std::min(static_cast<std::int64_t>(unit * static_cast<double>(count)), count - 1);
}

// The box that takes 1 - lambda of the area where it lies within the image, and the share that is left of the own one.
void cut(Mix& mix, double lambda, const MixingSettings& settings, const MixDraws& draws, std::int64_t element,
         std::int64_t height, std::int64_t width) {
  const double ratio = std::sqrt(1 - lambda);
  const auto ends = [&](std::int64_t center, std::int64_t extent) {
    const auto whole = static_cast<std::int64_t>(static_cast<double>(extent) * ratio);
    std::int64_t before = whole / 2, after = settings.odd_boxes ? (whole + 1) / 2 : whole / 2;
    if (settings.torchvision) before = after = static_cast<std::int64_t>(0.5 * ratio * static_cast<double>(extent));
    return std::pair(std::max<std::int64_t>(center - before, 0), std::min(center + after, extent));
  };
  std::tie(mix.top, mix.bottom) = ends(place(draws.unit("mix.cut.y", element), height), height);
  std::tie(mix.left, mix.right) = ends(place(draws.unit("mix.cut.x", element), width), width);
  mix.cut = true;
  const auto area = static_cast<double>((mix.bottom - mix.top) * (mix.right - mix.left));
  mix.share = 1 - area / static_cast<double>(height * width);
}

// What the draws of one chunk, image or pair say; the partner is left out.
Mix draw(const MixingSettings& settings, const MixDraws& draws, std::int64_t element, std::int64_t height,
         std::int64_t width) {
  Mix out;
  const bool either = settings.mixup > 0 || settings.cutmix > 0;
  if (!either || (settings.probability < 1 && draws.unit("mix.apply", element) >= settings.probability)) return out;
  const bool both = settings.mixup > 0 && settings.cutmix > 0;
  const bool box = both ? draws.unit("mix.kind", element) < settings.switch_probability : settings.cutmix > 0;
  const double lambda = draws.beta("mix.lambda", element, box ? settings.cutmix : settings.mixup);
  if (box) {
    cut(out, lambda, settings, draws, element, height, width);
  } else {
    out.share = lambda;
  }
  return out;
}

// A column of one number for each image, on the device of `like`.
template <typename Of>
Tensor column(const std::vector<Mix>& mixes, const Tensor& like, at::ScalarType type, Of of) {
  std::vector<double> values;
  for (const Mix& mix : mixes) values.push_back(static_cast<double>(of(mix)));
  return at::tensor(values, at::kDouble).to(type).to(like.device(), /*non_blocking=*/true);
}

Tensor partners(const std::vector<Mix>& mixes, const Tensor& like) {
  return column(mixes, like, at::kLong, [](const Mix& mix) { return mix.partner; });
}

}  // namespace

double StreamMixDraws::unit(std::string_view name, std::int64_t element) const {
  return draw_unit(random_, kMixing, name, {step_, static_cast<std::uint64_t>(element), 0});
}

double StreamMixDraws::beta(std::string_view name, std::int64_t element, double a) const {
  return draw_beta(random_, kMixing, name, {step_, static_cast<std::uint64_t>(element), 0}, a);
}

std::vector<Mix> draw_mixes(const MixingSettings& settings, const MixDraws& draws, std::int64_t images,
                            std::int64_t height, std::int64_t width) {
  using Mode = MixingSettings::Mode;
  const std::int64_t size = chunk_of(settings, images), chunks = images / size;
  std::vector<Mix> out(static_cast<std::size_t>(images));
  const auto at = [&](std::int64_t chunk, std::int64_t i) {
    return settings.strided ? chunk + i * chunks : chunk * size + i;
  };
  for (std::int64_t c = 0; c < chunks; ++c) {
    Mix shared;
    if (settings.mode == Mode::kBatch) shared = draw(settings, draws, c, height, width);
    for (std::int64_t i = 0; i < size; ++i) {
      Mix& mix = out[static_cast<std::size_t>(at(c, i))];
      if (settings.mode == Mode::kBatch) mix = shared;
      if (settings.mode == Mode::kElement) mix = draw(settings, draws, at(c, i), height, width);
      if (settings.mode == Mode::kPair)
        mix = draw(settings, draws, c * size / 2 + std::min(i, size - 1 - i), height, width);
      mix.partner = at(c, settings.torchvision ? (i + size - 1) % size : size - 1 - i);
    }
  }
  return out;
}

Tensor mixed_images(const Tensor& images, const std::vector<Mix>& mixes) {
  const bool blends = std::any_of(mixes.begin(), mixes.end(), [](const Mix& m) { return !m.cut && m.share != 1; });
  const bool cuts = std::any_of(mixes.begin(), mixes.end(), [](const Mix& m) { return m.cut; });
  if (!blends && !cuts) return images;
  const at::ScalarType type = images.scalar_type();
  const Tensor others = images.index_select(0, partners(mixes, images));
  Tensor out = images;
  if (blends) {
    const auto share = [&](bool rest) {
      return column(mixes, images, type,
                    [rest](const Mix& m) {
                      const double own = m.cut ? 1 : m.share;
                      return rest ? 1 - own : own;
                    })
          .view({-1, 1, 1, 1});
    };
    out = images * share(false) + others * share(true);
  }
  if (cuts) {
    const auto end = [&](std::int64_t Mix::*of) {
      return column(mixes, images, at::kLong, [of](const Mix& m) { return m.*of; }).view({-1, 1, 1, 1});
    };
    const auto options = images.options().dtype(at::kLong);
    const Tensor y = at::arange(images.size(2), options).view({-1, 1}), x = at::arange(images.size(3), options);
    const Tensor inside = y.ge(end(&Mix::top))
                              .logical_and(y.lt(end(&Mix::bottom)))
                              .logical_and(x.ge(end(&Mix::left)))
                              .logical_and(x.lt(end(&Mix::right)));
    out = at::where(inside, others, out);
  }
  return out;
}

Tensor mixed_targets(const Tensor& labels, std::int64_t classes, double smoothing, const std::vector<Mix>& mixes) {
  const double everywhere = smoothing / static_cast<double>(classes);
  const Tensor plain = at::full({labels.size(0), classes}, everywhere, labels.options().dtype(at::kFloat))
                           .scatter(1, labels.unsqueeze(1), 1 - smoothing + everywhere);
  const auto share = [&](bool rest) {
    return column(mixes, labels, at::kFloat, [rest](const Mix& m) { return rest ? 1 - m.share : m.share; })
        .unsqueeze(1);
  };
  return plain * share(false) + plain.index_select(0, partners(mixes, labels)) * share(true);
}

MixBatches::MixBatches(const Task& task, MixingSettings settings) : settings_(settings), classes_(task.classes()) {
  if (classes_ == 0) {
    throw std::invalid_argument(
        "mixup and cutmix mix labels, and this task has no classes; set train.mixup and train.cutmix to 0");
  }
}

void MixBatches::before_step(Batch& batch, const StepView& step) {
  const Tensor images = batch.at(kImage), labels = batch.at(kLabel);
  const StreamMixDraws draws(step.forward.random, step.forward.step);
  const std::vector<Mix> mixes = draw_mixes(settings_, draws, images.size(0), images.size(2), images.size(3));
  batch[kImage] = mixed_images(images, mixes);
  batch[kTarget] = mixed_targets(labels, classes_, settings_.smoothing, mixes);
}

}  // namespace locus::engine
