// The one table of remote calls: who may call what. HTTP routes inherit from the call they stand for.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/identity/role.h"

namespace locus::server {

// What of a request must be the caller's own, an operator's and a local caller's excepted.
enum class Ownership {
  kNothing,
  kExperiment,      // the account of the experiment that the subject names
  kNewExperiment,   // the account of the experiment that a specification names, and the owner it is given
  kArtifactRead,    // something that names the artifact, where that is a checkpoint; a worker's: an input it needs
  kArtifactChange,  // an experiment that names the artifact
  kWorkerName,      // the name of a worker
  kSession,         // the session of a worker
  kAttempt,         // likewise, and an attempt that was granted to it
  kRunningAttempt   // of a worker: it runs something now
};

// Who may call: somebody of these roles, or whoever asks.
struct Access {
  RoleSet roles;
  bool anybody = false;  // nobody is asked who they are
};
namespace access {
inline constexpr Access kViewer{{Role::kViewer}}, kSubmitter{{Role::kSubmitter}}, kOperator{{Role::kOperator}},
    kAdmin{{Role::kAdmin}}, kAdminOrProvisioner{{Role::kAdmin, Role::kProvisioner}}, kWorker{{Role::kWorker}},
    kViewerOrProvisioner{{Role::kViewer, Role::kProvisioner}}, kViewerOrWorker{{Role::kViewer, Role::kWorker}},
    kOperatorOrWorker{{Role::kOperator, Role::kWorker}}, kAnyRole{{Role::kViewer, Role::kWorker, Role::kProvisioner}},
    kAnybody{{}, true};
}  // namespace access

struct RpcRule {
  std::string_view rpc;  // "ExperimentService/CancelExperiment"
  Access access;
  Ownership ownership = Ownership::kNothing;
  std::string_view subject;  // empty: it changes nothing that people would ask about

  constexpr bool changes() const { return !subject.empty(); }
};

inline constexpr RpcRule kRpcRules[] = {
#define LOCUS_RPC(Service, Method, who, ownership, subject) \
  {#Service "/" #Method, access::k##who, Ownership::k##ownership, subject},
#include "server/authority/rpcs.def"
#undef LOCUS_RPC
};

// Calls that gRPC serves by itself. Health says nothing but that the server is up.
inline constexpr RpcRule kForeignRules[] = {
    {"grpc.health.v1.Health/Check", access::kAnybody, Ownership::kNothing, ""},
    {"grpc.health.v1.Health/Watch", access::kAnyRole, Ownership::kNothing, ""},
    {"grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", access::kViewer, Ownership::kNothing, ""},
};

// Null: there is no such call, and nobody may make it.
constexpr const RpcRule* find_rule(std::string_view rpc) {
  for (const RpcRule& rule : kRpcRules) {
    if (rule.rpc == rpc) return &rule;
  }
  for (const RpcRule& rule : kForeignRules) {
    if (rule.rpc == rpc) return &rule;
  }
  return nullptr;
}
// Of a call that is served: without a line in the table it does not compile, for no null pointer is read then.
consteval const RpcRule& line_of(std::string_view rpc) { return *find_rule(rpc); }
#define LOCUS_RULE_OF(Service, Method) line_of(#Service "/" #Method)
// By the path of a gRPC call: "/locus.v1.ExperimentService/CancelExperiment".
constexpr const RpcRule* rule_of_path(std::string_view path) {
  constexpr std::string_view kOurs = "/locus.v1.";
  if (path.starts_with(kOurs)) return find_rule(path.substr(kOurs.size()));
  return path.starts_with('/') ? find_rule(path.substr(1)) : nullptr;
}

}  // namespace locus::server
