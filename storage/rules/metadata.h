// What every store checks and changes of annotations, samples, alerts and the series of other programs.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "core/ports/mutations.h"
#include "storage/rules/rows.h"

namespace locus {

absl::Status annotate(Rows& rows, const Annotate& asked);
absl::Status add_sample(Rows& rows, const AddAttemptSample& asked, Microseconds now);
absl::Status add_sample(Rows& rows, const AddWorkerSample& asked, Microseconds now);
absl::Status put_alert(Rows& rows, const PutAlert& asked);
absl::Status put_foreign(Rows& rows, const PutForeign& asked, Microseconds now);
absl::Status remove_foreign(Rows& rows, const RemoveForeign& asked);
// At most so many of its points, by the rule of Store::points; 0: all.
void thin(ForeignSeries* series, int max_points);

// The values of a sample as stored text, and back; what cannot be read is left out.
std::string sample_to_text(const SystemSample& sample);
void sample_from_text(const std::string& text, SystemSample* sample);

}  // namespace locus
