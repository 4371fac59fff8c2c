// Every call that a descriptor declares is answered by somebody.
#include <google/protobuf/descriptor.h>
#include <grpcpp/generic/generic_stub.h>

#include <future>

#include "tests/server/support/server_fixture.h"

namespace locus::test {
namespace {

class Reach : public ServerTest {
 protected:
  // Opens the call, sends one empty message and half-closes; the status it ends with.
  grpc::Status call(const std::string& method) {
    grpc::GenericStub stub(channel_);
    const auto context = deadline(5);
    grpc::CompletionQueue queue;
    auto stream = stub.PrepareCall(context.get(), method, &queue);
    const auto wait = [&queue] {
      void* tag = nullptr;
      bool ok = false;
      queue.Next(&tag, &ok);
      return ok;
    };
    stream->StartCall(nullptr);
    wait();
    const grpc::Slice nothing("");  // an empty message, which a buffer without slices is not
    stream->WriteLast(grpc::ByteBuffer(&nothing, 1), grpc::WriteOptions(), nullptr);
    wait();
    grpc::Status status;
    std::vector<grpc::ByteBuffer> answers(8);
    for (auto& answer : answers) {
      stream->Read(&answer, nullptr);
      if (!wait() || method.find("WatchEvents") != std::string::npos) break;
    }
    if (method.find("WatchEvents") != std::string::npos) context->TryCancel();
    stream->Finish(&status, nullptr);
    wait();
    queue.Shutdown();
    return status;
  }
};

TEST_F(Reach, AnswersEveryCallOfEveryService) {
  start();
  submit(small_specification());  // so that a watcher has something to read
  int calls = 0;
  for (const char* file :
       {"locus/v1/experiment_service.proto", "locus/v1/metric_service.proto", "locus/v1/artifact_service.proto",
        "locus/v1/catalog_service.proto", "locus/v1/worker_service.proto"}) {
    const auto* descriptor = google::protobuf::DescriptorPool::generated_pool()->FindFileByName(file);
    ASSERT_NE(descriptor, nullptr) << file;
    for (int s = 0; s < descriptor->service_count(); ++s) {
      for (int m = 0; m < descriptor->service(s)->method_count(); ++m) {
        const auto* method = descriptor->service(s)->method(m);
        const grpc::Status status = call("/" + descriptor->service(s)->full_name() + "/" + method->name());
        EXPECT_NE(status.error_code(), grpc::StatusCode::UNIMPLEMENTED) << method->full_name();
        EXPECT_NE(status.error_code(), grpc::StatusCode::INTERNAL)
            << method->full_name() << ": " << status.error_message();
        ++calls;
      }
    }
  }
  EXPECT_GE(calls, 25);
}

TEST_F(Reach, AnswersHealthAndReflection) {
  start();
  EXPECT_TRUE(call("/grpc.health.v1.Health/Check").ok());
  EXPECT_NE(call("/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo").error_code(),
            grpc::StatusCode::UNIMPLEMENTED);
  EXPECT_EQ(call("/locus.v1.ExperimentService/NoSuchCall").error_code(), grpc::StatusCode::UNIMPLEMENTED);
  EXPECT_TRUE(server_->answers());
}

}  // namespace
}  // namespace locus::test
