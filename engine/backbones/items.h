// The functions that backbones.def lists, and what their catalog entries share.
#pragma once

#include "engine/backbones/backbone.h"

namespace locus::engine::backbones {

#define LOCUS_BACKBONE(file) BackboneItem file();
#include "engine/backbones/backbones.def"
#undef LOCUS_BACKBONE

// What a catalog entry says of the linear maps of plain blocks (facts.linear_maps, docs/formats/catalog.md): those that
// Block makes below `blocks`, "blocks.#" or, in each stage, "stages.@.blocks.#".
Json linear_maps_of_blocks(const std::string& blocks);

// States as data what StageSizes::check() refuses. `lists`: the options that hold depths and heads, and further lists of
// one number for each stage.
Item& refuse_uneven_stages(Item& item, const std::vector<std::string>& lists);

}  // namespace locus::engine::backbones
