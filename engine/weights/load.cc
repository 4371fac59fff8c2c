// The file's canonical names held against the model's own.
#include "engine/weights/load.h"

#include <algorithm>
#include <set>

#include "engine/base/failure.h"

namespace locus::engine {
namespace {

constexpr std::string_view kBackbone = "backbone.", kTable = "priors.learned-absolute.table", kPosition = "position",
                           kPriors = "priors.", kMaskToken = "mask_token", kSecondHead = "head_distilled.";
// Parts of a task behind its backbone: of classification, and of tasks of maps.
constexpr std::string_view kHeads[] = {"head.", kSecondHead, "decoder.", "maps."};
constexpr std::string_view kAuxiliaryHead = "decoder.auxiliary_head.";  // for training alone: no exported model has it

// Canonical name -> tensor of the model; own names by canonical ones.
struct Own {
  std::map<std::string, Tensor> tensors;
  std::map<std::string, std::string> names;
};

Own own_tensors(const Module& model) {
  Own out;
  for (const Module::Tensors& part : {model.named_parameters(), model.named_buffers()}) {
    for (const auto& entry : part) {
      std::string name = entry.key();
      if (name.starts_with(kBackbone)) name.erase(0, kBackbone.size());
      if (name == kTable) name = kPosition;
      out.tensors.emplace(name, entry.value());
      out.names.emplace(name, entry.key());
    }
  }
  return out;
}

// Whether a model without it in the file could not be what was trained: priors and what adapters have beside weights and
// biases may be new.
bool needed(const std::string& name) {
  if (name.starts_with(kAuxiliaryHead)) return false;
  const bool statistics = name.ends_with(".running_mean") || name.ends_with(".running_var");
  if (statistics && !name.starts_with("priors.")) return true;
  if (name == "label.table") return true;
  if (name.starts_with("priors.") || name == kPosition) return false;
  return name.ends_with(".weight") || name.ends_with(".bias") || name.ends_with("_bias") || name == "class_token" ||
         name == "registers" || name.ends_with(".scale1") || name.ends_with(".scale2");
}

bool is_head(const std::string& name) {
  return std::any_of(std::begin(kHeads), std::end(kHeads),
                     [&](std::string_view start) { return name.starts_with(start); });
}

// What a file may have and a model need not: the token of hidden patches, and a second head.
void leave_spare(CanonicalWeights& weights, const std::map<std::string, Tensor>& model) {
  std::erase_if(weights.tensors, [&](const auto& entry) {
    const std::string& name = entry.first;
    const bool token = name == kMaskToken;
    if ((!token && !name.starts_with(kSecondHead)) || model.contains(name)) return false;
    weights.ignored.emplace_back(name, token ? "stands for hidden patches, which the model has not (mask_token)"
                                             : "the task has one head (distilled_head)");
    return true;
  });
}

// Blocks of each stage of a network that has stages.
std::vector<std::int64_t> depths_of(const std::map<std::string, Tensor>& tensors) {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : tensors) names.push_back(name);
  return stage_depths({"stages.{s}.blocks.{i}.**"}, names);
}

bool any_below(const std::map<std::string, Tensor>& tensors, const std::string& start) {
  const auto first = tensors.lower_bound(start);
  return first != tensors.end() && first->first.starts_with(start);
}

std::int64_t blocks_in(const std::map<std::string, Tensor>& tensors) {
  std::set<std::string> out;
  for (const auto& [name, tensor] : tensors) {
    if (name.starts_with("blocks.")) out.insert(name.substr(7, name.find('.', 7) - 7));
  }
  return static_cast<std::int64_t>(out.size());
}

// What the specification must say for the model to be the file's.
class Advice {
 public:
  Advice(const std::map<std::string, Tensor>& file, const std::map<std::string, Tensor>& model)
      : file_(file), model_(model) {
    class_token();
    registers();
    width();
    if (has(file_, "position") && !has(model_, "position"))
      add("prior: learned-absolute (rows: with-class where the class token has one), or init: {weights: {position: "
          "drop}}");
    if (blocks_in(file_) != blocks_in(model_)) add("model: {depth: " + std::to_string(blocks_in(file_)) + "}");
    stages();
    biases();
    differs("blocks.0.scale1", "model: {layer_scale: 1.0e-5}", "model without layer_scale");
    differs("blocks.0.mlp.gate.weight", "model: {mlp: swiglu}", "model: {mlp: gelu}");
    differs("norm_pre.weight", "model: {pre_norm: true}", "model: {pre_norm: false}");
    differs("fc_norm.weight", "model: {final_norm: pooled}", "model: {final_norm: tokens}");
    differs("cls_norm.weight", "model: {final_norm: untied}", "model: {final_norm: tokens}");
    priors();
    if (!head_within(model_, file_) || !head_within(file_, model_)) add("init: {weights: {head: new}}");
  }
  std::string text() const { return text_.empty() ? "" : "; say " + text_; }

