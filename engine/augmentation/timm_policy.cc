// timm's policies and their configuration strings.
#include <charconv>
#include <cmath>
#include <stdexcept>
#include <string>

#include "engine/augmentation/draw.h"
#include "engine/augmentation/levels.h"
#include "engine/augmentation/policy.h"

namespace locus::engine {
namespace {

constexpr double kUniformAbove = 100;  // of mstd
constexpr std::int64_t kMost = 1000;   // of levels and operations, against slips

struct Noise {
  double deviation = 0;
  double most = 10;  // the level is cut to 0..most

  double level(double level, const std::string& name, const SampleDraws& draws) const {
    if (deviation > kUniformAbove) {
      level = uniform_of(draws.unit(name), 0, level);
    } else if (deviation > 0) {
      level += deviation * draws.normal(name);
    }
    return std::clamp(level, 0.0, most);
  }
};

struct Step {
  const LeveledOperation* leveled;
  double probability, level;
};

Step step_of(std::string_view operation, double probability, double level) {
  return {&leveled_operation(operation), probability, level};
}

// Applies the step or not; `name` is what its draws begin with.
Image stepped(Image image, const Step& step, const Noise& noise, std::int64_t shorter, const std::string& name,
              const SampleDraws& draws, const Canvas& canvas) {
  if (step.probability < 1 && draws.unit(name + ".apply") > step.probability) return image;
  const LevelScene scene{image.height, image.width, shorter, draws.unit(name + ".sign") > 0.5};
  const double level = noise.level(step.level, name + ".magnitude", draws);
  return operation_named(pillow_operations(), step.leveled->operation)
      .apply(image, step.leveled->argument(level, scene), canvas);
}

class TimmRandAugment final : public Policy {
 public:
  TimmRandAugment(std::vector<Step> steps, std::int64_t count, const Noise& noise, std::int64_t shorter)
      : steps_(std::move(steps)), count_(count), noise_(noise), shorter_(shorter) {}

  Image apply(Image image, const SampleDraws& draws, const Canvas& canvas) const override {
    for (std::int64_t k = 0; k < count_; ++k) {
      const std::string name = "randaugment." + std::to_string(k);
      const auto which = integer_of(draws.unit(name + ".op"), 0, static_cast<std::int64_t>(steps_.size()) - 1);
      image = stepped(std::move(image), steps_[static_cast<std::size_t>(which)], noise_, shorter_, name, draws, canvas);
    }
    return image;
  }

 private:
  std::vector<Step> steps_;
  std::int64_t count_;
  Noise noise_;
  std::int64_t shorter_;
};

class TimmAutoAugment final : public Policy {
 public:
  TimmAutoAugment(std::vector<std::array<Step, 2>> policies, const Noise& noise, std::int64_t shorter)
      : policies_(std::move(policies)), noise_(noise), shorter_(shorter) {}

  Image apply(Image image, const SampleDraws& draws, const Canvas& canvas) const override {
    const auto last = static_cast<std::int64_t>(policies_.size()) - 1;
    const auto& policy = policies_[static_cast<std::size_t>(integer_of(draws.unit("autoaugment.policy"), 0, last))];
    for (std::size_t k = 0; k < policy.size(); ++k) {
      const std::string name = "autoaugment." + std::to_string(k);
      image = stepped(std::move(image), policy[k], noise_, shorter_, name, draws, canvas);
    }
    return image;
  }

 private:
  std::vector<std::array<Step, 2>> policies_;
  Noise noise_;
  std::int64_t shorter_;
};

// A configuration string in parts: what is before the first hyphen, then names with their numbers.
class Parts {
 public:
  explicit Parts(std::string_view whole) : whole_(whole) {
    const std::size_t end = whole.find('-');
    policy_ = whole.substr(0, end);
    rest_ = end == whole.npos ? "" : whole.substr(end + 1);
  }

  std::string_view policy() const { return policy_; }

