// Layouts of weights files: how published code names the tensors of Vision Transformers, as tables.
//
// A table leads to canonical names, which are those of our modules without "backbone.": "embed.weight", "class_token",
// "registers", "mask_token", "blocks.0.attention.qkv.weight", "norm.bias", "head.weight", "priors.gpsa.layers.0.gate"; of
// stages "stages.0.blocks.0.norm1.weight" and so on. Learned positions are "position" [rows, D]. Where only queries and
// values have a bias, that is "blocks.0.attention.q_bias" and "v_bias".
#pragma once

#include "engine/base/item.h"
#include "engine/base/registry.h"
#include "engine/base/torch.h"

namespace locus::engine {

// What is done to a tensor on its way.
enum class Step {
  kCopy,
  kRows,        // [1, ..., n, D] or [n, D] becomes [n, D]
  kQuery,       // the first third of the rows of a fused map
  kKey,         // the second; a fused bias without it has zeros there
  kValue,       // the third
  kQueryKey,    // the first and the second
  kHalves,      // the first half of the rows is `to`, the other `second`
  kMap,         // a 1 x 1 convolution [out, in, 1, 1] becomes a map [out, in]
  kBinaryMask,  // where it is 0, the tensor it goes to is 0
  kFactors,     // [n, 1, 1] becomes [n]
  kTrailing,    // [1, 1, 1, n] becomes [n]
  kUnfolded,    // the last axis, counted by channel, row, column of a 2 x 2 cell, is counted by column, row, channel
  kUnused,      // of no use to the model; `to` says why
  kRefused,     // part of another kind of network; `to` says which
};

// Names are compared part by part: "{i}" stands for a number, "{p}" for "weight" or "bias", and "**" at the end for one
// part or more; in `to` they stand for what they stood for in `from`. In a network of stages "{s}" is the number of the
// stage and "{i}" that of the block in it; then "{s+1}" is the next stage, and "{l}" the block counted over the network,
// both on either side.
struct LayoutRule {
  std::string from, to;
  Step step = Step::kCopy;
  std::string second = {};  // of kHalves
  bool read_only = false;   // known in files, and not written
  std::string beside = {};  // written where the model has this tensor, too; placeholders stand for what they do in `to`
};

struct WeightsLayout {
  Item item;                                    // kind "layout"
  std::vector<std::vector<std::string>> marks;  // a file of it has all names of one of these lists; none: by name alone
  std::vector<std::string> strip;               // beginnings of names that mean nothing
  std::vector<LayoutRule> rules;                // the first that fits counts
  std::string resize, resize_with_registers;    // whose manner position tables are resized in (position_table.h)
  bool square = true;                           // position tables are of square grids unless somebody says otherwise
  bool writes = true;                           // models of ours can be written by its rules (export.h)
  bool copies = false;                          // a tensor may be there several times: all must be equal
  // Throws DataError where what a rule ignores, under that name in the file, is not what the model computes by itself.
  void (*verify)(const std::string& name, const Tensor& tensor) = nullptr;
  std::string id() const { return item.json().at("id"); }
};
Registry<WeightsLayout>& layout_registry();  // first, every line of layouts.def
inline const std::deque<WeightsLayout>& weights_layouts() { return layout_registry().all(); }

// The tensors of a file under canonical names.
struct CanonicalWeights {
  const WeightsLayout* layout = nullptr;
  std::string prefix;                                        // of the names in the file that hold the model
  std::map<std::string, Tensor> tensors;                     // as the file has them: any floating type
  std::vector<std::pair<std::string, std::string>> mapped;   // name in the file -> canonical name
  std::vector<std::pair<std::string, std::string>> ignored;  // name in the file -> why
  std::string resize() const;                                // the layout's manner for this file
  std::int64_t prefix_tokens() const;                        // class token and registers
};

// Every tensor of a file accounted for. `layout` is an id or "auto", the first whose marks the file has. `prefix` is the
// beginning of the names that hold the model ("teacher."); empty: none, or else the first of model, teacher, state_dict
// and student that holds one. Tensors outside it are ignored. Throws DataError, without a file's name, that lists names
// nobody knows, names of another kind of network, names twice, and parts that do not fit together.
CanonicalWeights canonical_weights(const std::map<std::string, Tensor>& tensors, const std::string& layout,
                                   const std::string& prefix);

// How many blocks each stage has by names that fit one of the patterns, which have "{s}" and "{i}": from those of the
// first stage on; empty where none fits.
std::vector<std::int64_t> stage_depths(const std::vector<std::string>& patterns, const std::vector<std::string>& names);

// What `name` becomes under the rule, where it fits, in a network whose stages have that many blocks.
std::optional<std::string> renamed(const LayoutRule& rule, std::string_view name,
                                   const std::vector<std::int64_t>& depths = {});

// At most eight of the names, and how many more there are: "a, b and 3 more".
std::string listed(const std::vector<std::string>& names);

}  // namespace locus::engine
