// Stacking and joining.
#include "engine/data/sample.h"

#include <algorithm>

namespace locus::engine {
namespace {

std::string shape_text(at::IntArrayRef shape) {
  std::string text;
  for (const std::int64_t extent : shape) text += (text.empty() ? "" : ", ") + std::to_string(extent);
  return "[" + text + "]";
}

// The tensor `name` of every sample, all of one type.
std::vector<Tensor> gather(std::span<const Sample> samples, const std::string& name) {
  std::vector<Tensor> out;
  out.reserve(samples.size());
  for (const Sample& sample : samples) {
    const auto found = sample.find(name);
    if (found == sample.end())
      throw std::invalid_argument("a sample of the batch lacks the tensor '" + name + "', which another has");
    if (!out.empty() && found->second.scalar_type() != out.front().scalar_type()) {
      throw std::invalid_argument("the tensor '" + name + "' is " + c10::toString(out.front().scalar_type()) +
                                  " in one sample of the batch and " + c10::toString(found->second.scalar_type()) +
                                  " in another");
    }
    out.push_back(found->second);
  }
  return out;
}

Tensor stacked(std::span<const Sample> samples, const std::string& name) {
  const std::vector<Tensor> tensors = gather(samples, name);
  for (const Tensor& tensor : tensors) {
    if (tensor.sizes() == tensors.front().sizes()) continue;
    throw std::invalid_argument("the samples of a batch have '" + name + "' in different shapes, " +
                                shape_text(tensors.front().sizes()) + " and " + shape_text(tensor.sizes()) +
                                ": resize or crop them to one, or collate them in another way than by stacking");
  }
  return at::stack(tensors);
}

void join(std::span<const Sample> samples, const std::string& name, Batch& out) {
  const std::vector<Tensor> tensors = gather(samples, name);
  Tensor count = at::empty({static_cast<std::int64_t>(tensors.size())}, at::kLong);
  auto* counts = count.mutable_data_ptr<std::int64_t>();
  for (const Tensor& tensor : tensors) {
    if (tensor.dim() == 0 || tensor.sizes().slice(1) != tensors.front().sizes().slice(1)) {
      throw std::invalid_argument("the samples of a batch have '" + name +
                                  "' in shapes that cannot be joined by rows, " + shape_text(tensors.front().sizes()) +
                                  " and " + shape_text(tensor.sizes()));
    }
    *counts++ = tensor.size(0);
  }
  out[name] = at::cat(tensors);
  out[name + ".count"] = count;
}

// A name of another sample that the first lacks would be dropped in silence.
void check_names(std::span<const Sample> samples) {
  for (const Sample& sample : samples) {
    for (const auto& entry : sample) {
      if (!samples.front().contains(entry.first))
        throw std::invalid_argument("a sample of the batch lacks the tensor '" + entry.first + "', which another has");
    }
  }
}

Batch collated(std::span<const Sample> samples, const std::vector<std::string>& joined) {
  check_names(samples);
  Batch out;
  for (const auto& entry : samples.front()) {
    const std::string& name = entry.first;
    if (std::find(joined.begin(), joined.end(), name) == joined.end()) {
      out[name] = stacked(samples, name);
    } else {
      join(samples, name, out);
    }
  }
  return out;
}

}  // namespace

bool is_image(std::string_view name) { return name == kImage || name.starts_with("image."); }

std::int64_t bytes_of(const std::map<std::string, Tensor>& tensors) {
  std::int64_t sum = 0;
  for (const auto& entry : tensors) sum += static_cast<std::int64_t>(entry.second.nbytes());
  return sum;
}

Batch stack_samples(std::span<const Sample> samples) { return collated(samples, {}); }

Collate joining(std::vector<std::string> names) {
  return [names = std::move(names)](std::span<const Sample> samples) { return collated(samples, names); };
}

}  // namespace locus::engine
