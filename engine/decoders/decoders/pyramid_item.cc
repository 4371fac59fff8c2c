// What decoders of several maps say alike.
#include "engine/decoders/items.h"

namespace locus::engine::decoders {

void add_levels(Item& item, std::int64_t width) {
  item.option(Option::integer("width", width, "channels of every level").minimum(1).maximum(4096));
  item.option(
      Option::number("dropout", 0.1, "share of channels dropped before each last map").minimum(0.0).maximum(0.9));
}

void add_pyramid(Item& item) {
  item.option(
      Option::list("taps", "integer", Json::array(),
                   "blocks whose tokens are read, counted from 0, without the final norm; empty: the last of each "
                   "quarter of the network, or of each stage where it has several")
          .minimum(0)
          .maximum(511)
          .unique()
          .neutral(Json::array()));
}

Json pyramid_rules() {
  return Json::array({{{"rule", "at-least"},
                       {"value", "maps"},
                       {"least", 4},
                       {"help",
                        "it reads four maps, one of each quarter of the blocks or of each stage; of fewer blocks "
                        "name those to read, as in taps: [0]"}},
                      {{"rule", "at-most"},
                       {"left", "taps"},
                       {"right", "last_block"},
                       {"help", "taps names blocks of a network of one stage, counted from 0"}}});
}

Json dense_tasks() { return Json::array({"segmentation", "depth"}); }

}  // namespace locus::engine::decoders
