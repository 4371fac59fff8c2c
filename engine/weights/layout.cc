// Names by rules, then parts that make one tensor together.
#include "engine/weights/layout.h"

#include <algorithm>
#include <array>
#include <set>

#include "engine/base/failure.h"
#include "engine/weights/layouts.h"

namespace locus::engine {
namespace {

constexpr std::array<const char*, 6> kWrappers = {"",        "model.", "teacher.", "state_dict.", "model_state_dict.",
                                                  "student."};

std::vector<std::string_view> parts_of(std::string_view name) {
  std::vector<std::string_view> out;
  for (std::size_t at = 0;;) {
    const std::size_t dot = name.find('.', at);
    out.push_back(name.substr(at, dot - at));
    if (dot == std::string_view::npos) return out;
    at = dot + 1;
  }
}

bool is_number(std::string_view part) {
  return !part.empty() && part.size() < 6 && part.find_first_not_of("0123456789") == std::string_view::npos;
}

bool stands_for_number(std::string_view part) {
  return part == "{i}" || part == "{s}" || part == "{s+1}" || part == "{l}";
}

using Placeholders = std::map<std::string, std::string, std::less<>>;

// What the placeholders of a pattern stand for in a name that it fits.
std::optional<Placeholders> fitted(std::string_view pattern, std::string_view name) {
  const auto wanted = parts_of(pattern), given = parts_of(name);
  Placeholders out;
  const bool open = wanted.back() == "**";
  if (open ? given.size() < wanted.size() : given.size() != wanted.size()) return std::nullopt;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (open && i + 1 == wanted.size()) {
      out["**"] = name.substr(static_cast<std::size_t>(given[i].data() - name.data()));
      break;
    }
    if (stands_for_number(wanted[i]) ? !is_number(given[i])
        : wanted[i] == "{p}"         ? given[i] != "weight" && given[i] != "bias"
                                     : wanted[i] != given[i])
      return std::nullopt;
    if (wanted[i].starts_with('{')) out[std::string(wanted[i])] = given[i];
  }
  return out;
}

std::optional<std::int64_t> number_at(const Placeholders& known, std::string_view placeholder) {
  const auto found = known.find(placeholder);
  if (found == known.end()) return std::nullopt;
  return std::stoll(found->second);
}

// Adds the numbers of stage and block that follow from those that are known; false where there is no such place.
bool complete(Placeholders& known, const std::vector<std::int64_t>& depths) {
  auto stage = number_at(known, "{s}");
  if (const auto next = number_at(known, "{s+1}"); next && !stage) stage = *next - 1;
  if (!stage) return true;
  if (*stage < 0) return false;
  known["{s}"] = std::to_string(*stage);
  known["{s+1}"] = std::to_string(*stage + 1);
  std::int64_t before = 0;
  for (std::size_t s = 0; s < std::min(static_cast<std::size_t>(*stage), depths.size()); ++s) before += depths[s];
  const auto block = number_at(known, "{i}"), layer = number_at(known, "{l}");
  if (block) known["{l}"] = std::to_string(before + *block);
  if (layer && *layer < before) return false;
  if (layer && !block) known["{i}"] = std::to_string(*layer - before);
  return true;
}

std::string stripped(std::string name, const std::vector<std::string>& starts) {
  for (bool again = true; again;) {
    again = false;
    for (const std::string& start : starts) {
      if (!name.starts_with(start)) continue;
      name.erase(0, start.size());
      again = true;
    }
  }
  return name;
}

using Names = std::vector<std::string>;

Names names_within(const std::map<std::string, Tensor>& tensors, const WeightsLayout& layout,
                   const std::string& prefix) {
  Names out;
  for (const auto& [name, tensor] : tensors) {
    if (name.starts_with(prefix)) out.push_back(stripped(name.substr(prefix.size()), layout.strip));
  }
  return out;
}

bool any_fits(const std::string& pattern, const Names& names) {
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) { return fitted(pattern, name); });
}

// Whether the names are of that layout by its marks, of which whole files may have some under their full names.
bool marked(const WeightsLayout& layout, const Names& names, const Names& all) {
  return std::any_of(layout.marks.begin(), layout.marks.end(), [&](const auto& list) {
    return std::all_of(list.begin(), list.end(),
                       [&](const std::string& mark) { return any_fits(mark, names) || any_fits(mark, all); });
  });
}

