// Every remote call there is, and a way to make any of them.
#pragma once

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>
#include <grpcpp/generic/generic_stub.h>
#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <string>
#include <vector>

#include "proto/described.h"

namespace locus::test {

// Every method of every service of the protos, whether somebody thought of it here or not.
inline std::vector<const google::protobuf::MethodDescriptor*> all_methods() {
  google::protobuf::FileDescriptorSet set;
  EXPECT_TRUE(set.ParseFromString(std::string(described_protos())));
  std::vector<const google::protobuf::MethodDescriptor*> out;
  for (const auto& described : set.file()) {
    const auto* file = google::protobuf::DescriptorPool::generated_pool()->FindFileByName(described.name());
    if (file == nullptr) continue;  // of messages that this program does not use: no service of it is served
    for (int s = 0; s < file->service_count(); ++s) {
      for (int m = 0; m < file->service(s)->method_count(); ++m) out.push_back(file->service(s)->method(m));
    }
  }
  return out;
}

// "ExperimentService/CancelExperiment", and as gRPC has it.
inline std::string rpc_of(const google::protobuf::MethodDescriptor& method) {
  return method.service()->name() + "/" + method.name();
}
inline std::string path_of(const google::protobuf::MethodDescriptor& method) { return "/locus.v1." + rpc_of(method); }

// How a call with this message ends. A stream that goes on for a second counts as let in.
inline grpc::Status make_call(const std::shared_ptr<grpc::Channel>& channel, grpc::ClientContext& context,
                              const std::string& path, const std::string& message = "") {
  const bool goes_on = path.ends_with("/WatchEvents") || path.ends_with("/Watch");
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(goes_on ? 1 : 20));
  grpc::GenericStub stub(channel);
  const grpc::Slice bytes(message);
  const grpc::ByteBuffer request(&bytes, 1);  // one slice even of nothing: a buffer without any is no message
  grpc::ByteBuffer response;
  std::promise<grpc::Status> answered;
  stub.UnaryCall(&context, path, {}, &request, &response,
                 [&](const grpc::Status& status) { answered.set_value(status); });
  return answered.get_future().get();
}

// Whether it was refused for lack of a role: a call that is let in may refuse for reasons of its own.
inline bool lacks_role(const grpc::Status& status) {
  return status.error_code() == grpc::StatusCode::PERMISSION_DENIED &&
         status.error_message().find(" calls as ") != std::string::npos;
}

}  // namespace locus::test
