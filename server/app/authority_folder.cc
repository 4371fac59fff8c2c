// The authority's folder, from outside of the server.
#include "server/app/authority_folder.h"

#include "core/base/clock.h"
#include "core/base/error.h"
#include "server/app/paths.h"
#include "server/tls/authority.h"

namespace locus {
namespace {

absl::StatusOr<std::filesystem::path> folder_of_authority(const std::filesystem::path& data) {
  if (!data.empty()) return data / "tls";
  LOCUS_ASSIGN_OR_RETURN(const auto folder, server::default_data_folder());
  return folder / "tls";
}

}  // namespace

absl::StatusOr<std::string> renew_authority(const std::filesystem::path& data) {
  LOCUS_ASSIGN_OR_RETURN(const auto folder, folder_of_authority(data));
  LOCUS_ASSIGN_OR_RETURN(const auto authority, server::Authority::renew(folder, system_clock().wall() / 1'000'000));
  return "\"" + authority.certificate().subject() +
         "\" signs from now on; the former authority is trusted until `locus admin ca retire`";
}

absl::StatusOr<std::string> retire_authority(const std::filesystem::path& data) {
  LOCUS_ASSIGN_OR_RETURN(const auto folder, folder_of_authority(data));
  LOCUS_ASSIGN_OR_RETURN(const auto authority, server::Authority::retire(folder));
  return "\"" + authority.certificate().subject() + "\" alone is trusted from now on";
}

}  // namespace locus
