// Stage "train": learns a model; its output is the final checkpoint.
#include "engine/train/training.h"

namespace locus::stages {

StageItem train() {
  Item item("stage", "train", 1, "Learns a model from the training split and validates it");
  item.facts({{"inputs", Json::array()}, {"outputs", {"checkpoint"}}});
  return {std::move(item), [](StageContext& context) { Training(context).run(); }};
}

}  // namespace locus::stages
