// Who makes a gRPC call, as the call processor found.
#pragma once

#include <grpcpp/server_context.h>

#include <string>

#include "core/identity/principal.h"
#include "server/authority/gate.h"

namespace locus::server {

// Properties of a call's authentication context: the processor writes them, principal_of reads them.
namespace property {
inline constexpr char kName[] = "locus_name", kAccount[] = "locus_account", kRole[] = "locus_role",
                      kVia[] = "locus_via", kCredential[] = "locus_credential";
// By what OpenCalls ends calls: everything that was shown, each a value of its own ("certificates/SERIAL", "tokens/ID"),
// and when the first of it runs out, in microseconds of the wall clock.
inline constexpr char kShown[] = "locus_shown", kExpires[] = "locus_expires";
}  // namespace property

// The local administrator where nobody is asked; otherwise what the processor wrote, or nobody.
Principal principal_of(const Gate& gate, const grpc::ServerContextBase& context);
// "ipv4:10.0.0.7:4321" -> "10.0.0.7", "ipv6:%5B::1%5D:4321" -> "::1"; what is neither, as it is.
std::string address_of_peer(const std::string& peer);

}  // namespace locus::server
