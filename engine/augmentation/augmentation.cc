// The table of augmentations.
#include "engine/augmentation/augmentation.h"

namespace locus::engine {

namespace augmentations {
#define LOCUS_AUGMENTATION(name) AugmentationItem name();
#include "engine/augmentation/augmentations.def"
#undef LOCUS_AUGMENTATION
}  // namespace augmentations

Registry<AugmentationItem>& augmentation_registry() {
  static Registry<AugmentationItem> entries("augmentation", {
#define LOCUS_AUGMENTATION(name) augmentations::name(),
#include "engine/augmentation/augmentations.def"
#undef LOCUS_AUGMENTATION
                                                            });
  return entries;
}

std::optional<Augmentation> make_augmentation(const Json& configuration, const AugmentationContext& context) {
  const auto given = configuration.find("augmentation");
  if (given == configuration.end()) return std::nullopt;
  const AugmentationItem& item = augmentation_item(given->at("id").get<std::string>());
  if (context.channels != 1 && context.channels != 3) {
    throw std::invalid_argument("augmentations change images of 1 or 3 channels, not of " +
                                std::to_string(context.channels));
  }
  return item.make(context, Options(item.item.json(), given->value("options", Json::object())));
}

}  // namespace locus::engine
