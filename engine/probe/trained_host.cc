// Loads weights and says whose they are.
#include "engine/probe/trained_host.h"

#include <algorithm>
#include <cmath>

#include "engine/base/failure.h"
#include "engine/files/safetensors.h"
#include "engine/inputs/input.h"
#include "engine/stage/stage.h"
#include "engine/train/checkpoint.h"

namespace locus::engine {
namespace {

constexpr std::int64_t kNumbersMost = 400'000;  // of a document: some 3 MB

Json facts_of(const Json& configuration) { return input_facts(configuration); }

// Exported models and training checkpoints differ in what lies beside the weights.
bool is_exported(const TensorFile& file) {
  const auto found = file.metadata.find("locus");
  if (found == file.metadata.end()) throw DataError("the file is no checkpoint of Locus: its metadata lacks 'locus'");
  const Json document = Json::parse(found->second, nullptr, /*allow_exceptions=*/false);
  return document.is_object() && document.value("kind", "") == "model";
}

}  // namespace

TrainedHost::TrainedHost(const Json& configuration, const std::filesystem::path& weights, std::int64_t stage)
    : host_(configuration, facts_of(configuration)),
      stage_(stage),
      random_(configuration.at("seed").get<std::uint64_t>()) {
  const Layout seen = shown().layout;
  if (seen.extent.size() != 2 || seen.patches() > kPicturePatches) {
    throw std::invalid_argument("pictures are of grids of at most " + std::to_string(kPicturePatches) +
                                " patches, not of " + std::to_string(seen.patches()) +
                                (host_.backbone().stages().size() > 1 ? "; choose another stage of the network" : ""));
  }
  host_.task().eval();
  if (weights.empty()) return;
  with_file_context(weights, [&] {
    TensorFile file = read_safetensors(weights);
    const bool exported = is_exported(file);
    const TrainingState state = read_checkpoint_metadata(file, exported);
    if (state.identity != configuration_identity(configuration)) {
      throw DataError("the weights belong to stage " + state.identity + ", not to " +
                      configuration_identity(configuration));
    }
    load_model(host_.task(), exported, file.tensors);
    step_ = state.step;
  });
  trained_ = true;
}

Json TrainedHost::heading(const char* kind, const Json& configuration) const {
  Json priors = Json::array();
  std::int64_t all = 0;
  for (const Tensor& parameter : host_.task().parameters()) all += parameter.numel();
  const Shown shown = this->shown();
  for (const auto& named : host_.backbone().priors(shown.stage.index)) {
    std::int64_t added = 0, kept = 0;
    for (const auto& parameter : named.prior->named_parameters()) {
      added += parameter.value().numel();
      if (!named.prior->training_only(parameter.key())) kept += parameter.value().numel();
    }
    priors.push_back({{"prior", named.id},
                      {"revision", named.item->item.json().at("revision")},
                      {"options", named.options},
                      {"parameters_added", added},
                      {"parameters_kept", kept}});
  }
  Json blocks = Json::array();
  for (const StageInfo& stage : host_.backbone().stages()) blocks.push_back(stage.layers.size());
  Json out = {{"version", 1},
              {"kind", kind},
              {"model",
               {{"id", configuration.at("model").at("id")},
                {"layers", host_.backbone_layers()},
                {"stages", blocks},
                {"heads", shown.heads()},
                {"head_width", shown.width() / shown.heads()},
                {"prefix", shown.layout.prefix},
                {"parameters", all}}},
              {"priors", priors},
              {"grid", shown.layout.extent},
              {"seed", configuration.at("seed")},
              {"step", step_},
              {"states", trained_ ? Json{"initial", "trained"} : Json{"initial"}}};
  out.update(shown.described());
  return out;
}

std::vector<std::int64_t> layers_of(const Shown& shown, const std::vector<std::int64_t>& wanted) {
  std::vector<std::int64_t> all;
  for (const LayerInfo& info : shown.stage.layers) all.push_back(info.layer);
  for (const std::int64_t layer : wanted) {
    if (layer >= all.front() && layer <= all.back()) continue;
    const std::string who = shown.plain ? "the model" : "stage " + std::to_string(shown.stage.index) + " of the model";
    throw std::invalid_argument(who + " has no layer " + std::to_string(layer) + "; it has " +
                                std::to_string(all.front()) + " to " + std::to_string(all.back()));
  }
  return wanted.empty() ? all : wanted;
}

std::vector<std::int64_t> queries_of(const Shown& shown, const std::vector<std::int64_t>& wanted, std::int64_t maps) {
  const std::int64_t patches = shown.layout.patches();
  const std::int64_t fit = kNumbersMost / std::max<std::int64_t>(1, maps * patches);
  for (const std::int64_t query : wanted) {
    if (query >= 0 && query < patches) continue;
    throw std::invalid_argument("the grid has no patch " + std::to_string(query) + "; it has 0 to " +
                                std::to_string(patches - 1));
  }
  const auto count = static_cast<std::int64_t>(wanted.size());
  if (fit < std::max<std::int64_t>(1, count)) {
    throw std::invalid_argument("that makes more than " + std::to_string(kNumbersMost) +
                                " numbers; ask for fewer layers, images or queries");
  }
  if (count > 0) return wanted;
  const std::int64_t rows = shown.layout.extent[0], columns = shown.layout.extent[1];
  const auto side = static_cast<std::int64_t>(std::floor(std::sqrt(static_cast<double>(fit))));
  const std::int64_t down = fit >= patches ? rows : std::min(side, rows),
                     across = fit >= patches ? columns : std::min(side, columns);
  std::vector<std::int64_t> out;
  for (std::int64_t y = 0; y < down; ++y) {
    for (std::int64_t x = 0; x < across; ++x)
      out.push_back((2 * y + 1) * rows / (2 * down) * columns + (2 * x + 1) * columns / (2 * across));
  }
  return out;
}

ChosenImages choose_images(const Json& configuration, const DataPlace& place, const std::string& split,
                           const std::vector<std::int64_t>& indexes) {
  constexpr std::int64_t kSide = 64;  // of the pixels shown, at most
  const Json& dataset = configuration.at("dataset");
  const auto opened =
      open_dataset(dataset.at("id").get<std::string>(), dataset.value("options", Json::object()), place);
  const std::shared_ptr<const Source> all = opened->split(split);
  const std::shared_ptr<const Input> input = make_input(configuration, opened->normalization());
  const Transforms preparation = input->preparation(input->extent());
  const RandomStreams no_draws(0);
  const Json names = facts_of(configuration).value("class_names", Json::array());
  ChosenImages out;
  std::vector<Tensor> images;
  for (const std::int64_t index : indexes) {
    if (index < 0 || index >= all->size()) {
      throw std::invalid_argument("split " + split + " has no image " + std::to_string(index) + "; it has 0 to " +
                                  std::to_string(all->size() - 1));
    }
    Sample sample = all->read(index);
    for (const auto& step : preparation) sample = step->apply(std::move(sample), StreamDraws(no_draws, 0, index));
    images.push_back(normalized(sample.at(kImage), input->normalization(), at::kCPU).unsqueeze(0));
    Tensor pixels = sample.at(kImage).to(at::kFloat);
    const std::int64_t rows = pixels.size(1), columns = pixels.size(2), longer = std::max(rows, columns);
    if (longer > kSide) {
      const auto shown = [&](std::int64_t side) { return std::max<std::int64_t>(1, side * kSide / longer); };
      pixels = at::adaptive_avg_pool2d(pixels.unsqueeze(0), {shown(rows), shown(columns)})[0];
    }
    pixels = pixels.round().to(at::kLong).permute({1, 2, 0}).contiguous();  // rows, columns, channels
    const auto label = sample.at(kLabel).item<std::int64_t>();
    Json one = {{"image", index},
                {"split", split},
                {"label", label},
                {"pixels",
                 {{"extent", {pixels.size(0), pixels.size(1)}},
                  {"channels", pixels.size(2)},
                  {"values", std::vector<std::int64_t>(pixels.const_data_ptr<std::int64_t>(),
                                                       pixels.const_data_ptr<std::int64_t>() + pixels.numel())}}}};
    if (static_cast<std::size_t>(label) < names.size()) one["class"] = names[static_cast<std::size_t>(label)];
    out.described.push_back(std::move(one));
  }
  if (!images.empty()) out.images = at::cat(images);
  return out;
}

}  // namespace locus::engine