 private:
  static bool has(const std::map<std::string, Tensor>& where, const std::string& name) { return where.contains(name); }
  // Whether what `of` must have of a head is in `in`, of the same shapes.
  static bool head_within(const std::map<std::string, Tensor>& of, const std::map<std::string, Tensor>& in) {
    return std::all_of(of.begin(), of.end(), [&](const auto& entry) {
      if (!is_head(entry.first) || !needed(entry.first)) return true;
      const auto other = in.find(entry.first);
      return other != in.end() && other->second.sizes() == entry.second.sizes();
    });
  }
  void add(const std::string& what) { text_ += (text_.empty() ? "" : "; ") + what; }
  void differs(const std::string& name, const std::string& in_file, const std::string& in_model) {
    if (has(file_, name) != has(model_, name)) add(has(file_, name) ? in_file : in_model);
  }
  // Those of the file that the model has nothing of.
  void priors() {
    std::set<std::string> of_file;
    for (const auto& [name, tensor] : file_) {
      if (name.starts_with(kPriors)) of_file.insert(name.substr(0, name.find('.', kPriors.size()) + 1));
    }
    for (const std::string& start : of_file) {
      const auto found = model_.lower_bound(start);
      if (found == model_.end() || !found->first.starts_with(start))
        add("prior: " + start.substr(kPriors.size(), start.size() - kPriors.size() - 1));
    }
  }
  void class_token() {
    differs("class_token", "model: {pool: cls}, or {class_token: always} beside another pool", "model: {pool: mean}");
  }
  void biases() {
    const auto name = [](const std::map<std::string, Tensor>& where) {
      if (has(where, "blocks.0.attention.q_bias")) return "model: {key_bias: none}";
      return has(where, "blocks.0.attention.qkv.bias") ? "model: {qkv_bias: true}" : "model: {qkv_bias: false}";
    };
    if (std::string_view(name(file_)) != name(model_)) add(name(file_));
  }
  void registers() {
    const auto count = [](const std::map<std::string, Tensor>& where) {
      return has(where, "registers") ? where.at("registers").size(0) : 0;
    };
    if (count(file_) != count(model_)) add("model: {registers: " + std::to_string(count(file_)) + "}");
  }
  void stages() {
    const std::vector<std::int64_t> in_file = depths_of(file_), in_model = depths_of(model_);
    if (in_file.empty() || in_model.empty()) return;
    if (in_file != in_model) add("model: {depths: " + Json(in_file).dump() + "}");
    differs("stages.0.blocks.0.attention.v_bias", "model: {version: 2}", "model: {version: 1}");
    std::set<std::string> priors;
    for (const auto& [name, tensor] : file_) {
      if (name.starts_with("priors.")) priors.insert(name.substr(7, name.find('.', 7) - 7));
    }
    for (const std::string& prior : priors) {
      if (!any_below(model_, "priors." + prior + "."))
        add("prior: " + prior + ", or init: {weights: {position: drop}}");
    }
  }
  void width() {
    if (any_below(file_, "stages.")) return widths();
    if (!has(file_, "norm.weight") || !has(model_, "norm.weight")) return;
    const std::int64_t width = file_.at("norm.weight").numel();
    if (width != model_.at("norm.weight").numel()) add("model: {dim: " + std::to_string(width) + "}");
  }

  void widths() {
    std::vector<std::int64_t> in_file, in_model;
    for (std::size_t s = 0; s < depths_of(file_).size(); ++s) {
      const std::string name = "stages." + std::to_string(s) + ".blocks.0.norm1.weight";
      if (has(file_, name)) in_file.push_back(file_.at(name).numel());
      if (has(model_, name)) in_model.push_back(model_.at(name).numel());
    }
    if (in_file != in_model) add("model: {dims: " + Json(in_file).dump() + "}");
  }

