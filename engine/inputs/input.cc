// The table of inputs.
#include "engine/inputs/input.h"

#include "engine/data/dataset.h"

namespace locus::engine {

namespace inputs {
#define LOCUS_INPUT(name) InputItem name();
#include "engine/inputs/inputs.def"
#undef LOCUS_INPUT
}  // namespace inputs

namespace {

std::shared_ptr<const Input> made(const Json& configuration, const Json& facts, const Normalization& own) {
  const Json input = configuration.value("input", Json{{"id", "native"}});
  const InputItem& item = input_item(input.at("id").get<std::string>());
  return item.make({facts, own}, Options(item.item.json(), input.value("options", Json::object())));
}

}  // namespace

Registry<InputItem>& input_registry() {
  static Registry<InputItem> entries("input", {
#define LOCUS_INPUT(name) inputs::name(),
#include "engine/inputs/inputs.def"
#undef LOCUS_INPUT
                                              });
  return entries;
}

std::shared_ptr<const Input> make_input(const Json& configuration, const Normalization& own) {
  return made(configuration, dataset_facts(configuration.at("dataset")), own);
}

Json input_facts(const Json& configuration) {
  Json facts = dataset_facts(configuration.at("dataset"));
  const Extent extent = made(configuration, facts, {})->extent();
  facts["extent"] = extent;
  return facts;
}

}  // namespace locus::engine
