// The pyramid: sealed chunks summed up in blocks of ever wider stretches of steps.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/ports/curves.h"
#include "storage/sqlite/connection.h"
#include "storage/sqlite/point_codec.h"

namespace locus::sqlite {

// Stores the levels of a chunk that will grow no more: each four times as wide as the one before, from where
// a block holds eight points or more, up to one or two blocks. None for a chunk with many values that are not
// finite: it is read itself. Throws SqliteError.
void store_pyramid(Connection& db, std::int64_t chunk_id, const PointColumns& points);

// The widest level of a chunk whose blocks lie within blocks of 2^shift steps; nothing without one. Throws
// SqliteError, for damage too.
std::optional<std::vector<SeriesBlock>> load_pyramid(Connection& db, std::int64_t chunk_id, int shift);

// Blocks as a blob of points (point_codec.h), five or more a block, told apart by their series number.
std::string encode_blocks(const std::vector<SeriesBlock>& blocks);
std::optional<std::vector<SeriesBlock>> decode_blocks(std::string_view bytes,
                                                      int shift);  // nothing for damage

}  // namespace locus::sqlite
