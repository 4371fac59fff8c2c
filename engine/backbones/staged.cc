// Networks of several stages.
#include "engine/backbones/staged.h"

#include <cmath>
#include <numeric>

#include "engine/backbones/items.h"

namespace locus::engine {

void StageSizes::check(const std::string& backbone) const {
  const std::pair<const char*, const std::vector<std::int64_t>*> lists[] = {
      {"depths", &depths}, {"heads", &heads}, {"hidden", &hidden}};
  for (const auto& [name, list] : lists) {
    if (list->size() == dims.size()) continue;
    throw std::invalid_argument("backbone " + backbone + ": " + name + " has " + std::to_string(list->size()) +
                                " entries and dims " + std::to_string(dims.size()) + ": one for each stage");
  }
  for (std::size_t s = 0; s < dims.size(); ++s) {
    if (heads[s] > 0 && dims[s] % heads[s] == 0 && depths[s] > 0) continue;
    throw std::invalid_argument("backbone " + backbone + ": stage " + std::to_string(s) + " has " +
                                std::to_string(depths[s]) + " blocks and " + std::to_string(heads[s]) +
                                " heads, which must divide its width of " + std::to_string(dims[s]));
  }
}

Item& backbones::refuse_uneven_stages(Item& item, const std::vector<std::string>& lists) {
  for (const std::string& list : lists)
    item.refuse(list + " - stages", list + " has {" + list + "} entries and dims {stages}: one for each stage", list);
  return item.refuse("zero(depth) + zero(heads) + 1 - zero(dim - heads * floor(dim / max(heads, 1)))",
                     "stage {stage} has {depth} blocks and {heads} heads, which must divide its width of {dim}",
                     "heads",
                     /*each_stage=*/true);
}

std::vector<StageInfo> StageSizes::describe(const std::vector<Layout>& grids) const {
  std::vector<StageInfo> out;
  const std::int64_t layers = std::accumulate(depths.begin(), depths.end(), std::int64_t{0});
  std::int64_t layer = 0;
  for (std::size_t s = 0; s < dims.size(); ++s) {
    StageInfo stage{.index = static_cast<std::int64_t>(s),
                    .stages = static_cast<std::int64_t>(dims.size()),
                    .width = dims[s],
                    .grid = grids.at(s),
                    .layers = {}};
    for (std::int64_t i = 0; i < depths[s]; ++i, ++layer) {
      stage.layers.push_back({.layer = layer,
                              .layers = layers,
                              .stage = stage.index,
                              .width = dims[s],
                              .heads = heads[s],
                              .hidden = hidden[s],
                              .scale = 1 / std::sqrt(static_cast<double>(dims[s] / heads[s])),
                              .reference = grids[s]});
    }
    out.push_back(std::move(stage));
  }
  return out;
}

void StagedBackbone::build_stages(const BackboneContext& context, std::vector<StageInfo> infos, const MakeEntry& entry,
                                  const MakeBlock& block) {
  build_priors(context, std::move(infos));
  const auto container = register_module("stages", std::make_shared<Module>());
  for (const StageInfo& stage : stages()) {
    const std::string number = std::to_string(stage.index), name = "stages." + number;
    const auto module = container->register_module(number, std::make_shared<Module>());
    if (stage.index > 0) {
      const StageInfo& former = stages()[static_cast<std::size_t>(stage.index - 1)];
      entries_.push_back(module->register_module("entry", entry(former, stage, name + ".entry")));
    }
    const auto blocks = module->register_module("blocks", std::make_shared<Module>());
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(stage.layers.size()); ++i)
      add_block(*blocks, name + ".blocks", i, block(stage, i), context.linear);
  }
}

Features StagedBackbone::forward(const Inputs& inputs, const ForwardContext& context) {
  refuse_hidden(inputs);
  const std::vector<Layout> layouts = this->layouts(inputs.image.size(2), inputs.image.size(3));
  begin_forward(layouts, context);
  Tensor x = stem(inputs.image, context);
  for (const Site site : {Site::kBeforePrefix, Site::kAfterPrefix}) x = embedded(site, x, layouts[0], context);
  Features features;
  for (const StageInfo& stage : stages()) {
    const auto s = static_cast<std::size_t>(stage.index);
    if (s > 0) x = entries_[s - 1]->forward(x, layouts[s - 1], context);
    for (const LayerInfo& info : stage.layers) x = run_block(info.layer, x, layouts[s], inputs, context, features);
    features.stages.push_back({x, layouts[s]});
  }
  finish(features, final_norm(x));
  return features;
}

std::int64_t StagedBackbone::flops(std::int64_t height, std::int64_t width) const {
  const std::vector<Layout> layouts = this->layouts(height, width);
  std::int64_t sum = stem_flops(height, width) + pool_flops(layouts.back());
  for (std::size_t s = 0; s < entries_.size(); ++s) sum += entries_[s]->flops(layouts[s]);
  for (const auto& block : blocks()) sum += block->flops(layouts[static_cast<std::size_t>(block->info().stage)]);
  return sum;
}

}  // namespace locus::engine
