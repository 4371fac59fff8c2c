// How several processes train one model: each its part of every batch, all of them everything else alike.
#include <cstdio>

#include "engine/tasks/parts.h"
#include "engine/train/evaluation.h"
#include "engine/train/training.h"

namespace locus::engine {
namespace {

// Of the bits of all weights: sums of integers do not depend on their order.
std::int64_t digest_of_weights(const Task& task) {
  std::uint64_t digest = 0;  // which may overflow
  for (const Tensor& weight : task.parameters()) {
    const auto bits = weight.element_size() == 8 ? at::kLong : weight.element_size() == 4 ? at::kInt : at::kShort;
    const auto sum = weight.detach().contiguous().view(bits).sum(at::kLong).item<std::int64_t>();
    digest = 31 * digest + static_cast<std::uint64_t>(sum);
  }
  return static_cast<std::int64_t>(digest & 0xffffffffffff);
}

Microseconds microseconds(double seconds) { return static_cast<Microseconds>(1e6 * seconds); }

}  // namespace

void Training::refuse_what_cannot_be_divided() {
  const int world = context_.execution.gang.world;
  std::string why = undivided(*task_, context_.configuration, settings_.accumulate);
  if (why.empty()) why = loader_.undivided(world);
  if (why.empty()) return;
  throw std::invalid_argument("this training cannot run on " + std::to_string(world) + " devices: " + why +
                              ", or set placement.devices to 1");
}

// Where something changes whole batches, as mixing does, whose images meet others, all processes prepare the same whole.
void Training::join() {
  const GangPlace& place = context_.execution.gang;
  refuse_what_cannot_be_divided();
  takes_parts_ = !std::all_of(hooks_.begin(), hooks_.end(), [](const auto& hook) { return hook->leaves_batches(); });
  if (!takes_parts_) loader_.take_part(place.rank, place.world);
  gang_ = join_gang(place, context_.device);
  if (place.silence_seconds > 0)
    patience_.emplace(microseconds(place.timeout_seconds), microseconds(place.silence_seconds));
  reducer_ = std::make_unique<GradientReducer>(*gang_, task_->parameters());
  backward_.reduce_by(*reducer_);
  share_statistics(*task_, *gang_);
  context_.environment["world"] = place.world;
  const std::string name = context_.environment.value("device_name", "");
  // Sums depend on how many are added up: to whoever compares, that is another device.
  context_.environment["device_name"] = std::to_string(place.world) + " x " + name;
}

// The means over all processes, and with them what rank 0 wants to be done behind this step.
Tensor Training::shared(const Tensor& row) {
  const Tensor all = at::zeros({row.numel() + 2}, at::kDouble);
  if (leads()) {
    all[0] = static_cast<std::int64_t>(context_.observer.wish());
    all[1] = static_cast<std::int64_t>(checkpoint_due());
  }
  all.slice(0, 2).copy_(row.to(at::kDouble) / gang_->world());
  gang_->sum(all);
  agreed_ = static_cast<Wish>(all[0].item<std::int64_t>());
  checkpoint_agreed_ = all[1].item<double>() > 0;
  return all.slice(0, 2).to(row.scalar_type());
}

// All steps are the same ones on the same numbers: weights that differ are a defect, of which no checkpoint is to be made.
void Training::check_alike() {
  const std::int64_t own = digest_of_weights(*task_);
  if (gang_->of_leader(own) == own) return;
  throw std::logic_error("at step " + std::to_string(step_) + " the weights of rank " + std::to_string(gang_->rank()) +
                         " differ from those of rank 0");
}

std::int64_t Training::told(std::int64_t value) { return gang_ ? gang_->of_leader(value) : value; }

// A process that stands still is missed within what some steps take, and not within what the first may have taken.
void Training::be_patient(double step_seconds) {
  stepped_seconds_ += step_seconds;
  if (!patience_) return;
  patience_->took(microseconds(step_seconds));
  gang_->wait_at_most(std::chrono::milliseconds(patience_->limit() / 1000));
}

void Training::say_waits() {
  char line[128];
  std::snprintf(line, sizeof line, "waited %.3f s for sums of gradients, in %.3f s of steps",
                reducer_->waited_seconds(), stepped_seconds_);
  context_.observer.say(line);
}

// Adds what this process scores of samples [first, end): all of them where it is alone, or where sums of others could not be
// added.
void Training::evaluate_part(const EvaluationSet& set, std::int64_t first, std::int64_t end, Accumulator& sums) {
  if (gang_ && dynamic_cast<SummedScores*>(&sums) != nullptr) {
    const std::int64_t count = end - first, rank = gang_->rank(), world = gang_->world();
    end = first + (rank + 1) * count / world;
    first += rank * count / world;
  }
  evaluate_range(*task_, set, first, end, context_.device, context(false), sums, [](std::int64_t) { return true; });
}

std::vector<Score> Training::scores_of(const Accumulator& sums) const {
  const auto* own = gang_ ? dynamic_cast<const SummedScores*>(&sums) : nullptr;
  if (own == nullptr) return sums.scores();
  const Tensor totals = own->totals().clone();
  gang_->sum(totals);
  const std::unique_ptr<Accumulator> all = task_->accumulator();
  dynamic_cast<SummedScores&>(*all).load_totals(totals);
  return all->scores();
}

}  // namespace locus::engine
