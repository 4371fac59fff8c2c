// A whole server in memory.
#include "tests/fuzz/service/live_server.h"

#include <fstream>
#include <stdexcept>

#include "core/log/log.h"
#include "storage/artifacts/memory.h"
#include "storage/memory/store.h"

namespace locus::fuzz {
namespace {

std::unique_ptr<Server> started() {
  set_up_log("critical");
  std::ifstream in(LOCUS_TEST_CATALOG);
  ServerParts parts{.store = make_memory_store(),
                    .artifacts = make_memory_artifacts(),
                    .catalog = Catalog::parse(Json::parse(in)).value(),
                    .claims = {}};
  ServerOptions options;
  options.grpc_address = options.http_address = "127.0.0.1:0";
  auto server = Server::start(options, std::move(parts));
  if (!server.ok()) throw std::runtime_error(server.status().ToString());
  return *std::move(server);
}

}  // namespace

const ServerAddresses& live_server() {
  static const std::unique_ptr<Server> kServer = started();
  static const ServerAddresses kAddresses = kServer->addresses();
  return kAddresses;
}

}  // namespace locus::fuzz
