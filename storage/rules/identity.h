// What every store checks and changes of identities, as the mutations say.
#pragma once

#include "absl/status/status.h"
#include "core/ports/identity.h"
#include "storage/rules/identity_rows.h"

namespace locus {

absl::Status change_identity(IdentityRows& rows, const PutPrincipal& asked, Microseconds now);
absl::Status change_identity(IdentityRows& rows, const PutToken& asked, Microseconds now);
absl::Status change_identity(IdentityRows& rows, const RevokeToken& asked, Microseconds now);
absl::Status change_identity(IdentityRows& rows, const UseToken& asked, Microseconds now);
absl::Status change_identity(IdentityRows& rows, const PutSession& asked, Microseconds now);
absl::Status change_identity(IdentityRows& rows, const EndSession& asked, Microseconds now);
absl::Status change_identity(IdentityRows& rows, const PutInvitation& asked, Microseconds now);
absl::Status change_identity(IdentityRows& rows, const UseInvitation& asked, Microseconds now);
absl::Status change_identity(IdentityRows& rows, const PutCertificate& asked, Microseconds now);
absl::Status change_identity(IdentityRows& rows, const RevokeCertificate& asked, Microseconds now);
absl::Status change_identity(IdentityRows& rows, const AppendAudit& asked, Microseconds now);
absl::Status change_identity(IdentityRows& rows, const ForgetIdentity& asked, Microseconds now);

}  // namespace locus
