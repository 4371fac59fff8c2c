// Arguments and files of pictures.
#include "engine/probe/picture.h"

#include <sys/resource.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "core/base/data_copies.h"
#include "engine/base/failure.h"
#include "engine/files/safetensors.h"
#include "engine/probe/trained.h"
#include "engine/stage/stage.h"
#include "worker/trainer/arguments.h"
#include "worker/trainer/picture.h"

namespace locus {
using namespace engine;
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
      throw std::invalid_argument(path + " has no model.backbone." + name + ": is it of a model with this prior?");
    if (found->second.sizes() != tensor.sizes()) {
      throw std::invalid_argument(path + ": " + name + " has the shape " + Json(found->second.sizes().vec()).dump() +
                                  ", not " + Json(tensor.sizes().vec()).dump() +
                                  ": give its --grid, --heads, --head-width and --layers");
    }
    tensor.copy_(found->second);
  };
  for (auto& entry : host.backbone().named_parameters()) take(entry.key(), entry.value());
  for (auto& entry : host.backbone().named_buffers()) take(entry.key(), entry.value());
}

Json prior_options_of(const NamedArguments& arguments) {
  try {
    return Json::parse(arguments.text("--options", "{}"));
  } catch (const Json::exception& error) {
    throw std::invalid_argument(std::string("--options is not JSON: ") + error.what());
  }
}

Json document(const std::string& prior, const NamedArguments& arguments) {
  const auto [rows, columns] = arguments.pair("--grid", 'x', {8, 8});
  const std::int64_t heads = arguments.integer("--heads", 4), width = arguments.integer("--head-width", 16);
  const std::int64_t layer = arguments.integer("--layer", 0), layers = arguments.integer("--layers", layer + 1);
  const auto seed = static_cast<std::uint64_t>(arguments.integer("--seed", 0));
  if (layer < 0 || layer >= layers)
    throw std::invalid_argument("--layer counts from 0 and lies below --layers " + std::to_string(layers));
  const Host host(
      {.specification = {{"model", {{"options", {{"dim", heads * width}, {"heads", heads}, {"patch", 2}}}}},
                         {"priors", Json::array({{{"id", prior}, {"options", prior_options_of(arguments)}}})},
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

constexpr int kNoData = 3;  // exit status, beside 2 for what is wrong with the arguments

// The address sanitizer reserves terabytes of addresses, and none of what a limit is about.
#ifndef __has_feature
#define __has_feature(name) 0
#endif
#if __has_feature(address_sanitizer)
constexpr bool kReservesAddresses = true;
#else
constexpr bool kReservesAddresses = false;
#endif

// So that whoever started this for a page needs to fear neither its memory nor its time.
void bound(const NamedArguments& arguments) {
  const auto limit = [&](const char* name, int resource, std::int64_t unit) {
    if (!arguments.has(name)) return;
    const auto most = static_cast<rlim_t>(arguments.integer(name, 0) * unit);
    const rlimit wanted{most, most};
    if (most == 0 || ::setrlimit(static_cast<__rlimit_resource_t>(resource), &wanted) != 0)
      throw std::invalid_argument(std::string(name) + " cannot be set to " + arguments.text(name, ""));
  };
  if (!kReservesAddresses) limit("--memory", RLIMIT_AS, std::int64_t{1} << 20);
  limit("--seconds", RLIMIT_CPU, 1);
}

// Prints or writes a document.
void deliver(const Json& picture, const NamedArguments& arguments) {
  if (arguments.has("--json")) {
    write_file(arguments.required("--json"), picture.dump() + "\n");
  } else if (!arguments.has("--png")) {
    std::cout << picture.dump() << "\n";
  }
}

// What a request asks for (docs/formats/picture.md).
Json trained_document(const Json& request) {
  const TrainedRequest what{
      request.at("configuration"), request.value("weights", ""), request.value("layers", std::vector<std::int64_t>()),
      request.value("queries", std::vector<std::int64_t>()), request.value("stage", std::int64_t{0})};
  const auto indexes = request.value("images", std::vector<std::int64_t>());
  ChosenImages images;
  if (!indexes.empty()) {
    const DataPlace place{request.value("data_root", Execution().data_root.string()), data_cache_folder()};
    images = choose_images(what.configuration, place, request.value("split", "test"), indexes);
  }
  const std::string kind = request.at("kind");
  if (kind == "trained-prior") return trained_prior(what, images);
  if (kind == "attention") return trained_attention(what, images);
  throw std::invalid_argument("a picture is \"trained-prior\" or \"attention\", not \"" + kind + "\"");
}

void run_trained(const NamedArguments& arguments) {
  bound(arguments);
  const Json picture = trained_document(read_json_file(arguments.required("--trained")));
  if (arguments.has("--png")) {
    std::int64_t query = -1;
    if (arguments.has("--query")) {
      const auto [row, column] = arguments.pair("--query", ',', {0, 0});
      query = row * picture.at("grid")[1].get<std::int64_t>() + column;
    }
    write_file(arguments.required("--png"), draw_trained(picture, arguments.text("--view", ""), query).png());
  }
  deliver(picture, arguments);
}

void run(const std::string& prior, const NamedArguments& arguments) {
  bound(arguments);
  const Json picture = document(prior, arguments);
  if (arguments.has("--png")) {
    std::vector<std::pair<std::int64_t, std::int64_t>> queries;
    for (const std::string& query : arguments.all("--query")) queries.push_back(parse_pair(query, ',', "--query"));
    const std::int64_t rows = picture.at("grid")[0], columns = picture.at("grid")[1];
    if (queries.empty()) queries = {{0, 0}, {rows / 2, columns / 2}};
    write_file(arguments.required("--png"), draw(picture, arguments.text("--view", ""), queries).png());
  }
  deliver(picture, arguments);
}

}  // namespace

int run_picture(std::span<const std::string> arguments) {
  try {
    if (arguments.size() == 2 && arguments[0] == "--all") {
      write_all(arguments[1]);
      return 0;
    }
    if (!arguments.empty() && arguments[0] == "--trained") {
      run_trained(NamedArguments(arguments,
                                 {"--trained", "--json", "--png", "--view", "--query", "--memory", "--seconds"}, {}));
      return 0;
    }
    if (arguments.empty() || arguments[0].starts_with("--")) throw std::invalid_argument("which prior?");
    run(arguments[0], NamedArguments(arguments.subspan(1),
                                     {"--options", "--grid", "--heads", "--head-width", "--layer", "--layers", "--seed",
                                      "--checkpoint", "--json", "--png", "--view", "--memory", "--seconds"},
                                     {}, {"--query"}));
    return 0;
  } catch (const DataError& error) {
    const char* caller = std::getenv("LOCUS_CALLER");
    std::cerr << (caller != nullptr ? "error: " + std::string(caller) : "locus-trainer picture") << ": " << error.what()
              << "\n";
    return kNoData;
  } catch (const std::exception& error) {
    return refuse_arguments("picture", error.what(), kPictureUsage);
  }
}

}  // namespace locus
