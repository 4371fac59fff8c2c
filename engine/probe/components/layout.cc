// Layouts of weights files, one component for each.
#include "engine/weights/layout.h"
#include "engine/base/failure.h"
#include "engine/probe/components/components.h"

namespace locus::engine::components {
namespace {

Component of_layout(const std::string& id, const std::string& summary) {
  Item item("layout", id, 1, summary);
  item.option(Option::text("prefix", "", "beginning of the names that hold the model; empty: none, or a usual one"));
  return {.item = std::move(item),
          .inputs = {{"*", "the tensors of a file by their names there"}},
          .draws = {},
          .outputs = {{"*", "the tensors of the model by canonical names"}},
          .run = [id](const ComponentSpecification& specification, const NamedTensors& given) -> NamedTensors {
            try {
              return canonical_weights(given, id, specification.options.text("prefix")).tensors;
            } catch (const DataError& error) {
              throw std::invalid_argument(error.what());
            }
          }};
}

}  // namespace

std::vector<Component> layout() {
  std::vector<Component> out = {of_layout("auto", "The first layout whose marks the tensors have")};
  for (const WeightsLayout& one : weights_layouts())
    out.push_back(of_layout(one.id(), one.item.json().at("summary").get<std::string>()));
  return out;
}

}  // namespace locus::engine::components
