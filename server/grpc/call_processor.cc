// Asks every gRPC call who makes it.
#include "server/grpc/call_processor.h"

#include <algorithm>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "server/grpc/principal_of.h"
#include "server/wire/status.h"

namespace locus::server {
namespace {

constexpr std::string_view kBearer = "Bearer ";

std::string_view text(const grpc::string_ref& ref) { return {ref.data(), ref.size()}; }

class CallProcessor final : public grpc::AuthMetadataProcessor {
 public:
  CallProcessor(Gate& gate, CertificateReader reader) : gate_(gate), reader_(std::move(reader)) {}
  bool IsBlocking() const override { return true; }  // it reads the store: on a thread of its own

  grpc::Status Process(const InputMetadata& metadata, grpc::AuthContext* context, OutputMetadata* consumed,
                       OutputMetadata* response) override {
    (void)response;
    if (!gate_.asks()) return grpc::Status::OK;
    const auto path = metadata.find(":path");
    const RpcRule* rule = path == metadata.end() ? nullptr : rule_of_path(text(path->second));
    if (rule == nullptr) return grpc::Status(grpc::StatusCode::PERMISSION_DENIED, "there is no such call");
    const auto header = metadata.find("authorization");
    if (header != metadata.end()) consumed->emplace("authorization", std::string(text(header->second)));
    const auto found = judge(header != metadata.end() ? std::optional(text(header->second)) : std::nullopt, *context);
    if (!found.ok() && rule->access.anybody) return grpc::Status::OK;
    if (!found.ok()) return to_grpc_status(found.status());
    if (const absl::Status refused = gate_.permit(found->who, *rule); !refused.ok()) return to_grpc_status(refused);
    return remember(*found, *context);
  }

 private:
  struct Found {
    Principal who;
    std::vector<std::string> shown;  // credentials, as OpenCalls names them
    Microseconds expires_us = 0;     // when the first of them runs out
  };

  // gRPC keeps what it is told for all calls of a connection: it is told once, and a connection is one caller's.
  grpc::Status remember(const Found& found, grpc::AuthContext& context) {
    const std::lock_guard lock(mutex_);
    const Principal& who = found.who;
    const std::pair<const char*, std::string> all[] = {{property::kName, who.name},
                                                       {property::kAccount, who.account},
                                                       {property::kRole, to_string(who.role)},
                                                       {property::kVia, to_string(who.via)},
                                                       {property::kCredential, who.credential}};
    const bool first = context.FindPropertyValues(property::kName).empty();
    for (const auto& [key, value] : all) {
      if (first) context.AddProperty(key, value);
      const auto kept = context.FindPropertyValues(key);
      if (kept.size() != 1 || text(kept.front()) != value) return to_grpc_status(another());
    }
    if (!first) return grpc::Status::OK;
    for (const std::string& credential : found.shown) context.AddProperty(property::kShown, credential);
    context.AddProperty(property::kExpires, std::to_string(found.expires_us));
    return grpc::Status::OK;
  }

  // A certificate is looked at also where a token says who calls: with one that was revoked nobody is let in.
  absl::StatusOr<Found> judge(std::optional<std::string_view> header, const grpc::AuthContext& context) {
    Found out;
    const auto certificates = context.FindPropertyValues("x509_pem_cert");
    const bool certified = reader_ && certificates.size() == 1;
    if (!certified && !header) return gate_.permit(nobody(), kNobodysRule);
    if (certified) {
      LOCUS_ASSIGN_OR_RETURN(const ShownCertificate shown, reader_(text(certificates.front())));
      LOCUS_ASSIGN_OR_RETURN(out.who, gate_.credentials().by_certificate(shown.name, shown.serial, ""));
      out.shown.push_back("certificates/" + shown.serial);
      out.expires_us = shown.expires_us;
    }
    if (header) {
      LOCUS_ASSIGN_OR_RETURN(out.who, by_token(*header));
      out.shown.push_back("tokens/" + out.who.credential);
      out.expires_us = certified ? std::min(out.expires_us, out.who.expires_us) : out.who.expires_us;
    }
    return out;
  }

  // gRPC does not tell a processor where a call comes from: failures are counted for all of them together.
  absl::StatusOr<Principal> by_token(std::string_view header) {
    if (!header.starts_with(kBearer)) return wrong();
    return gate_.credentials().by_token(std::string(header.substr(kBearer.size())), "grpc");
  }

  static absl::Status wrong() {
    return make_error(absl::StatusCode::kUnauthenticated, ErrorReason::kNotAuthenticated,
                      "the authorization of a call is 'Bearer ' and a token");
  }

  static absl::Status another() {
    return make_error(absl::StatusCode::kUnauthenticated, ErrorReason::kNotAuthenticated,
                      "this connection is another caller's, or its role has changed; open a new one");
  }

  static constexpr RpcRule kNobodysRule{"", {}, Ownership::kNothing, ""};  // that nobody may
  Gate& gate_;
  std::mutex mutex_;
  const CertificateReader reader_;
};

}  // namespace

std::shared_ptr<grpc::AuthMetadataProcessor> make_call_processor(Gate& gate, CertificateReader reader) {
  return std::make_shared<CallProcessor>(gate, std::move(reader));
}

}  // namespace locus::server
