// One document for people and programs.
#include "worker/trainer/weights.h"

#include <iostream>

#include "engine/base/failure.h"
#include "engine/files/tensor_file.h"
#include "engine/inputs/input.h"
#include "engine/tasks/task.h"
#include "engine/weights/export.h"
#include "engine/weights/init.h"
#include "worker/trainer/arguments.h"

namespace locus {
using namespace engine;
namespace {

std::string shape_text(const Tensor& tensor) {
  return std::string(at::toString(tensor.scalar_type())) + " " + c10::str(tensor.sizes());
}

// Layout and what every tensor would be; {"error"} where no layout fits.
Json mapping_of(const TensorFile& file, const std::string& layout, const std::string& prefix) {
  Json tensors = Json::array();
  std::map<std::string, std::string> becomes, why;
  Json out = Json::object();
  try {
    const CanonicalWeights weights = canonical_weights(file.tensors, layout, prefix);
    out = {{"layout", weights.layout->id()}, {"prefix", weights.prefix}};
    becomes = {weights.mapped.begin(), weights.mapped.end()};
    why = {weights.ignored.begin(), weights.ignored.end()};
  } catch (const DataError& error) {
    out = {{"error", error.what()}};
  }
  for (const auto& [name, tensor] : file.tensors) {
    Json one = {{"name", name}, {"shape", tensor.sizes().vec()}, {"type", at::toString(tensor.scalar_type())}};
    if (becomes.contains(name)) one["becomes"] = becomes.at(name);
    if (why.contains(name)) one["ignored"] = why.at(name);
    tensors.push_back(std::move(one));
  }
  out["tensors"] = std::move(tensors);
  return out;
}

// Whether a training could begin with the file.
Json fit_of(const TensorFile& file, const std::string& sha256, const Json& model, const LoadOptions& named) {
  const Json& configuration = model.at("configuration");
  Json out = {{"label", model.at("label")}, {"fits", false}};
  LoadOptions options = named;
  if (const Json init = configuration.value("init", Json::object()); init.value("id", "") == "weights") {
    options = load_options({init_item("weights").item.json(), init.at("options")});
    const auto asked = init.at("options").at("sha256").get<std::string>();
    if (asked != sha256) out["asks_for"] = asked;
  }
  try {
    const Json facts = input_facts(configuration);
    const RandomStreams random(configuration.at("seed").get<std::uint64_t>());
    const auto task = make_task({configuration, facts, random});
    const LoadInput input{facts.at("channels").get<std::int64_t>(),
                          facts.at("extent").get<std::vector<std::int64_t>>()};
    out["lines"] = plan_load(*task, input, file.tensors, options).lines();
    out["fits"] = true;
  } catch (const DataError& error) {
    out["error"] = error.what();
  }
  return out;
}

void print_inspection(const Json& document, const TensorFile& file) {
  std::cout << document.at("file").get<std::string>() << "\n  sha256  " << document.at("sha256").get<std::string>()
            << "\n  layout  " << document.value("layout", "none: " + document.value("error", ""));
  if (const std::string prefix = document.value("prefix", ""); !prefix.empty())
    std::cout << " below '" << prefix << "'";
  std::cout << "\n  init    {weights: {sha256: " << document.at("sha256").get<std::string>() << "}}\n";
  for (const Json& tensor : document.at("tensors")) {
    const auto name = tensor.at("name").get<std::string>();
    std::cout << "  " << name << "  " << shape_text(file.tensors.at(name));
    if (tensor.contains("becomes")) std::cout << "  -> " << tensor.at("becomes").get<std::string>();
    if (tensor.contains("ignored")) std::cout << "  ignored: " << tensor.at("ignored").get<std::string>();
    std::cout << "\n";
  }
  for (const Json& model : document.value("models", Json::array())) {
    std::cout << model.at("label").get<std::string>() << ": "
              << (model.at("fits").get<bool>() ? "fits" : "does not fit") << "\n";
    if (model.contains("asks_for"))
      std::cout << "  its init asks for " << model.at("asks_for").get<std::string>() << "\n";
    if (model.contains("error")) std::cout << "  " << model.at("error").get<std::string>() << "\n";
    for (const Json& line : model.value("lines", Json::array())) std::cout << "  " << line.get<std::string>() << "\n";
  }
}

int inspect(const NamedArguments& arguments) {
  const std::string path = arguments.required("--file");
  const TensorFile file = read_tensor_file(path);
  LoadOptions options;
  options.layout = arguments.text("--layout", options.layout);
  options.prefix = arguments.text("--below", options.prefix);
  Json document = mapping_of(file, options.layout, options.prefix);
  document["file"] = path;
  document["sha256"] = tensor_file_sha256(path);
  bool fits = !document.contains("error");
  if (arguments.has("--models")) {
    for (const Json& model : read_json_file(arguments.required("--models"))) {
      document["models"].push_back(fit_of(file, document.at("sha256"), model, options));
      fits &= document["models"].back().at("fits").get<bool>();
    }
  }
  if (arguments.has("--json")) {
    std::cout << document.dump(-1, ' ', false, Json::error_handler_t::replace) << "\n";
  } else {
    print_inspection(document, file);
  }
  return fits ? 0 : 1;
}

int write_model(const NamedArguments& arguments) {
  const std::string path = arguments.required("--file"), out = arguments.required("--out");
  try {
    TensorFile file{layout_tensors(read_tensor_file(path).tensors, arguments.text("--layout", "timm"),
                                   arguments.integer("--channels", 0), arguments.has("--drop-priors")),
                    {{"format", "pt"}}};  // what transformers asks of safetensors
    write_safetensors(out, file);
    if (arguments.has("--json")) {
      std::cout << Json({{"path", out}, {"sha256", tensor_file_sha256(out)}, {"tensors", file.tensors.size()}}).dump()
                << "\n";
    } else {
      std::cout << out << "\n";
    }
  } catch (const DataError& error) {
    throw DataError(path + ": " + error.what());
  }
  return 0;
}

}  // namespace

int run_weights(std::span<const std::string> arguments) {
  try {
    const std::string action = arguments.empty() ? "" : arguments[0];
    const auto rest = arguments.subspan(arguments.empty() ? 0 : 1);
    if (action == "inspect") {
      return inspect(NamedArguments(rest, {"--file", "--layout", "--below", "--models"}, {"--json"}));
    }
    if (action == "export")
      return write_model(
          NamedArguments(rest, {"--file", "--out", "--layout", "--channels"}, {"--drop-priors", "--json"}));
    throw std::invalid_argument("weights are for inspect or export, not '" + action + "'");
  } catch (const DataError& error) {
    const char* caller = std::getenv("LOCUS_CALLER");
    std::cerr << (caller != nullptr ? "error" : "locus-trainer weights") << ": " << error.what() << "\n";
    return 1;
  } catch (const std::exception& error) {
    return refuse_arguments("weights", error.what(), kWeightsUsage);
  }
}

}  // namespace locus
