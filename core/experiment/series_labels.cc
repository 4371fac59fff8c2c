// The labels of a series.
#include "core/experiment/series_labels.h"

#include <stdexcept>

#include "core/base/error.h"
#include "core/base/invalid.h"
#include "core/base/json.h"
#include "core/base/json_document.h"
#include "core/base/utf8.h"

namespace locus {
namespace {

constexpr std::size_t kLabelsShown = 200;  // of wrong ones

}  // namespace

absl::StatusOr<std::string> canonical_labels(const std::string& labels, const std::string& field) {
  if (labels.empty() || labels == "{}") return std::string("{}");
  const auto no_object = [&] {
    std::string shown = labels.substr(0, kLabelsShown);
    if (labels.size() > kLabelsShown) shown += "...";
    return invalid(field, "labels are \"" + valid_utf8(shown) + "\"; give a JSON object such as {\"resolution\":28}");
  };
  if (!Json::accept(labels)) return no_object();
  LOCUS_ASSIGN_OR_RETURN(const Json value, parse_json(labels, ErrorReason::kInvalidArgument, field));
  if (!value.is_object()) return no_object();
  for (const auto& [key, item] : value.items()) {
    if (!item.is_string() && !item.is_number()) {
      return invalid(field, "label \"" + key + "\" is neither a string nor a number; give one of them");
    }
  }
  try {
    return canonical_json(value);
  } catch (const std::invalid_argument& error) {
    return invalid(field, std::string("labels have no canonical form: ") + error.what());
  }
}

}  // namespace locus