// Every network here begins with a map of patches or a convolution.
bool holds_model(const WeightsLayout& layout, const Names& names) {
  for (const LayoutRule& rule : layout.rules) {
    if (rule.to != "embed.{p}" && rule.to != "embed.weight" && rule.to != "stem.0.conv.{p}" && rule.to != "stem.**")
      continue;
    if (any_fits(rule.from, names)) return true;
  }
  return false;
}

struct Found {
  const WeightsLayout* layout;
  std::string prefix;
};

Found find_layout(const std::map<std::string, Tensor>& tensors, const std::string& layout, const std::string& prefix) {
  const bool search = layout == "auto";
  std::vector<const WeightsLayout*> choices;
  for (const WeightsLayout& one : weights_layouts()) {
    if (search ? !one.marks.empty() : one.id() == layout) choices.push_back(&one);
  }
  if (choices.empty()) choices.push_back(&layout_registry().find(layout));  // which says what there is
  Names all;
  for (const auto& [name, tensor] : tensors) all.push_back(name);
  std::vector<std::string> prefixes(kWrappers.begin(), kWrappers.end());
  if (!prefix.empty()) prefixes = {prefix};
  for (const std::string& start : prefixes) {
    for (const WeightsLayout* one : choices) {
      const Names names = names_within(tensors, *one, start);
      if (holds_model(*one, names) && (!search || marked(*one, names, all))) return {one, start};
    }
  }
  std::string known;
  for (const WeightsLayout* one : choices) known += (known.empty() ? "" : ", ") + one->id();
  throw DataError((tensors.empty() ? "it holds no tensors" : "its tensors, " + listed(all) + ",") +
                  std::string(tensors.empty() ? "" : " have no patch embedding") +
                  (prefix.empty() ? "" : " below '" + prefix + "'") + " by the names of " + known +
                  "; name the layout, or the prefix of the names that hold the model");
}

// The parts of one tensor, as they come.
struct Parts {
  std::array<Tensor, 3> of_map;  // queries, keys, values
  Tensor whole, mask;
};

Tensor rows_of(const std::string& name, const Tensor& tensor) {
  const Tensor out = tensor.dim() < 2 ? Tensor() : tensor.reshape({-1, tensor.size(-1)});
  if (!out.defined() || (tensor.dim() > 2 && tensor.numel() != tensor.size(-1) * tensor.size(-2)))
    throw DataError("the tensor '" + name + "' of shape " + c10::str(tensor.sizes()) + " is no table of rows");
  return out;
}

std::pair<Tensor, Tensor> halves_of(const std::string& name, const Tensor& tensor) {
  if (tensor.dim() == 0 || tensor.size(0) % 2 != 0)
    throw DataError("the tensor '" + name + "' of shape " + c10::str(tensor.sizes()) + " has no two halves");
  const std::int64_t half = tensor.size(0) / 2;
  return {tensor.slice(0, 0, half), tensor.slice(0, half)};
}

Tensor map_of(const std::string& name, const Tensor& tensor) {
  if (tensor.dim() == 4 && tensor.size(2) == 1 && tensor.size(3) == 1) return tensor.flatten(1);
  throw DataError("the tensor '" + name + "' of shape " + c10::str(tensor.sizes()) + " is no 1 x 1 convolution");
}

// timm packs a gated MLP's gate and map under the name of the map alone: twice the rows that the map out reads.
void split_gates(std::map<std::string, Tensor>& tensors) {
  const std::string in = ".mlp.in.weight";
  std::vector<std::string> packed;
  for (const auto& [name, tensor] : tensors) {
    if (!name.ends_with(in) || tensor.dim() != 2) continue;
    const auto out = tensors.find(name.substr(0, name.size() - in.size()) + ".mlp.out.weight");
    if (out != tensors.end() && out->second.dim() == 2 && tensor.size(0) == 2 * out->second.size(1))
      packed.push_back(name.substr(0, name.size() - in.size()) + ".mlp.");
  }
  for (const std::string& at : packed) {
    for (const char* end : {"weight", "bias"}) {
      const auto found = tensors.find(at + "in." + end);
      if (found == tensors.end()) continue;
      const auto halves = halves_of(found->first, found->second);
      tensors[at + "gate." + end] = halves.first;
      tensors[at + "in." + end] = halves.second;
    }
  }
}