  const std::map<std::string, Tensor>&file_, &model_;
  std::string text_;
};

std::vector<std::string> keys_without(const std::map<std::string, Tensor>& of,
                                      const std::map<std::string, Tensor>& in) {
  std::vector<std::string> out;
  for (const auto& [name, tensor] : of) {
    if (!in.contains(name)) out.push_back(name);
  }
  return out;
}

// The biases of queries, keys and values as the model has them: those of queries and values alone are the same as all
// three with 0 for the keys.
void fit_biases(std::map<std::string, Tensor>& file, const std::map<std::string, Tensor>& model) {
  constexpr std::string_view kEnd = ".attention.qkv.weight";
  std::vector<std::string> places;
  for (const auto& [name, tensor] : model) {
    if (name.ends_with(kEnd)) places.push_back(name.substr(0, name.size() - kEnd.size()) + ".attention.");
  }
  for (const std::string& at : places) {
    const std::string whole = at + "qkv.bias", query = at + "q_bias", value = at + "v_bias";
    const auto fused = file.find(whole), q = file.find(query), v = file.find(value);
    if (model.contains(whole) && q != file.end() && v != file.end() && q->second.sizes() == v->second.sizes()) {
      file[whole] = at::cat({q->second, at::zeros_like(q->second), v->second});
      file.erase(query);
      file.erase(value);
    } else if (model.contains(query) && fused != file.end() && fused->second.dim() == 1) {
      const auto parts = fused->second.chunk(3);
      if (parts.size() != 3 || parts[1].ne(0).any().item<bool>()) continue;  // told by whoever compares names
      file[query] = parts[0];
      file[value] = parts[2];
      file.erase(whole);
    }
  }
}

// Throws with everything that is wrong at once.
void check_names(const std::map<std::string, Tensor>& file, const std::map<std::string, Tensor>& model,
                 const std::string& advice) {
  std::vector<std::string> missing = keys_without(model, file), shapes;
  const std::vector<std::string> extra = keys_without(file, model);
  std::erase_if(missing, [](const std::string& name) { return !needed(name); });
  for (const auto& [name, tensor] : file) {
    const auto own = model.find(name);
    if (own == model.end() || own->second.sizes() == tensor.sizes()) continue;
    shapes.push_back(name + " " + c10::str(tensor.sizes()) + " where the model has " + c10::str(own->second.sizes()));
  }
  std::string out;
  if (!missing.empty()) out += "it lacks " + listed(missing);
  if (!extra.empty()) out += (out.empty() ? "the model lacks " : "; the model lacks ") + listed(extra);
  if (!shapes.empty()) out += (out.empty() ? "it has " : "; it has ") + listed(shapes);
  if (!out.empty()) throw DataError("these weights are of another model: " + out + advice);
}

void check_numbers(const CanonicalWeights& weights) {
  for (const auto& [name, tensor] : weights.tensors) {
    if (!tensor.is_floating_point())
      throw DataError("the tensor for '" + name + "' holds " + std::string(at::toString(tensor.scalar_type())) +
                      ", not floating-point numbers");
    if (at::isfinite(tensor).all().item<bool>()) continue;
    throw DataError("the tensor for '" + name +
                    "' holds values that are no finite numbers: the file is damaged, or what made it had diverged");
  }
}

}  // namespace

LoadReport plan_load(const Module& model, const LoadInput& input, const std::map<std::string, Tensor>& tensors,
                     const LoadOptions& options) {
  const at::NoGradGuard no_gradient;
  Own own = own_tensors(model);
  LoadReport out{.weights = canonical_weights(tensors, options.layout, options.prefix), .initial = {}, .notes = {}};
  auto& file = out.weights.tensors;
  if (!options.keep_head) {
    std::erase_if(own.tensors, [](const auto& entry) { return is_head(entry.first); });
    for (const auto& [name, canonical] : out.weights.mapped) {
      if (is_head(canonical)) out.weights.ignored.emplace_back(name, "init.head is new");
    }
    std::erase_if(file, [](const auto& entry) { return is_head(entry.first); });
  }
  if (options.fit.position == "drop") {
    for (const std::string& name : keys_without(file, own.tensors)) {
      if (!name.starts_with("priors.")) continue;
      out.weights.ignored.emplace_back(name, "init.position is drop");
      file.erase(name);
    }
  }
  const auto of_model = [&](const char* name) {
    const auto found = own.tensors.find(name);
    return found == own.tensors.end() ? Tensor() : found->second;
  };
  const FitTarget target{input.channels, input.extent, of_model("embed.weight"), of_model("position")};
  fit_biases(file, own.tensors);
  leave_spare(out.weights, own.tensors);
  const std::string advice = Advice(file, own.tensors).text();
  fit_patches(out.weights, target, options.fit, out.notes);
  fit_positions(out.weights, target, options.fit, out.notes);
  fit_windows(out.weights, own.tensors, options.fit, out.notes);
  check_names(file, own.tensors, advice);
  check_numbers(out.weights);
  for (const auto& [name, full] : own.names) {
    if (!file.contains(name)) out.initial.push_back(full);
  }
  return out;
}

LoadReport load_weights(Module& model, const LoadInput& input, const std::map<std::string, Tensor>& tensors,
                        const LoadOptions& options) {
  LoadReport out = plan_load(model, input, tensors, options);
  const at::NoGradGuard no_gradient;
  const Own own = own_tensors(model);
  for (const auto& [name, tensor] : out.weights.tensors) {
    Tensor target = own.tensors.at(name);
    target.copy_(tensor);
  }
  return out;
}

std::vector<std::string> LoadReport::lines() const {
  std::vector<std::string> out = {"weights of layout " + weights.layout->id() + ": " +
                                  std::to_string(weights.mapped.size()) + " tensors of the file are " +
                                  std::to_string(weights.tensors.size()) + " of the model"};
  for (const std::string& note : notes) out.push_back(note);
  std::map<std::string, std::vector<std::string>> by_reason;
  for (const auto& [name, why] : weights.ignored) by_reason[why].push_back(name);
  for (const auto& [why, names] : by_reason) out.push_back("ignored, " + why + ": " + listed(names));
  if (!initial.empty()) out.push_back("as initialized: " + listed(initial));
  return out;
}

}  // namespace locus::engine
