// Stage "train": learns a model; its outputs are the final checkpoint and, where asked for, the one that
// validated best.
#include "engine/stages/stages.h"
#include "engine/train/training.h"

namespace locus::engine::stages {

StageItem train() {
  Item item("stage", "train", 1, "Learns a model from the training split and validates it");
  item.option(Option::text("keep_best", "",
                           "metric by which the model that validates best is kept beside the last; set where "
                           "the metric contract or an evaluation reads it")
                  .neutral(""));
  const auto metric = [](const char* name, const char* unit, const char* direction, const char* help) {
    return Json{{"name", name}, {"unit", unit}, {"direction", direction}, {"help", help}};
  };
  item.facts({{"inputs", Json::array()},
              {"outputs", {"checkpoint", "best-checkpoint"}},
              {"metrics",
               {metric("parameters", "", "min", "of the whole model"),
                metric("trained_parameters", "", "min", "that learn, those only training needs included"),
                metric("ms_per_step", "ms", "min", "a step of training, median"),
                metric("images_per_second", "1/s", "max", "trained on, validation left out"),
                metric("train_seconds", "s", "min", "spent training"),
                metric("data_wait", "s", "min", "of it, spent waiting for images that were not yet prepared")}}});
  return {std::move(item), [](StageContext& context) { Training(context).run(); }};
}

}  // namespace locus::engine::stages
