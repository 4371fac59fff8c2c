// Writes and reads the requirement.
#include "core/experiment/required_code.h"

#include "core/experiment/model.h"

namespace locus {
namespace {

constexpr std::string_view kExtensionItem = "extension/";

}  // namespace

std::string extension_requirement(std::string_view name, std::string_view digest) {
  return std::string(kExtensionItem) + std::string(name) + kCopyMark + std::string(digest);
}

std::pair<std::string_view, std::string_view> extension_of_requirement(std::string_view requirement) {
  const std::size_t mark = requirement.find(kCopyMark);
  if (!requirement.starts_with(kExtensionItem) || mark == std::string_view::npos) return {};
  return {requirement.substr(kExtensionItem.size(), mark - kExtensionItem.size()), requirement.substr(mark + 1)};
}

}  // namespace locus
