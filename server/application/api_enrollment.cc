// The part of Api that is about certificates.
#include <cstdlib>

#include "server/application/api.h"

namespace locus::server {

int Api::grpc_port() {
  absl::MutexLock lock(&mutex_);
  const std::string& address = server_.grpc_address();
  return std::atoi(address.substr(address.rfind(':') + 1).c_str());
}

absl::StatusOr<v1::Invitation> Api::create_invitation(const v1::CreateInvitationRequest& request,
                                                      const Caller& caller) {
  return enrollment_.invite(request, caller);
}

absl::StatusOr<std::string> Api::invite_first_admin() { return enrollment_.invite_first_admin(); }

absl::StatusOr<v1::Enrolled> Api::enroll(const v1::EnrollRequest& request, const Caller& caller) {
  return enrollment_.enroll(request, caller, grpc_port());
}

absl::StatusOr<v1::Enrolled> Api::renew_certificate(const v1::RenewCertificateRequest& request, const Caller& caller) {
  return enrollment_.renew(request, caller, grpc_port());
}

absl::StatusOr<v1::ListCertificatesResponse> Api::list_certificates(const v1::ListCertificatesRequest& request) {
  return enrollment_.list(request);
}

absl::StatusOr<v1::IssuedCertificate> Api::revoke_certificate(const v1::RevokeCertificateRequest& request,
                                                              const Caller& caller) {
  return enrollment_.revoke(request, caller);
}

}  // namespace locus::server
