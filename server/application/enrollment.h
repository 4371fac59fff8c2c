// Invitations, enrollment, renewal and revocation of certificates.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "core/base/clock.h"
#include "core/ports/store.h"
#include "locus/v1/enrollment_service.pb.h"
#include "server/authority/caller.h"
#include "server/tls/keeper.h"

namespace locus::server {

// What it needs of the rest of the server.
struct EnrollmentParts {
  TlsKeeper* tls = nullptr;  // null: the server speaks no TLS
  // Ends calls under way by a credential that was revoked: "certificates/SERIAL", "tokens/ID".
  std::function<void(const std::string& credential)> end_calls = {};
};

// Thread-safe; blocks. `store` and `clock` must outlive it.
class EnrollmentDesk {
 public:
  EnrollmentDesk(Store& store, Clock& clock, EnrollmentParts parts)
      : store_(store), clock_(clock), parts_(std::move(parts)) {}

  // FAILED_PRECONDITION without TLS or an authority of the server's own; INVALID_ARGUMENT for a role, name, account or
  // time outside its form.
  absl::StatusOr<v1::Invitation> invite(const v1::CreateInvitationRequest& request, const Caller& caller);
  // Where no admin has a certificate in force: the token of an invitation for one, called "admin"; else empty.
  absl::StatusOr<std::string> invite_first_admin();
  // PERMISSION_DENIED (INVITATION_REFUSED) for a secret that is unknown, used or expired.
  absl::StatusOr<v1::Enrolled> enroll(const v1::EnrollRequest& request, const Caller& caller, int grpc_port);
  // FAILED_PRECONDITION unless the caller shows a certificate.
  absl::StatusOr<v1::Enrolled> renew(const v1::RenewCertificateRequest& request, const Caller& caller, int grpc_port);
  absl::StatusOr<v1::ListCertificatesResponse> list(const v1::ListCertificatesRequest& request);
  // CREDENTIAL_NOT_FOUND; idempotent.
  absl::StatusOr<v1::IssuedCertificate> revoke(const v1::RevokeCertificateRequest& request, const Caller& caller);

 private:
  absl::StatusOr<Authority> authority() const;
  // Signs, and stores what was signed together with `before` and the caller's row of the audit.
  absl::StatusOr<v1::Enrolled> issue(CertificateRow row, const std::string& request, std::vector<Mutation> before,
                                     const Caller& caller, int grpc_port);

  Store& store_;
  Clock& clock_;
  const EnrollmentParts parts_;
};

}  // namespace locus::server
