// The calls that have an HTTP address, each as a function from message to message: what routes are made of.
#pragma once

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/application/api.h"
#include "server/runtime/pull_source.h"

namespace locus::server {

// Either `answer` or `chunks` is set; both block, and refuse as the gate and the function of Api do. Thread-safe. The message they are given is one of
// method->input_type(), of the generated class.
struct Call {
  using Message = google::protobuf::Message;

  const google::protobuf::MethodDescriptor* method;
  std::function<absl::StatusOr<std::unique_ptr<Message>>(Api& api, const Principal& who, const Message& request)>
      answer = {};
  // The `chunk`s of a streamed answer, one after the other.
  std::function<absl::StatusOr<PullSource<std::string>>(Api& api, const Principal& who, const Message& request)>
      chunks = {};
};

// One for every call of proto/locus/v1 with the option google.api.http. Lives as long as the process.
const std::vector<Call>& calls_with_address();

}  // namespace locus::server
