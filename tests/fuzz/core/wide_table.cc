// Tables of series.
#include "core/foreign/wide_table.h"

#include "tests/fuzz/fuzz.h"

namespace locus::fuzz {

void wide_table(std::string_view bytes) {
  Gathered gathered;
  if (!read_wide_table(bytes, &gathered).ok()) return;
  const auto series = gathered.series();
  if (!series.ok()) return;
  for (const ForeignSeries& one : *series) {
    require(!one.key.metric.empty(), "a series has a name");
    for (std::size_t i = 1; i < one.step.size(); ++i) require(one.step[i - 1] < one.step[i], "steps rise");
  }
}

}  // namespace locus::fuzz
