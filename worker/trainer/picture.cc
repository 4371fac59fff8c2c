// Arguments and files of pictures.
#include "engine/probe/picture.h"

#include <filesystem>
#include <fstream>
#include <iostream>

#include "engine/train/safetensors.h"
#include "worker/trainer/arguments.h"
#include "worker/trainer/picture.h"

namespace locus {
namespace {

void write_file(const std::string& path, const std::string& bytes) {
  std::ofstream out(path, std::ios::binary);
  out << bytes;
  if (!out.flush()) throw std::runtime_error("cannot write " + path);
}

// Takes the prior's parameters and buffers from a checkpoint's "model.backbone.priors.<id>.<name>".
void load_prior(const Host& host, const std::string& path) {
  const TensorFile file = read_safetensors(path);
  const at::NoGradGuard no_grad;
  const auto take = [&](const std::string& name, Tensor tensor) {
    if (!name.starts_with("priors.")) return;
    const auto found = file.tensors.find("model.backbone." + name);
    if (found == file.tensors.end())
      throw std::invalid_argument(path + " has no model.backbone." + name +
                                  ": is it of a model with this prior?");
    if (found->second.sizes() != tensor.sizes()) {
      throw std::invalid_argument(
          path + ": " + name + " has the shape " + Json(found->second.sizes().vec()).dump() + ", not " +
          Json(tensor.sizes().vec()).dump() + ": give its --grid, --heads, --head-width and --layers");
    }
    tensor.copy_(found->second);
  };
  for (auto& entry : host.backbone().named_parameters()) take(entry.key(), entry.value());
  for (auto& entry : host.backbone().named_buffers()) take(entry.key(), entry.value());
}

Json options_of(const NamedArguments& arguments) {
  try {
    return Json::parse(arguments.text("--options", "{}"));
  } catch (const Json::exception& error) {
    throw std::invalid_argument(std::string("--options is not JSON: ") + error.what());
  }
}

Json document(const std::string& prior, const NamedArguments& arguments) {
  const auto [rows, columns] = arguments.pair("--grid", 'x', {8, 8});
  const std::int64_t heads = arguments.integer("--heads", 4), width = arguments.integer("--head-width", 16);
  const std::int64_t layer = arguments.integer("--layer", 0),
                     layers = arguments.integer("--layers", layer + 1);
  const auto seed = static_cast<std::uint64_t>(arguments.integer("--seed", 0));
  if (layer < 0 || layer >= layers)
    throw std::invalid_argument("--layer counts from 0 and lies below --layers " + std::to_string(layers));
  const Host host(
      {.specification = {{"model", {{"options", {{"dim", heads * width}, {"heads", heads}, {"patch", 2}}}}},
                         {"priors", Json::array({{{"id", prior}, {"options", options_of(arguments)}}})},
                         {"channels", 1}},
       .grid = {rows, columns},
       .prefix = 0,
       .layers = layers,
       .path = "auto",
       .seed = seed});
  if (arguments.has("--checkpoint")) load_prior(host, arguments.required("--checkpoint"));
  return picture_of(host, layer, seed);
}

// PRIOR.json for every prior of the catalog, and no other JSON file.
void write_all(const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".json") std::filesystem::remove(entry.path());
  }
  for (const PriorItem& item : prior_items())
    write_file((folder / (std::string(item.id()) + ".json")).string(),
               catalog_picture(std::string(item.id())).dump() + "\n");
}

void run(const std::string& prior, const NamedArguments& arguments) {
  const Json picture = document(prior, arguments);
  if (arguments.has("--png")) {
    std::vector<std::pair<std::int64_t, std::int64_t>> queries;
    for (const std::string& query : arguments.all("--query"))
      queries.push_back(parse_pair(query, ',', "--query"));
    const std::int64_t rows = picture.at("grid")[0], columns = picture.at("grid")[1];
    if (queries.empty()) queries = {{0, 0}, {rows / 2, columns / 2}};
    write_file(arguments.required("--png"), draw(picture, arguments.text("--view", ""), queries).png());
  }
  if (arguments.has("--json")) {
    write_file(arguments.required("--json"), picture.dump() + "\n");
  } else if (!arguments.has("--png")) {
    std::cout << picture.dump() << "\n";
  }
}

}  // namespace

int run_picture(std::span<const std::string> arguments) {
  try {
    if (arguments.size() == 2 && arguments[0] == "--all") {
      write_all(arguments[1]);
      return 0;
    }
    if (arguments.empty() || arguments[0].starts_with("--")) throw std::invalid_argument("which prior?");
    run(arguments[0], NamedArguments(arguments.subspan(1),
                                     {"--options", "--grid", "--heads", "--head-width", "--layer", "--layers",
                                      "--seed", "--checkpoint", "--json", "--png", "--view"},
                                     {}, {"--query"}));
    return 0;
  } catch (const std::exception& error) {
    return refuse_arguments("picture", error.what(), kPictureUsage);
  }
}

}  // namespace locus