Tensor refolded(const std::string& name, const Tensor& tensor) {
  if (tensor.dim() == 0 || tensor.size(-1) % 4 != 0)
    throw DataError("the tensor '" + name + "' of shape " + c10::str(tensor.sizes()) +
                    " is of no cells of four patches");
  return tensor.unflatten(-1, {-1, 2, 2}).transpose(-3, -1).flatten(-3);
}

Tensor fused(const std::string& name, std::array<Tensor, 3> parts) {
  const bool bias = name.ends_with(".bias");
  if (!parts[1].defined() && bias && parts[0].defined()) parts[1] = at::zeros_like(parts[0]);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (!parts[i].defined())
      throw DataError("of '" + name + "' it lacks the part for the " + std::array{"queries", "keys", "values"}[i]);
    if (parts[i].dim() == 0 || parts[i].sizes() != parts[0].sizes())
      throw DataError("the maps to queries, keys and values of '" + name + "' have different shapes");
  }
  return at::cat({parts[0], parts[1], parts[2]});
}

// A mask may hold what is no number where the bias does.
Tensor masked(const std::string& name, const Tensor& value, const Tensor& mask) {
  if (value.sizes() != mask.sizes())
    throw DataError("the mask of '" + name + "' has the shape " + c10::str(mask.sizes()) + ", not " +
                    c10::str(value.sizes()));
  return at::where(mask.ne(0).logical_and(mask.eq(mask)), value, at::zeros_like(value));
}

class Mapping {
 public:
  Mapping(CanonicalWeights& out, std::vector<std::int64_t> depths) : out_(out), depths_(std::move(depths)) {}

  void add(const std::string& full, const std::string& name, const Tensor& tensor) {
    for (const LayoutRule& rule : out_.layout->rules) {
      const auto to = renamed(rule, name, depths_);
      if (!to) continue;
      if (rule.step == Step::kUnused) {
        out_.ignored.emplace_back(full, rule.to);
      } else if (rule.step == Step::kRefused) {
        throw DataError("the tensor '" + full + "' is part of " + rule.to);
      } else if (rule.step == Step::kHalves) {
        const auto halves = halves_of(full, tensor);
        put(full, *to, Step::kCopy, halves.first);
        put(full, *renamed({rule.from, rule.second}, name), Step::kCopy, halves.second);
      } else if (rule.step == Step::kQueryKey) {
        const auto halves = halves_of(full, tensor);
        put(full, *to, Step::kQuery, halves.first);
        put(full, *to, Step::kKey, halves.second);
      } else {
        put(full, *to, rule.step, tensor);
      }
      return;
    }
    unknown_.push_back(full);
  }

  void finish() {
    if (!unknown_.empty())
      throw DataError("layout " + out_.layout->id() + " knows no " + listed(unknown_) +
                      "; name another layout, or a prefix that leaves them out");
    for (auto& [name, parts] : parts_) {
      Tensor value = parts.whole;
      const bool in_parts =
          std::any_of(parts.of_map.begin(), parts.of_map.end(), [](const Tensor& t) { return t.defined(); });
      if (in_parts && value.defined()) throw DataError("it holds '" + name + "' whole and in parts");
      if (in_parts) value = fused(name, parts.of_map);
      if (!value.defined()) throw DataError("it holds a mask for '" + name + "', which it lacks");
      out_.tensors[name] = parts.mask.defined() ? masked(name, value, parts.mask) : value;
    }
    split_gates(out_.tensors);
  }

