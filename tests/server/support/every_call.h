// Every remote call there is, and a way to make any of them.
#pragma once

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/message.h>
#include <grpcpp/generic/generic_stub.h>
#include <gtest/gtest.h>

#include <future>
#include <map>
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

// How a call with this message ends; what it was answered is added to `answer`. A stream that goes on for a second
// counts as let in.
inline grpc::Status make_call(const std::shared_ptr<grpc::Channel>& channel, grpc::ClientContext& context,
                              const std::string& path, const std::string& message = "", std::string* answer = nullptr) {
  const bool goes_on = path.ends_with("/WatchEvents") || path.ends_with("/Watch");
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(goes_on ? 1 : 20));
  grpc::GenericStub stub(channel);
  const grpc::Slice bytes(message);
  const grpc::ByteBuffer request(&bytes, 1);  // one slice even of nothing: a buffer without any is no message
  grpc::ByteBuffer response;
  std::promise<grpc::Status> answered;
  stub.UnaryCall(&context, path, {}, &request, &response,
                 [&](const grpc::Status& status) { answered.set_value(status); });
  const grpc::Status ended = answered.get_future().get();
  std::vector<grpc::Slice> slices;
  if (answer == nullptr || !response.Valid() || !response.Dump(&slices).ok()) return ended;
  for (const grpc::Slice& slice : slices) answer->append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  return ended;
}

// A request with those of these fields that it has, as bytes.
inline std::string request_with(const google::protobuf::MethodDescriptor& method,
                                const std::map<std::string, std::string>& texts,
                                const std::map<std::string, std::int64_t>& numbers = {}) {
  auto* factory = google::protobuf::MessageFactory::generated_factory();
  const std::unique_ptr<google::protobuf::Message> out(factory->GetPrototype(method.input_type())->New());
  const auto* reflection = out->GetReflection();
  using Field = google::protobuf::FieldDescriptor;
  for (const auto& [name, text] : texts) {
    const auto* field = method.input_type()->FindFieldByName(name);
    if (field != nullptr && !field->is_repeated() && field->cpp_type() == Field::CPPTYPE_STRING)
      reflection->SetString(out.get(), field, text);
  }
  for (const auto& [name, number] : numbers) {
    const auto* field = method.input_type()->FindFieldByName(name);
    if (field != nullptr && !field->is_repeated() && field->cpp_type() == Field::CPPTYPE_INT64)
      reflection->SetInt64(out.get(), field, number);
  }
  return out->SerializeAsString();
}

// Whether it was refused for lack of a role: a call that is let in may refuse for reasons of its own.
inline bool lacks_role(const grpc::Status& status) {
  return status.error_code() == grpc::StatusCode::PERMISSION_DENIED &&
         status.error_message().find(" calls as ") != std::string::npos;
}

}  // namespace locus::test
