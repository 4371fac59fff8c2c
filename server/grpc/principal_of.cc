// Who makes a gRPC call, as the call processor found.
#include "server/grpc/principal_of.h"

#include <grpcpp/security/auth_context.h>

namespace locus::server {
namespace {

std::string property_of(const grpc::AuthContext& context, const char* name) {
  const auto values = context.FindPropertyValues(name);
  return values.size() == 1 ? std::string(values.front().data(), values.front().size()) : std::string();
}

}  // namespace

std::string address_of_peer(const std::string& peer) {
  const bool six = peer.starts_with("ipv6:");
  if (!six && !peer.starts_with("ipv4:")) return peer;
  std::string address = peer.substr(5, peer.rfind(':') - 5);
  for (const char* bracket : {"%5B", "%5D", "[", "]"}) {
    if (const std::size_t at = address.find(bracket); at != std::string::npos)
      address.erase(at, std::string(bracket).size());
  }
  return address;
}

Principal principal_of(const Gate& gate, const grpc::ServerContextBase& context) {
  std::string address = address_of_peer(context.peer());
  if (!gate.asks()) return local_principal(std::move(address));
  const auto auth = context.auth_context();
  if (!auth) return nobody(std::move(address));
  const auto role = parse_role(property_of(*auth, property::kRole));
  const std::string name = property_of(*auth, property::kName), via = property_of(*auth, property::kVia);
  if (!role || name.empty()) return nobody(std::move(address));
  return {.name = name,
          .account = property_of(*auth, property::kAccount),
          .role = *role,
          .via = via == to_string(Via::kCertificate) ? Via::kCertificate : Via::kToken,
          .credential = property_of(*auth, property::kCredential),
          .address = std::move(address)};
}

}  // namespace locus::server