 private:
  void put(const std::string& full, const std::string& to, Step step, const Tensor& tensor) {
    Parts& parts = parts_[to];
    if (out_.layout->copies && step == Step::kCopy && parts.whole.defined()) {
      if (!at::equal(parts.whole, tensor))
        throw DataError("the copies of '" + to + "' in the file differ, '" + full + "' from those before it");
      out_.mapped.emplace_back(full, to);
      return;
    }
    Tensor& place = step == Step::kBinaryMask ? parts.mask
                    : step == Step::kQuery    ? parts.of_map[0]
                    : step == Step::kKey      ? parts.of_map[1]
                    : step == Step::kValue    ? parts.of_map[2]
                                              : parts.whole;
    if (place.defined()) throw DataError("two of its tensors would be '" + to + "', '" + full + "' the second");
    place = step == Step::kRows       ? rows_of(full, tensor)
            : step == Step::kMap      ? map_of(full, tensor)
            : step == Step::kFactors  ? tensor.flatten()
            : step == Step::kTrailing ? tensor.flatten()
            : step == Step::kUnfolded ? refolded(full, tensor)
                                      : tensor;
    if (out_.mapped.empty() || out_.mapped.back() != std::pair(full, to)) out_.mapped.emplace_back(full, to);
  }

  CanonicalWeights& out_;
  std::vector<std::int64_t> depths_;  // blocks of each stage in the file
  std::map<std::string, Parts> parts_;
  std::vector<std::string> unknown_;
};

}  // namespace

std::vector<std::int64_t> stage_depths(const std::vector<std::string>& patterns,
                                       const std::vector<std::string>& names) {
  std::vector<std::int64_t> out;
  for (const std::string& pattern : patterns) {
    for (const std::string& name : names) {
      const auto found = fitted(pattern, name);
      if (!found) continue;
      const auto stage = static_cast<std::size_t>(number_at(*found, "{s}").value_or(0));
      if (out.size() <= stage) out.resize(stage + 1, 0);
      out[stage] = std::max(out[stage], number_at(*found, "{i}").value_or(0) + 1);
    }
  }
  return out;
}

std::optional<std::string> renamed(const LayoutRule& rule, std::string_view name,
                                   const std::vector<std::int64_t>& depths) {
  auto stands_for = fitted(rule.from, name);
  if (!stands_for || !complete(*stands_for, depths)) return std::nullopt;
  std::string out;
  for (const std::string_view part : parts_of(rule.to)) {
    const auto found = stands_for->find(part);
    out += (out.empty() ? "" : ".") + (found == stands_for->end() ? std::string(part) : found->second);
  }
  return out;
}

std::string listed(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 8;
  std::string out;
  for (std::size_t i = 0; i < std::min(names.size(), kShown); ++i) out += (i == 0 ? "" : ", ") + names[i];
  return names.size() <= kShown ? out : out + " and " + std::to_string(names.size() - kShown) + " more";
}

std::string CanonicalWeights::resize() const {
  return tensors.contains("registers") ? layout->resize_with_registers : layout->resize;
}

std::int64_t CanonicalWeights::prefix_tokens() const {
  std::int64_t out = 0;
  for (const char* name : {"class_token", "registers"}) {
    const auto found = tensors.find(name);
    if (found != tensors.end() && found->second.dim() == 2) out += found->second.size(0);
  }
  return out;
}

CanonicalWeights canonical_weights(const std::map<std::string, Tensor>& tensors, const std::string& layout,
                                   const std::string& prefix) {
  const Found found = find_layout(tensors, layout, prefix);
  CanonicalWeights out;
  out.layout = found.layout;
  out.prefix = found.prefix;
  std::vector<std::string> of_blocks;
  for (const LayoutRule& rule : found.layout->rules) {
    if (rule.from.find("{s}") != std::string::npos && rule.from.find("{i}") != std::string::npos)
      of_blocks.push_back(rule.from);
  }
  Mapping mapping(out, stage_depths(of_blocks, names_within(tensors, *found.layout, found.prefix)));
  for (const auto& [name, tensor] : tensors) {
    if (name.starts_with(found.prefix)) {
      mapping.add(name, stripped(name.substr(found.prefix.size()), found.layout->strip), tensor);
    } else {
      out.ignored.emplace_back(name, "it lies outside '" + found.prefix + "'");
    }
  }
  mapping.finish();
  for (const auto& [name, why] : out.ignored) {
    if (out.layout->verify != nullptr && name.starts_with(out.prefix)) out.layout->verify(name, tensors.at(name));
  }
  return out;
}

Registry<WeightsLayout>& layout_registry() {
  static Registry<WeightsLayout> entries("layout", {
#define LOCUS_LAYOUT(name) layouts::name(),
#include "engine/weights/layouts.def"
#undef LOCUS_LAYOUT
                                                   });
  return entries;
}

}  // namespace locus::engine
