// Enrollment and renewal.
#include "client/enrollment.h"

#include <fcntl.h>

#include <fstream>
#include <sstream>

#include "client/client.h"
#include "client/https.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/json.h"
#include "core/certificates/certificate.h"
#include "core/certificates/invitation.h"
#include "locus/v1/enrollment_service.pb.h"

namespace locus {
namespace fs = std::filesystem;
namespace {

constexpr auto kEnrollLimit = std::chrono::seconds(20);
constexpr char kAbout[] = "enrollment.json";

absl::StatusOr<std::string> whole_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  if (in) out << in.rdbuf();
  if (in) return out.str();
  return make_error(absl::StatusCode::kNotFound, ErrorReason::kCertificateInvalid,
                    path.string() + " cannot be read: enroll first, with a token of `locus admin invite`", "",
                    {{"path", path.string()}});
}

// The error of a JSON answer, in our form.
absl::Status refusal_of(const HttpsAnswer& answer) {
  const Json body = Json::parse(answer.body, nullptr, false);
  const Json error = body.is_object() ? body.value("error", Json::object()) : Json::object();
  const std::string message = error.value("message", "the server answers " + std::to_string(answer.status));
  const Json details = error.value("details", Json::array());
  const auto reason = parse_error_reason(details.empty() ? "" : details.front().value("reason", ""));
  return make_error(absl::StatusCode::kPermissionDenied, reason.value_or(ErrorReason::kCertificateInvalid), message);
}

absl::Status keep_certificate(const fs::path& folder, const std::string& certificate, const std::string& authorities) {
  const ClientTls files = tls_in(folder);
  LOCUS_RETURN_IF_ERROR(write_file_durably(files.authority, authorities));
  return write_file_durably(files.certificate, certificate);
}

absl::Status make_private(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (!error) fs::permissions(folder, fs::perms::owner_all, error);
  return error ? file_error("cannot make", folder, error.value()) : absl::OkStatus();
}

absl::Status keep_about(const fs::path& folder, const Enrollment& enrolled) {
  Json about = {{"server", enrolled.server}, {"role", enrolled.role}, {"name", enrolled.name}};
  if (!enrolled.token.empty()) about["token"] = enrolled.token;
  return write_file_durably(folder / kAbout, about.dump() + "\n", 0600);
}

}  // namespace

absl::StatusOr<Enrollment> enroll(const std::string& url, const std::string& token, const fs::path& folder) {
  LOCUS_ASSIGN_OR_RETURN(const HttpsAddress address, parse_https(url, "server"));
  const auto invitation = parse_invitation(token);
  if (!invitation) {
    return make_error(absl::StatusCode::kInvalidArgument, ErrorReason::kInvalidArgument,
                      "this is no token of an invitation; copy what `locus admin invite` printed, whole");
  }
  LOCUS_ASSIGN_OR_RETURN(const PrivateKey key, PrivateKey::make());
  LOCUS_ASSIGN_OR_RETURN(const std::string request, key.request("locus"));
  const Json ask = {{"secret", invitation->secret}, {"request", request}};
  LOCUS_ASSIGN_OR_RETURN(const HttpsAnswer answer,
                         post_over_https(address, invitation->fingerprint, "/api/v1/enroll", ask.dump(), kEnrollLimit));
  if (answer.status != 200) return refusal_of(answer);
  const Json got = Json::parse(answer.body, nullptr, false);
  if (!got.is_object() || !got.contains("certificate") || !got.contains("grpc_port"))
    return refusal_of({answer.status, "{}"});
  const bool v6 = address.host.find(':') != std::string::npos;
  const Enrollment out{(v6 ? "[" + address.host + "]" : address.host) + ":" + std::to_string(got.value("grpc_port", 0)),
                       got.value("role", ""), got.value("name", "")};
  LOCUS_RETURN_IF_ERROR(make_private(folder));
  LOCUS_RETURN_IF_ERROR(write_file_durably(tls_in(folder).key, key.pem(), 0600));
  LOCUS_RETURN_IF_ERROR(keep_certificate(folder, got.value("certificate", ""), got.value("authorities", "")));
  LOCUS_RETURN_IF_ERROR(keep_about(folder, out));
  return out;
}

absl::StatusOr<Enrollment> keep_token(const std::string& address, const std::string& token, const fs::path& folder) {
  LOCUS_ASSIGN_OR_RETURN(const auto client, Client::connect(address, {.token = token}));
  LOCUS_ASSIGN_OR_RETURN(const v1::Identity who, client->who_am_i());
  if (who.via() != "token") {
    return make_error(absl::StatusCode::kUnauthenticated, ErrorReason::kNotAuthenticated,
                      who.asked() ? "the token is not known at " + address + ", or not in force any more"
                                  : "the server at " + address + " asks nobody who they are: no login is needed");
  }
  const Enrollment out{address, who.role(), who.name(), token};
  LOCUS_RETURN_IF_ERROR(make_private(folder));
  std::error_code ignored;  // of a login before
  const ClientTls former = tls_in(folder);
  for (const fs::path& file : {former.key, former.certificate, former.authority}) fs::remove(file, ignored);
  LOCUS_RETURN_IF_ERROR(keep_about(folder, out));
  return out;
}

absl::StatusOr<Enrollment> read_enrollment(const fs::path& folder) {
  LOCUS_ASSIGN_OR_RETURN(const std::string text, whole_file(folder / kAbout));
  const Json about = Json::parse(text, nullptr, false);
  if (!about.is_object()) {
    return make_error(absl::StatusCode::kNotFound, ErrorReason::kCertificateInvalid,
                      (folder / kAbout).string() + " is broken; enroll again");
  }
  return Enrollment{about.value("server", ""), about.value("role", ""), about.value("name", ""),
                    about.value("token", "")};
}

absl::StatusOr<bool> renewal_due(const ClientTls& tls, std::int64_t now) {
  LOCUS_ASSIGN_OR_RETURN(const std::string pem, whole_file(tls.certificate));
  LOCUS_ASSIGN_OR_RETURN(const auto chain, Certificate::read(pem, tls.certificate.string()));
  const std::int64_t from = chain.front().not_before(), to = chain.front().not_after();
  return now > from + (to - from) / 3 * 2;
}

absl::Status renew(Client& client, const ClientTls& tls) {
  LOCUS_ASSIGN_OR_RETURN(const std::string pem, whole_file(tls.key));
  LOCUS_ASSIGN_OR_RETURN(const PrivateKey key, PrivateKey::read(pem, tls.key.string()));
  v1::RenewCertificateRequest request;
  LOCUS_ASSIGN_OR_RETURN(*request.mutable_request(), key.request("locus"));
  LOCUS_ASSIGN_OR_RETURN(const v1::Enrolled answer, client.renew_certificate(request));
  LOCUS_RETURN_IF_ERROR(write_file_durably(tls.authority, answer.authorities()));
  return write_file_durably(tls.certificate, answer.certificate());
}

}  // namespace locus
