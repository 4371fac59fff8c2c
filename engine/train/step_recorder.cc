// What is played is held beside what it stands for before it is believed.
#include "engine/train/step_recorder.h"

namespace locus::engine {
namespace {

constexpr std::size_t kMostRecordings = 4;  // each keeps the memory of a step
constexpr double kMostOff = 0.05;           // of how far a tensor moves
constexpr double kRounding = 1e-5;          // of how far any does

std::string shape_of(const Batch& batch) {
  std::string out;
  for (const auto& [name, tensor] : batch) {
    out += name + ' ' + std::string(c10::toString(tensor.scalar_type()));
    for (const std::int64_t size : tensor.sizes()) out += ' ' + std::to_string(size);
    out += ';';
  }
  return out;
}

std::vector<Tensor> copies_of(const std::vector<Tensor>& tensors) {
  std::vector<Tensor> out;
  for (const Tensor& tensor : tensors) out.push_back(tensor.detach().clone());
  return out;
}

void put(const std::vector<Tensor>& values, const std::vector<Tensor>& into) {
  const at::NoGradGuard no_gradient;
  for (std::size_t i = 0; i < values.size(); ++i) into[i].copy_(values[i]);
}

// |left - right| of each, [tensors] float64.
Tensor distances(const std::vector<Tensor>& left, const std::vector<Tensor>& right) {
  std::vector<Tensor> out;
  for (std::size_t i = 0; i < left.size(); ++i)
    out.push_back(at::linalg_vector_norm(left[i].detach().to(at::kDouble) - right[i].detach().to(at::kDouble)));
  return at::stack(out);
}

std::string first_line(const std::exception& error) {
  const auto* of_torch = dynamic_cast<const c10::Error*>(&error);
  const std::string text = of_torch != nullptr ? of_torch->what_without_backtrace() : error.what();
  return text.substr(0, text.find('\n'));
}

}  // namespace

StepRecorder::StepRecorder(MakeDeviceGraph graphs, Step step, Tell tell)
    : graphs_(std::move(graphs)), step_(std::move(step)), tell_(std::move(tell)) {}

StepRow StepRecorder::run(const Batch& batch, const ForwardContext& forward) {
  if (refused_) return step_.make(batch, forward);
  Recording& of = recordings_[shape_of(batch)];
  if (of.graph) return play(of, batch, forward);
  const bool tries = ++of.seen >= of.next_try && recordings_.size() <= kMostRecordings;
  return tries ? make_both_ways(of, batch, forward) : step_.make(batch, forward);
}

StepRow StepRecorder::play(Recording& of, const Batch& batch, const ForwardContext& forward) const {
  for (const auto& [name, tensor] : batch) of.inputs.at(name).copy_(tensor);
  for (const Draw& draw : of.draws) {
    const Tensor drawn = forward.random.uniform(draw.purpose, draw.name, forward.step.draw(), draw.place.sizes());
    draw.place.copy_(drawn, /*non_blocking=*/true);
  }
  of.graph->replay();
  step_.played();
  return of.row;
}

std::vector<Tensor> StepRecorder::state() const {
  std::vector<Tensor> out = step_.sums;
  out.insert(out.end(), step_.weights.begin(), step_.weights.end());
  return out;
}

void StepRecorder::refuse(const std::string& why) {
  refused_ = true;
  recordings_.clear();
  tell_("steps are made one by one, not replayed: " + why);
}

// The draws of one step, in its order, are what the recording is given: nothing can be brought to a device that records. Where
// anything fails, the state is that of the step that was made.
StepRow StepRecorder::make_both_ways(Recording& to, const Batch& batch, const ForwardContext& forward) {
  const std::vector<Tensor> whole = state();
  std::vector<Tensor> before, after;  // copies, for which there may be no memory
  try {
    before = copies_of(whole);
  } catch (const std::exception& error) {
    refuse(first_line(error));
    return step_.make(batch, forward);
  }
  bool asked = false, other_draws = false;
  std::vector<Draw> draws;
  const at::Device device = whole.front().device();
  const RandomStreams noted(forward.random.seed(), [&](std::string_view purpose, std::string_view name,
                                                       at::Tensor drawn) {
    const Tensor expected =
        RandomStreams(forward.random.seed()).uniform(purpose, name, forward.step.draw(), drawn.sizes());
    other_draws = other_draws || !at::equal(drawn, expected);
    draws.push_back({std::string(purpose), std::string(name), drawn.to(device, /*non_blocking=*/false, /*copy=*/true)});
    return drawn;
  });
  const StepNumber number(static_cast<std::int64_t>(forward.step.draw()), &asked);
  const ForwardContext watched{number, forward.steps, forward.training, noted, forward.first_sample};
  const StepRow row = step_.make(batch, watched);
  if (other_draws) {
    refuse("a draw is not one of numbers from 0 to 1 by the step's number");
    return row;
  }
  if (asked || !row.values.isfinite().all().item<bool>()) {
    // What depends on the number of an early step, as a ramp does, may do so no longer later on.
    to.next_try = 2 * to.seen;
    return row;
  }
  std::string why;
  try {
    after = copies_of(whole);
    put(before, whole);
    to.draws = std::move(draws);
    for (const auto& [name, tensor] : batch) to.inputs[name] = tensor.clone();
    record(to, watched);
    to.graph->replay();
    why = difference(row, to.row, before, after);
  } catch (const std::exception& error) {
    why = first_line(error);
  }
  step_.played();
  if (why.empty()) {
    tell_("from step " + std::to_string(forward.step.draw() + 1) +
          " on, steps are replayed as one graph of the device");
    return to.row;
  }
  step_.drop();
  put(after, whole);
  refuse(why);
  return row;
}

void StepRecorder::record(Recording& to, const ForwardContext& forward) const {
  std::size_t drawn = 0;
  const RandomStreams placed(forward.random.seed(),
                             [&](std::string_view purpose, std::string_view name, const at::Tensor& fresh) {
                               if (drawn >= to.draws.size() || to.draws[drawn].purpose != purpose ||
                                   to.draws[drawn].name != name || to.draws[drawn].place.sizes() != fresh.sizes())
                                 throw std::runtime_error("two passes of one step draw different numbers");
                               return to.draws[drawn++].place;
                             });
  const ForwardContext here{forward.step, forward.steps, forward.training, placed, forward.first_sample};
  to.graph = graphs_();
  to.graph->record([&] { to.row = step_.make(to.inputs, here); });
}

// The same bits, where sums on the device have one order; small beside what a step changes where they have none.
std::string StepRecorder::difference(const StepRow& made, const StepRow& played, const std::vector<Tensor>& before,
                                     const std::vector<Tensor>& after) const {
  const std::vector<Tensor> now = state();
  const Tensor moved = distances(before, after), off = distances(now, after);
  const auto sums = static_cast<std::int64_t>(step_.sums.size());
  const Tensor floor = sums > 0 ? moved.slice(0, 0, sums).max() * kRounding : Tensor();
  const bool well =
      (sums == 0 || (off.slice(0, 0, sums) <= moved.slice(0, 0, sums) * kMostOff + floor).all().item<bool>()) &&
      (at::linalg_vector_norm(off.slice(0, sums)) <= at::linalg_vector_norm(moved.slice(0, sums)) * kMostOff)
          .item<bool>();
  const Tensor apart = (made.values - played.values).abs();
  const bool rows = made.fields == played.fields && (apart <= made.values.abs() * kMostOff).all().item<bool>();
  return well && rows ? "" : "a replayed step differs from the one it was recorded of";
}

}  // namespace locus::engine
