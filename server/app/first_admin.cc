// The first administrator of a server that asks its callers.
#include "server/app/first_admin.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/identity/principal.h"
#include "core/identity/secret.h"
#include "core/limits.h"
#include "core/log/log.h"
#include "server/authority/caller.h"

namespace locus::server {
namespace {

constexpr char kFirstAdmin[] = "admin";

template <class Row>
bool any_admin(const std::vector<Row>& rows, Microseconds now) {
  return std::any_of(rows.begin(), rows.end(), [&](const Row& row) {
    return row.role == Role::kAdmin && row.revoked_us == 0 && row.expires_us > now;
  });
}

absl::Status write_privately(const std::filesystem::path& file, const std::string& text) {
  const int fd = open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  const bool written = fd >= 0 && write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  const bool closed = fd >= 0 && close(fd) == 0;
  if (written && closed) return absl::OkStatus();
  return make_error(
      absl::StatusCode::kFailedPrecondition, ErrorReason::kDataFolderUnusable,
      "the token of the first administrator cannot be written to " + file.string() + ": make the folder writable", "",
      {{"file", file.string()}});
}

// Whether there was need of one. The file comes first: a token in force that nobody has would lock everybody out.
absl::StatusOr<bool> leave_token(Store& store, Microseconds now, const std::filesystem::path& file) {
  LOCUS_ASSIGN_OR_RETURN(const auto tokens, store.identity().tokens());
  LOCUS_ASSIGN_OR_RETURN(const auto certificates, store.identity().certificates());
  if (any_admin(tokens, now) || any_admin(certificates, now)) return false;
  const TokenText token = new_token();
  LOCUS_RETURN_IF_ERROR(write_privately(file, token.text() + "\n"));
  const TokenRow row{.id = token.id,
                     .secret_hash = hash_of_secret(token.secret),
                     .principal = kFirstAdmin,
                     .role = Role::kAdmin,
                     .expires_us = now + kTokenMost.count()};
  const std::vector<Mutation> changes = {
      PutPrincipal{{.name = kFirstAdmin, .account = kFirstAdmin}}, PutToken{row},
      AppendAudit{audit_row(local_principal(), "first-admin", "tokens/" + token.id, absl::OkStatus())}};
  LOCUS_RETURN_IF_ERROR(store.apply(changes, now));
  return true;
}

absl::StatusOr<bool> leave_invitation(const std::function<absl::StatusOr<std::string>()>& invite,
                                      const std::filesystem::path& file) {
  LOCUS_ASSIGN_OR_RETURN(const std::string text, invite());
  if (text.empty()) return false;
  LOCUS_RETURN_IF_ERROR(write_privately(file, text + "\n"));
  return true;
}

}  // namespace

absl::Status provide_first_admin(Store& store, Clock& clock, const std::filesystem::path& data,
                                 const std::function<absl::StatusOr<std::string>()>& invite) {
  if (data.empty()) return absl::OkStatus();
  const std::filesystem::path file = data / "first-admin-token";
  LOCUS_ASSIGN_OR_RETURN(const bool left,
                         invite ? leave_invitation(invite, file) : leave_token(store, clock.wall(), file));
  if (!left) return absl::OkStatus();
  log_info("nobody can administrate yet: {}locus login $(cat {}) --server {}", invite ? "within a day, " : "",
           file.string(), invite ? "https://HOST:PORT" : "HOST:PORT");
  return absl::OkStatus();
}

}  // namespace locus::server
