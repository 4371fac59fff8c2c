// Messages of every remote call to the gRPC side of a whole server: the first four bytes say of which call (methods.h); of one
// that takes a stream the next says into how many messages of equal length the others are cut. Sessions are those of a registered worker, so that its calls go on.
#include <google/protobuf/descriptor.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/security/credentials.h>

#include <stdexcept>

#include "core/limits.h"
#include "locus/v1/worker_service.grpc.pb.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/service/live_server.h"
#include "tests/fuzz/service/methods.h"

namespace locus::fuzz {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::MessageFactory;
using google::protobuf::MethodDescriptor;

constexpr char kSession[] = "0123456789abcdef0123456789abcdef";
constexpr std::chrono::milliseconds kCallMost{300};  // calls may wait for work as long as they are let

class Caller {
 public:
  Caller() : channel_(grpc::CreateChannel(live_server().grpc, grpc::InsecureChannelCredentials())), stub_(channel_) {
    v1::RegisterWorkerRequest request;
    request.set_name("fuzz");
    request.set_session(kSession);
    request.set_protocol_version(kProtocolVersion);
    request.add_slots()->set_device("cpu");
    v1::RegisterWorkerResponse response;
    grpc::ClientContext context;
    const auto status = v1::WorkerService::NewStub(channel_)->RegisterWorker(&context, request, &response);
    require(status.ok(), "a worker may register");
  }

  void call(const MethodDescriptor* method, const std::vector<std::string>& messages) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kCallMost);
    grpc::CompletionQueue queue;
    auto stream = stub_.PrepareCall(&context, "/" + method->service()->full_name() + "/" + method->name(), &queue);
    stream->StartCall(nullptr);
    bool going = done(queue);
    for (const std::string& message : messages) {
      if (!going) break;
      const grpc::Slice slice(with_session(method, message));
      stream->Write(grpc::ByteBuffer(&slice, 1), nullptr);
      going = done(queue);
    }
    if (going) {
      stream->WritesDone(nullptr);
      done(queue);
    }
    grpc::ByteBuffer answer;
    stream->Read(&answer, nullptr);
    if (done(queue) && method->server_streaming()) context.TryCancel();  // what watches goes on for ever
    grpc::Status status;
    stream->Finish(&status, nullptr);
    done(queue);
    require(
        status.error_code() != grpc::StatusCode::INTERNAL || status.error_message().find("parse") != std::string::npos,
        "no message is an internal error");
  }

 private:
  static bool done(grpc::CompletionQueue& queue) {
    void* tag = nullptr;
    bool ok = false;
    if (!queue.Next(&tag, &ok)) throw std::runtime_error("gRPC has ended");
    return ok;
  }
  static std::string with_session(const MethodDescriptor* method, const std::string& bytes) {
    const std::unique_ptr<Message> message(
        MessageFactory::generated_factory()->GetPrototype(method->input_type())->New());
    if (!message->ParseFromString(bytes)) return bytes;
    const FieldDescriptor* field = method->input_type()->FindFieldByName("session");
    if (field == nullptr || field->cpp_type() != FieldDescriptor::CPPTYPE_STRING) return bytes;
    message->GetReflection()->SetString(message.get(), field, kSession);
    return message->SerializeAsString();
  }

  std::shared_ptr<grpc::Channel> channel_;
  grpc::GenericStub stub_;
};

}  // namespace

void rpc(std::string_view bytes) {
  static Caller caller;
  const MethodDescriptor* method = chosen(all_methods(), bytes);
  const std::size_t pieces = method->client_streaming() ? first_of(bytes) % 4 + 1 : 1;
  std::vector<std::string> messages;
  for (std::size_t i = 0; i < pieces; ++i)
    messages.emplace_back(
        bytes.substr(i * bytes.size() / pieces, (i + 1) * bytes.size() / pieces - i * bytes.size() / pieces));
  caller.call(method, messages);
}

}  // namespace locus::fuzz
