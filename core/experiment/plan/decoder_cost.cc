// Words of maps for the formulas of decoders.
#include "core/experiment/plan/decoder_cost.h"

#include <algorithm>

namespace locus {
namespace {

constexpr char kMaps[] = "maps";  // the fact: how many it reads of a backbone of one stage

}  // namespace

DecoderCost::DecoderCost(const ResolvedSection& decoder, double outputs, std::size_t stages,
                         const Formulas::Lookup& backbone, const ModelImages& images)
    : decoder_(decoder), hierarchical_(stages > 1 && decoder.item->facts.contains(kMaps)), outputs_(outputs) {
  if (images.extent.size() == 2) height_ = images.extent[0].get<double>(), width_ = images.extent[1].get<double>();
  const auto level = [&](std::size_t stage) {
    return Level{backbone("dim", stage).value_or(0), backbone("patches", stage).value_or(0),
                 hierarchical_ ? 0 : backbone("rows", stage).value_or(0),
                 hierarchical_ ? 0 : backbone("columns", stage).value_or(0)};
  };
  if (hierarchical_) {
    for (std::size_t s = 0; s < stages; ++s) levels_.push_back(level(s));
    return;
  }
  const Json taps = decoder.resolved.value("taps", Json::array());
  const std::size_t maps = taps.empty() ? decoder.item->facts.value(kMaps, std::size_t{1}) : taps.size();
  levels_.assign(maps, level(stages - 1));
}

std::optional<double> DecoderCost::formula(const std::string& name) const {
  return Formulas(*decoder_.item, decoder_.resolved, 1, [this](const std::string& one, Stage) { return word(one); })
      .formula(name);
}

// "width_2", "cells_last".
std::optional<double> DecoderCost::of_level(const std::string& name) const {
  const auto cut = name.rfind('_');
  if (cut == std::string::npos || cut + 1 == name.size()) return std::nullopt;
  const std::string what = name.substr(0, cut), which = name.substr(cut + 1);
  const bool digits = std::all_of(which.begin(), which.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (which != "last" && (!digits || which.size() > 3)) return std::nullopt;
  const std::size_t place = which == "last" ? levels_.size() - 1 : std::stoul(which);
  if (place >= levels_.size()) return std::nullopt;
  const Level& level = levels_[place];
  if (what == "width") return level.width;
  if (what == "cells") return level.cells;
  if (what == "rows") return level.rows;
  return what == "columns" ? std::optional(level.columns) : std::nullopt;
}

std::optional<double> DecoderCost::word(const std::string& name) const {
  const auto sum = [&](auto of) {
    double out = 0;
    for (const Level& level : levels_) out += of(level);
    return out;
  };
  if (name == "outputs") return outputs_;
  if (name == "levels") return static_cast<double>(levels_.size());
  if (name == "hierarchical") return hierarchical_ ? 1 : 0;
  if (name == "width_sum") return sum([](const Level& l) { return l.width; });
  if (name == "cells_sum") return sum([](const Level& l) { return l.cells; });
  if (name == "width_cells") return sum([](const Level& l) { return l.width * l.cells; });
  if (name == "level_norms") return hierarchical_ ? sum([](const Level& l) { return 2 * l.width; }) : 0;
  if (name == "image_height") return height_;
  if (name == "image_width") return width_;
  if (name == "tapped_width") {
    const auto place = decoder_.resolved.value("auxiliary_level", std::size_t{0});
    return place < levels_.size() ? std::optional(levels_[place].width) : std::nullopt;
  }
  return of_level(name);
}

}  // namespace locus
