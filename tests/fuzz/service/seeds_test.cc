// Every remote call has an input of its own to begin with, under its name. LOCUS_UPDATE_GOLDEN=1 writes those that are
// missing, and those whose message has changed, anew.
#include <google/protobuf/message.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>

#include "server/http/routes.h"
#include "tests/fuzz/service/methods.h"

namespace locus::fuzz {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::MessageFactory;
using google::protobuf::MethodDescriptor;

constexpr int kDeepest = 4;  // messages within messages

// A specification that the catalog of tests can plan.
constexpr char kSpecification[] =
    R"({"version":1,"name":"small","dataset":"fashion-mnist","model":{"backbone":"vit","dim":64,"depth":3,"heads":4,)"
    R"("patch":7,"pool":"mean"},"train":{"epochs":2,"batch":32,"lr":0.003,"limit":16000},)"
    R"("matrix":{"prior":["none","learned-absolute"]},"replicates":{"seed":[0,1]}})";

std::string text_for(const FieldDescriptor& field) {
  const std::string& name = field.name();
  if (name == "spec_json") return kSpecification;
  if (name.ends_with("_json")) return "{}";
  if (name.ends_with("sha256")) return std::string(64, 'a');
  return "small";
}

void fill(Message& message, int depth);

// Puts one value into the field, or one more where it is repeated.
void fill_field(Message& message, const FieldDescriptor& field, int depth) {
  const auto* how = message.GetReflection();
  const bool many = field.is_repeated();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return many ? how->AddInt32(&message, &field, 1) : how->SetInt32(&message, &field, 1);
    case FieldDescriptor::CPPTYPE_INT64:
      return many ? how->AddInt64(&message, &field, 1) : how->SetInt64(&message, &field, 1);
    case FieldDescriptor::CPPTYPE_UINT32:
      return many ? how->AddUInt32(&message, &field, 1) : how->SetUInt32(&message, &field, 1);
    case FieldDescriptor::CPPTYPE_UINT64:
      return many ? how->AddUInt64(&message, &field, 1) : how->SetUInt64(&message, &field, 1);
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return many ? how->AddDouble(&message, &field, 0.5) : how->SetDouble(&message, &field, 0.5);
    case FieldDescriptor::CPPTYPE_FLOAT:
      return many ? how->AddFloat(&message, &field, 0.5f) : how->SetFloat(&message, &field, 0.5f);
    case FieldDescriptor::CPPTYPE_BOOL:
      return many ? how->AddBool(&message, &field, true) : how->SetBool(&message, &field, true);
    case FieldDescriptor::CPPTYPE_ENUM: {
      const int value = field.enum_type()->value(field.enum_type()->value_count() > 1 ? 1 : 0)->number();
      return many ? how->AddEnumValue(&message, &field, value) : how->SetEnumValue(&message, &field, value);
    }
    case FieldDescriptor::CPPTYPE_STRING:
      return many ? how->AddString(&message, &field, text_for(field))
                  : how->SetString(&message, &field, text_for(field));
    case FieldDescriptor::CPPTYPE_MESSAGE:
      if (depth < kDeepest)
        fill(many ? *how->AddMessage(&message, &field) : *how->MutableMessage(&message, &field), depth + 1);
  }
}

void fill(Message& message, int depth) {
  for (int i = 0; i < message.GetDescriptor()->field_count(); ++i)
    fill_field(message, *message.GetDescriptor()->field(i), depth);
}

std::unique_ptr<Message> filled_request(const MethodDescriptor& method) {
  std::unique_ptr<Message> out(MessageFactory::generated_factory()->GetPrototype(method.input_type())->New());
  fill(*out, 0);
  return out;
}

// The seed of every method in that folder, held to what it should be.
void check_seeds(const std::string& target, const Methods& methods,
                 const std::function<std::string(const MethodDescriptor&)>& seed) {
  ASSERT_FALSE(methods.empty());
  for (const MethodDescriptor* method : methods) {
    const auto file = std::filesystem::path(LOCUS_FUZZ_CORPUS) / target / name_of(*method);
    const std::string expected = choice_of(*method) + seed(*method);
    if (std::getenv("LOCUS_UPDATE_GOLDEN") != nullptr) std::ofstream(file, std::ios::binary) << expected;
    std::ifstream in(file, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(in), {}};
    EXPECT_EQ(bytes, expected) << file << " is not the seed of its call: LOCUS_UPDATE_GOLDEN=1 writes it";
    std::string_view rest = bytes;
    EXPECT_EQ(chosen(methods, rest), method) << file;
  }
}

TEST(Seeds, OfRpcAreThoseOfEveryCall) {
  check_seeds("rpc", all_methods(), [](const MethodDescriptor& method) {
    // Of a stream one message: the byte that says so is the number before it.
    return std::string(method.client_streaming() ? 1 : 0, '\0') + filled_request(method)->SerializeAsString();
  });
}

TEST(Seeds, OfHttpMessageAreThoseOfEveryCallWithAnAddress) {
  check_seeds("http_message", methods_with_address(),
              [](const MethodDescriptor& method) { return server::to_json(*filled_request(method)); });
}

}  // namespace
}  // namespace locus::fuzz
