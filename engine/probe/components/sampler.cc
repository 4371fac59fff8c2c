// Samplers: which rows an epoch of training shows, by which visits they draw, and how they are cut into batches.
#include "engine/data/sampler.h"

#include "engine/probe/components/components.h"

namespace locus::engine::components {
namespace {

constexpr const char* kPermutation = "permutation";

// An epoch in a given order.
class Given final : public Sampler {
 public:
  explicit Given(Tensor rows) : rows_(std::move(rows)) {}
  std::int64_t samples() const override { return rows_.size(0); }
  Tensor rows(std::int64_t) const override { return rows_; }

 private:
  Tensor rows_;
};

std::shared_ptr<const Sampler> order_of(const Options& options, const RandomStreams& random,
                                        const NamedTensors& given) {
  std::shared_ptr<const Sampler> order;
  if (const auto found = given.find(kPermutation); found != given.end()) {
    if (found->second.dim() != 1) throw std::invalid_argument("permutation must be int64 [samples]");
    order = std::make_shared<Given>(found->second.to(at::kLong).contiguous());
  } else {
    order = std::make_shared<TrainingOrder>(options.text("dataset"), options.integer("samples"),
                                            options.integer("limit"), random);
  }
  if (options.integer("repeats") <= 1) return order;
  return std::make_shared<RepeatedOrder>(std::move(order), options.integer("repeats"));
}

NamedTensors run_sampler(const ComponentSpecification& specification, const NamedTensors& given) {
  const Options& options = specification.options;
  const RandomStreams random(specification.json.value("seed", std::uint64_t{0}));
  const auto epoch = specification.json.value("epoch", std::int64_t{0});
  const std::shared_ptr<const Sampler> order = order_of(options, random, given);
  const BatchRule rule{
      .keep_last = options.boolean("keep_last"), .sizes = options.integers("sizes"), .size = options.integer("size")};
  BatchCuts cuts(order->samples(), std::min(options.integer("batch"), order->samples()), rule, random);
  std::vector<std::int64_t> first, count, sizes;
  for (std::int64_t batch = 0; batch < cuts.count(epoch); ++batch) {
    const BatchPlace place = cuts.at({epoch, batch});
    first.push_back(place.first);
    count.push_back(place.count);
    sizes.push_back(rule.sizes.empty() ? rule.size : rule.sizes[place.size]);
  }
  return {{"rows", order->rows(epoch).clone()},          {"visits", order->visits(epoch).clone()},
          {"batch.first", at::tensor(first, at::kLong)}, {"batch.count", at::tensor(count, at::kLong)},
          {"batch.size", at::tensor(sizes, at::kLong)},  {"typical", at::scalar_tensor(cuts.typical(), at::kLong)}};
}

}  // namespace

std::vector<Component> sampler() {
  Item item("sampler", "training", 1, "The rows of an epoch, their visits and its batches");
  item.option(Option::integer("samples", 1000, "of the split").minimum(1));
  item.option(Option::text("dataset", "", "its id, which the subset under a limit is drawn by"));
  item.option(Option::integer("limit", 0, "samples used; 0 for all").minimum(0));
  item.option(Option::integer("repeats", 1, "repeated augmentation: how often a sample is shown").minimum(1));
  item.option(Option::integer("batch", 128, "samples a step").minimum(1));
  item.option(Option::boolean("keep_last", false, "the last, incomplete batch is one, too"));
  item.option(Option::list("sizes", "integer", Json::array(), "sides that batches take in turn"));
  item.option(Option::integer("size", 224, "the side that `batch` is meant for").minimum(1));
  return {{.item = std::move(item),
           .inputs = {{kPermutation, "int64 [samples]: the order of the epoch; drawn from seed and epoch where absent",
                       true}},
           .draws = {},
           .outputs = {{"rows", "int64 [shown]"},
                       {"visits", "int64 [shown]: row R + r of copy r of R"},
                       {"batch.first", "int64 [batches]: index into rows"},
                       {"batch.count", "int64 [batches]: samples"},
                       {"batch.size", "int64 [batches]: side of the images"},
                       {"typical", "int64 []: batches that schedules count an epoch by"}},
           .run = run_sampler}};
}

}  // namespace locus::engine::components
