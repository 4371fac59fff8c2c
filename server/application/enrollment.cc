// Invitations and certificates.
#include "server/application/enrollment.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/base/ids.h"
#include "core/base/json.h"
#include "core/certificates/invitation.h"
#include "core/identity/principal.h"
#include "core/identity/secret.h"
#include "server/wire/convert.h"

namespace locus::server {
namespace {

constexpr std::int64_t kMachineDays = 30, kPersonDays = 7, kInvitationDays = 30;
constexpr std::int64_t kInvitationSeconds = 3'600;
constexpr Microseconds kSecond = 1'000'000;
constexpr int kMostLabels = 32;

absl::Status invalid_field(const std::string& field, const std::string& sentence) {
  return make_error(absl::StatusCode::kInvalidArgument, ErrorReason::kInvalidArgument, sentence, field);
}

std::int64_t life_of(Role role) {
  const bool machine = role == Role::kWorker || role == Role::kProvisioner;
  return (machine ? kMachineDays : kPersonDays) * kDay;
}

// A provisioner has workers in whose names begin with its own, which is that of its pool, and who are labeled with it.
absl::Status check_pool(const Principal& who, const v1::CreateInvitationRequest& request, Role role) {
  if (who.role != Role::kProvisioner) return absl::OkStatus();
  const bool labeled =
      request.labels_size() == 0 ||
      (request.labels_size() == 1 && request.labels().count("pool") == 1 && request.labels().at("pool") == who.name);
  if (role == Role::kWorker && request.name().starts_with(who.name + "-") && labeled) return absl::OkStatus();
  return make_error(absl::StatusCode::kPermissionDenied, ErrorReason::kNotPermitted,
                    "the provisioner " + who.name + " invites workers called " + who.name +
                        "-..., labeled pool=" + who.name + "; ask an administrator for \"" + request.name() + "\"",
                    "name", {{"name", request.name()}});
}

absl::StatusOr<std::string> labels_of(const Principal& who, const v1::CreateInvitationRequest& request) {
  Json out = Json::object();
  if (who.role == Role::kProvisioner) out["pool"] = who.name;
  if (request.labels_size() > kMostLabels)
    return invalid_field("labels", "a worker has at most " + std::to_string(kMostLabels) + " labels");
  for (const auto& [key, value] : request.labels()) {
    if (!valid_name(key) || value.empty() || value.size() > 63 || !valid_account(value))
      return invalid_field("labels", "the label \"" + key +
                                         "\" needs a name of lower-case letters, digits and dashes, "
                                         "and a value of 1 to 63 bytes");
    out[key] = value;
  }
  return out.dump();
}

v1::IssuedCertificate to_wire(const CertificateRow& row) {
  v1::IssuedCertificate out;
  out.set_serial(row.serial);
  out.set_role(to_string(row.role));
  out.set_name(row.principal);
  const Json labels = Json::parse(row.labels_json, nullptr, false);
  if (labels.is_object()) {
    for (const auto& [key, value] : labels.items()) (*out.mutable_labels())[key] = value.get<std::string>();
  }
  *out.mutable_issued() = to_timestamp(row.issued_us);
  *out.mutable_expires() = to_timestamp(row.expires_us);
  if (row.revoked_us != 0) *out.mutable_revoked() = to_timestamp(row.revoked_us);
  return out;
}

}  // namespace

absl::StatusOr<Authority> EnrollmentDesk::authority() const {
  if (parts_.tls != nullptr) return parts_.tls->authority();
  return make_error(
      absl::StatusCode::kFailedPrecondition, ErrorReason::kCertificateInvalid,
      "this server speaks no TLS, so nobody needs a certificate; start it with --tls-name to have others in");
}

absl::StatusOr<v1::Invitation> EnrollmentDesk::invite(const v1::CreateInvitationRequest& request,
                                                      const Caller& caller) {
  LOCUS_RETURN_IF_ERROR(authority().status());
  const auto role = parse_role(request.role());
  if (!role)
    return invalid_field("role", "\"" + request.role() +
                                     "\" is no role; give worker, viewer, submitter, operator, admin or provisioner");
  if (!valid_name(request.name()))
    return invalid_field(
        "name", "\"" + request.name() + "\" is no name: lower-case letters, digits and dashes, a letter first");
  LOCUS_RETURN_IF_ERROR(check_pool(caller.principal, request, *role));
  const std::string account = request.account().empty() ? request.name() : request.account();
  if (!valid_account(account))
    return invalid_field("account", "an account is text of 1 to 200 bytes without control characters");
  const std::int64_t ttl = request.has_ttl() ? request.ttl().seconds() : kInvitationSeconds;
  if (ttl < 1 || ttl > kInvitationDays * kDay) return invalid_field("ttl", "an invitation is good for 1 s to 30 days");
  LOCUS_ASSIGN_OR_RETURN(const std::string labels, labels_of(caller.principal, request));
  const InvitationToken token{parts_.tls->generation()->checked.fingerprint, new_secret()};
  const Microseconds now = clock_.wall();
  InvitationRow row{hash_of_secret(token.secret),
                    request.name(),
                    account,
                    labels,
                    *role,
                    caller.principal.name,
                    now,
                    now + ttl * kSecond,
                    0};
  caller.about("principals/" + row.name);
  const std::vector<Mutation> all = {PutInvitation{row}, caller.deed()};
  LOCUS_RETURN_IF_ERROR(store_.apply(all, now));
  v1::Invitation out;
  out.set_token(token.text());
  out.set_role(to_string(row.role));
  out.set_name(row.name);
  *out.mutable_expires() = to_timestamp(row.expires_us);
  return out;
}

absl::StatusOr<std::string> EnrollmentDesk::invite_first_admin() {
  LOCUS_ASSIGN_OR_RETURN(const auto rows, store_.identity().certificates());
  const Microseconds now = clock_.wall();
  const bool any = std::any_of(rows.begin(), rows.end(), [&](const CertificateRow& row) {
    return row.role == Role::kAdmin && row.revoked_us == 0 && row.expires_us > now;
  });
  if (any || parts_.tls == nullptr || !parts_.tls->authority().ok()) return std::string();
  const InvitationToken token{parts_.tls->generation()->checked.fingerprint, new_secret()};
  const InvitationRow row{hash_of_secret(token.secret), "admin", "admin", "{}", Role::kAdmin, kLocalName, now,
                          now + kDay * kSecond,         0};
  const std::vector<Mutation> all = {PutInvitation{row}, AppendAudit{audit_row(local_principal(), "first-admin",
                                                                               "principals/admin", absl::OkStatus())}};
  LOCUS_RETURN_IF_ERROR(store_.apply(all, now));
  return token.text();
}

absl::StatusOr<v1::Enrolled> EnrollmentDesk::issue(CertificateRow row, const std::string& request,
                                                   std::vector<Mutation> before, const Caller& caller, int grpc_port) {
  LOCUS_ASSIGN_OR_RETURN(const Authority signer, authority());
  const std::int64_t life = life_of(row.role);
  LOCUS_ASSIGN_OR_RETURN(
      const Certificate certificate,
      signer.sign_client(spiffe_uri(row.role, row.principal), row.principal, request, row.issued_us / kSecond, life));
  row.serial = certificate.serial();
  row.expires_us = certificate.not_after() * kSecond;
  caller.about("principals/" + row.principal);
  before.push_back(PutCertificate{row});
  before.push_back(caller.deed());
  LOCUS_RETURN_IF_ERROR(store_.apply(before, row.issued_us));
  v1::Enrolled out;
  out.set_certificate(certificate.pem());
  out.set_authorities(signer.anchors());
  out.set_role(to_string(row.role));
  out.set_name(row.principal);
  out.set_grpc_port(grpc_port);
  *out.mutable_expires() = to_timestamp(row.expires_us);
  return out;
}

absl::StatusOr<v1::Enrolled> EnrollmentDesk::enroll(const v1::EnrollRequest& request, const Caller& caller,
                                                    int grpc_port) {
  const std::string hash = hash_of_secret(request.secret());
  const auto invitation = store_.identity().invitation(hash);
  if (!invitation.ok()) {
    if (!has_reason(invitation.status(), ErrorReason::kCredentialNotFound)) return invitation.status();
    return make_error(absl::StatusCode::kPermissionDenied, ErrorReason::kInvitationRefused,
                      "this invitation is unknown, was used or has expired; ask for another one");
  }
  // Whoever is known by that name keeps their account.
  std::vector<Mutation> before = {UseInvitation{hash}};
  if (!store_.identity().principal(invitation->name).ok())
    before.push_back(PutPrincipal{{invitation->name, invitation->account, clock_.wall()}});
  CertificateRow row;
  row.principal = invitation->name;
  row.role = invitation->role;
  row.labels_json = invitation->labels_json;
  row.issued_us = clock_.wall();
  return issue(std::move(row), request.request(), std::move(before), caller, grpc_port);
}

absl::StatusOr<v1::Enrolled> EnrollmentDesk::renew(const v1::RenewCertificateRequest& request, const Caller& caller,
                                                   int grpc_port) {
  if (caller.principal.via != Via::kCertificate) {
    return make_error(absl::StatusCode::kFailedPrecondition, ErrorReason::kCertificateInvalid,
                      "only who shows a certificate can have it renewed; enroll with an invitation instead");
  }
  LOCUS_ASSIGN_OR_RETURN(CertificateRow row, store_.identity().certificate(caller.principal.credential));
  row.issued_us = clock_.wall();
  return issue(std::move(row), request.request(), {}, caller, grpc_port);
}

absl::StatusOr<v1::ListCertificatesResponse> EnrollmentDesk::list(const v1::ListCertificatesRequest& request) {
  LOCUS_ASSIGN_OR_RETURN(std::vector<CertificateRow> rows, store_.identity().certificates());
  std::stable_sort(rows.begin(), rows.end(),
                   [](const CertificateRow& a, const CertificateRow& b) { return a.issued_us > b.issued_us; });
  v1::ListCertificatesResponse out;
  for (const CertificateRow& row : rows) {
    if (request.all() || row.expires_us > clock_.wall()) *out.add_certificates() = to_wire(row);
  }
  return out;
}

absl::StatusOr<v1::IssuedCertificate> EnrollmentDesk::revoke(const v1::RevokeCertificateRequest& request,
                                                             const Caller& caller) {
  const std::vector<Mutation> all = {RevokeCertificate{request.serial()}, caller.deed()};
  LOCUS_RETURN_IF_ERROR(store_.apply(all, clock_.wall()));
  if (parts_.end_calls) parts_.end_calls("certificates/" + request.serial());
  LOCUS_ASSIGN_OR_RETURN(const CertificateRow row, store_.identity().certificate(request.serial()));
  return to_wire(row);
}

}  // namespace locus::server
