// Carves by position, without a seed, and without copying.
#include "engine/data/carved_dataset.h"

namespace locus::engine {
namespace {

std::shared_ptr<const Source> rows(const Batch& all, std::int64_t first, std::int64_t end) {
  Batch out;
  for (const auto& [name, tensor] : all) out.emplace(name, tensor.slice(0, first, end));
  return resident_source(std::move(out));
}

}  // namespace

std::shared_ptr<const Source> CarvedDataset::split(std::string_view name) {
  if (name == "test") {
    if (!test_) test_ = resident_source(read_test());
    return test_;
  }
  if (name != "train" && name != "validation") {
    throw std::invalid_argument("no split '" + std::string(name) + "': there are train, validation and test");
  }
  if (!train_) {
    const Batch all = read_training();
    validation_ = rows(all, sizes_.train, sizes_.train + sizes_.validation);
    train_ = rows(all, 0, sizes_.train);
  }
  return name == "train" ? train_ : validation_;
}

}  // namespace locus::engine