  // The next part's name, its number in value(); false after the last.
  bool next() {
    if (rest_.empty()) return false;
    const std::size_t end = rest_.find('-');
    part_ = rest_.substr(0, end);
    rest_ = end == rest_.npos ? "" : rest_.substr(end + 1);
    const std::size_t digit = part_.find_first_of("0123456789");
    if (digit == part_.npos) refuse("it has no number");
    name_ = part_.substr(0, digit);
    const std::string_view text = part_.substr(digit);
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value_);
    if (error != std::errc() || stop != text.data() + text.size()) refuse("'" + std::string(text) + "' is no number");
    return true;
  }
  std::string_view name() const { return name_; }
  double value() const { return value_; }
  std::int64_t integer(std::int64_t least, std::int64_t most) const {
    within(static_cast<double>(least), static_cast<double>(most));
    if (value_ != std::floor(value_)) refuse("it needs a whole number");
    return static_cast<std::int64_t>(value_);
  }
  double within(double least, double most) const {
    if (value_ < least || value_ > most)
      refuse("it goes from " + std::to_string(least) + " to " + std::to_string(most));
    return value_;
  }
  [[noreturn]] void refuse(const std::string& why) const {
    throw std::invalid_argument(
        "the policy '" + std::string(whole_) + "' has a part '" + std::string(part_) + "' that cannot be read: " + why +
        "; a policy is none, rand-m9-mstd0.5-inc1 (with n, p " + "and mmax, too), original or v0 (with mstd)");
  }

 private:
  std::string_view whole_, policy_, rest_, part_, name_;
  double value_ = 0;
};

std::shared_ptr<const Policy> randaugment(Parts& parts, std::int64_t shorter) {
  std::int64_t level = 10, count = 2;
  double probability = 0.5;
  bool increasing = false;
  Noise noise;
  while (parts.next()) {
    if (parts.name() == "m") {
      level = parts.integer(0, kMost);
    } else if (parts.name() == "n") {
      count = parts.integer(1, kMost);
    } else if (parts.name() == "p") {
      probability = parts.within(0, 1);
    } else if (parts.name() == "mstd") {
      noise.deviation = parts.value();
    } else if (parts.name() == "mmax") {
      noise.most = static_cast<double>(parts.integer(1, kMost));
    } else if (parts.name() == "inc") {
      increasing = true;  // whatever the number, as in timm
    } else {
      parts.refuse("no such part of rand");
    }
  }
  std::vector<Step> steps;
  for (const std::string_view name : randaugment_operations(increasing)) {
    steps.push_back(step_of(name, probability, static_cast<double>(level)));
  }
  return std::make_shared<TimmRandAugment>(std::move(steps), count, noise, shorter);
}

std::shared_ptr<const Policy> autoaugment(Parts& parts, std::int64_t shorter) {
  const bool original = parts.policy() == "original";
  Noise noise;
  while (parts.next()) {
    if (parts.name() != "mstd") parts.refuse("AutoAugment takes mstd alone");
    noise.deviation = parts.value();
  }
  std::vector<std::array<Step, 2>> policies;
  for (const SubPolicy& policy : original ? autoaugment_original() : autoaugment_v0()) {
    std::array<Step, 2> steps{};
    for (std::size_t k = 0; k < steps.size(); ++k) {
      const bool posterize = original && policy[k].operation == "Posterize";
      steps[k] = step_of(posterize ? "PosterizeOriginal" : policy[k].operation, policy[k].probability,
                         static_cast<double>(policy[k].level));
    }
    policies.push_back(steps);
  }
  return std::make_shared<TimmAutoAugment>(std::move(policies), noise, shorter);
}

}  // namespace

std::shared_ptr<const Policy> timm_policy(std::string_view configuration, std::int64_t shorter) {
  Parts parts(configuration);
  if (parts.policy() == "rand") return randaugment(parts, shorter);
  if (parts.policy() == "original" || parts.policy() == "v0") return autoaugment(parts, shorter);
  throw std::invalid_argument("there is no policy '" + std::string(configuration) +
                              "': none, or one that begins with rand, original or v0, as rand-m9-mstd0.5-inc1");
}

}  // namespace locus::engine
