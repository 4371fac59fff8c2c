// Samples in memory, and parts of other sources.
#include "engine/data/source.h"

namespace locus::engine {
namespace {

class Resident : public Source {
 public:
  explicit Resident(Batch samples) : samples_(std::move(samples)) {
    if (samples_.empty()) throw std::invalid_argument("samples in memory need at least one tensor");
    for (const auto& [name, tensor] : samples_) {
      if (tensor.dim() == 0 || tensor.size(0) != samples_.begin()->second.size(0)) {
        throw std::invalid_argument("the tensors '" + samples_.begin()->first + "' and '" + name +
                                    "' do not hold equally many samples");
      }
    }
  }

  std::int64_t size() const override { return samples_.begin()->second.size(0); }
  Sample read(std::int64_t index) const override {
    Sample out;
    for (const auto& [name, tensor] : samples_) out.emplace(name, tensor[index]);
    return out;
  }
  std::int64_t bytes(std::int64_t) const override { return size() == 0 ? 0 : bytes_of(samples_) / size(); }
  const Batch* resident() const override { return &samples_; }

 private:
  Batch samples_;
};

class Part : public Source {
 public:
  Part(std::shared_ptr<const Source> source, const Tensor& rows) : source_(std::move(source)) {
    const Tensor indexes = rows.contiguous();
    rows_.assign(indexes.const_data_ptr<std::int64_t>(), indexes.const_data_ptr<std::int64_t>() + indexes.numel());
  }

  std::int64_t size() const override { return static_cast<std::int64_t>(rows_.size()); }
  Sample read(std::int64_t index) const override { return source_->read(row(index)); }
  std::unique_ptr<UndecodedSample> open(std::int64_t index) const override { return source_->open(row(index)); }
  std::int64_t bytes(std::int64_t index) const override { return source_->bytes(row(index)); }

 private:
  std::int64_t row(std::int64_t index) const { return rows_.at(static_cast<std::size_t>(index)); }

  std::shared_ptr<const Source> source_;
  std::vector<std::int64_t> rows_;
};

}  // namespace

std::shared_ptr<const Source> resident_source(Batch samples) { return std::make_shared<Resident>(std::move(samples)); }

std::shared_ptr<const Source> part_of(std::shared_ptr<const Source> source, const Tensor& rows) {
  const Batch* all = source->resident();
  if (all == nullptr) return std::make_shared<Part>(std::move(source), rows);
  Batch gathered;
  for (const auto& [name, tensor] : *all) gathered.emplace(name, tensor.index_select(0, rows));
  return resident_source(std::move(gathered));
}

}  // namespace locus::engine
