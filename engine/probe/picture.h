// What a prior does, to be looked at: for every query patch its bias, factor or attention over the grid.
#pragma once

#include "engine/probe/host.h"
#include "engine/probe/png.h"

namespace locus::engine {

// The document of docs/formats/picture.md for one layer, counted over the network, of a host with exactly one prior in the
// layer's stage and no prefix token, on the grid of that stage or a window of it:
// the prior's terms, the likeness of what it adds to the stem, attention when all patches have the same
// content, and the paths of its curves. Knows forms and hooks, no prior.
Json picture_of(const Host& host, std::int64_t layer, std::uint64_t seed);

// The picture that is committed as engine/pictures/PRIOR.json and shown in the catalog: a 6 x 6 grid, where a
// map is still small enough for hundreds of them to be sent, and 4 heads of 16 channels, at initialization.
// Throws std::invalid_argument for an unknown prior.
Json catalog_picture(const std::string& prior);

// Heat maps of one view of such a document: a row for each query patch (row, column), a column for each head;
// the query is framed. Curves follow as drawn paths. `view` empty: the first. Throws std::invalid_argument
// when the document has no such view or the grid no such patch.
Drawing draw(const Json& picture, const std::string& view,
             const std::vector<std::pair<std::int64_t, std::int64_t>>& queries);

}  // namespace locus::engine
