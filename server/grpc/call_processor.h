// Asks every gRPC call who makes it, before it is begun: gRPC's own calls (health, reflection) included.
#pragma once

#include <grpcpp/security/auth_metadata_processor.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "server/authority/gate.h"

namespace locus::server {

// What a certificate that TLS has accepted says.
struct ShownCertificate {
  std::string serial;
  SpiffeName name;
  Microseconds expires_us = 0;
};
// Of a PEM text; NOT_AUTHENTICATED for one that names nobody, or two.
using CertificateReader = std::function<absl::StatusOr<ShownCertificate>(std::string_view pem)>;

// For server credentials: TLS, or LocalServerCredentials(LOCAL_TCP). Who calls is what "authorization: Bearer locus_..."
// says, else the certificate; the header goes no further. A certificate must be in force also where a token says who
// calls. A call that its role may not make ends here, as does one that the table does not have. `gate` must outlive the server; without `reader` certificates are not accepted.
std::shared_ptr<grpc::AuthMetadataProcessor> make_call_processor(Gate& gate, CertificateReader reader);

}  // namespace locus::server
