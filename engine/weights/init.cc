// The table of items, and the one that a configuration chooses.
#include "engine/weights/init.h"

#include "engine/weights/inits.h"

namespace locus::engine {

Registry<InitItem>& init_registry() {
  static Registry<InitItem> entries("init", {
#define LOCUS_INIT(name) inits::name(),
#include "engine/weights/inits.def"
#undef LOCUS_INIT
                                            });
  return entries;
}

LoadOptions load_options(const Options& options) {
  return {.layout = options.text("layout"),
          .prefix = options.text("prefix"),
          .keep_head = options.text("head") == "keep",
          .fit = {.position = options.text("position"),
                  .resize = options.text("resize"),
                  .grid = options.integers("grid"),
                  .patch = options.text("patch")}};
}

std::vector<std::string> start_weights(const Json& configuration, Module& model, const InitContext& context) {
  const auto chosen = configuration.find("init");
  if (chosen == configuration.end()) return {};
  const InitItem& item = init_item(chosen->at("id").get<std::string>());
  return item.start(model, context, Options(item.item.json(), chosen->value("options", Json::object())));
}

}  // namespace locus::engine
