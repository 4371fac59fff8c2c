// What the OpenAPI document says in words.
#include "server/http/descriptions.h"

#include <google/protobuf/descriptor.pb.h>

#include <cctype>
#include <map>

#include "proto/described.h"

namespace locus::server {
namespace {

namespace pb = google::protobuf;
using Words = std::map<std::string, std::string>;

// " Lists\n experiments.\n" -> "Lists experiments."
std::string one_line(const std::string& comment) {
  std::string out;
  for (const char c : comment) {
    const bool space = std::isspace(static_cast<unsigned char>(c)) != 0;
    if (!space) {
      out += c;
    } else if (!out.empty() && out.back() != ' ') {
      out += ' ';
    }
  }
  while (!out.empty() && out.back() == ' ') out.pop_back();
  return out;
}

// The name of what a location's path leads to: "SeriesKey.metric", "MetricService/QuerySeries"; empty: of no interest.
std::string name_at(const pb::FileDescriptorProto& file, const pb::SourceCodeInfo::Location& at) {
  if (at.path_size() == 4 && at.path(0) == pb::FileDescriptorProto::kServiceFieldNumber) {
    const auto& service = file.service(at.path(1));
    return service.name() + "/" + service.method(at.path(3)).name();
  }
  if (at.path_size() < 2 || at.path(0) != pb::FileDescriptorProto::kMessageTypeFieldNumber) return "";
  const pb::DescriptorProto* message = &file.message_type(at.path(1));
  std::string name = message->name();
  for (int i = 2; i + 1 < at.path_size(); i += 2) {
    const int index = at.path(i + 1);
    if (at.path(i) == pb::DescriptorProto::kFieldFieldNumber && i + 2 == at.path_size())
      return name + "." + message->field(index).name();
    if (at.path(i) != pb::DescriptorProto::kNestedTypeFieldNumber) return "";
    message = &message->nested_type(index);
    name += "." + message->name();
  }
  return at.path_size() % 2 == 0 ? name : "";
}

Words read_comments() {
  Words out;
  pb::FileDescriptorSet all;
  const std::string_view bytes = described_protos();
  if (!all.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return out;
  for (const auto& file : all.file()) {
    for (const auto& at : file.source_code_info().location()) {
      std::string words = one_line(at.leading_comments() + " " + at.trailing_comments());
      if (words.empty()) continue;
      if (std::string name = name_at(file, at); !name.empty()) out.emplace(std::move(name), std::move(words));
    }
  }
  return out;
}

std::string find(const Words& words, const std::string& name) {
  const auto found = words.find(name);
  return found == words.end() ? "" : found->second;
}

std::string comment(const std::string& name) {
  static const Words comments = read_comments();
  return find(comments, name);
}

// "locus.v1.BackupResponse.Header" -> "BackupResponse.Header"
std::string short_name(const pb::Descriptor* message) {
  return std::string(message->full_name()).substr(message->file()->package().size() + 1);
}

}  // namespace

std::string describe(const pb::Descriptor* message) {
  static const Words messages = {
#define LOCUS_MESSAGE(name, words) {#name, words},
#define LOCUS_FIELD(name, words)
#define LOCUS_CALL(service, name, words)
#include "server/http/descriptions.def"
  };
  const std::string words = comment(short_name(message));
  return words.empty() ? find(messages, short_name(message)) : words;
}

std::string describe_parameter(const std::string& name) {
  static const Words fields = {
#define LOCUS_MESSAGE(name, words)
#define LOCUS_FIELD(name, words) {#name, words},
#define LOCUS_CALL(service, name, words)
#include "server/http/descriptions.def"
  };
  return find(fields, name);
}

std::string describe(const pb::FieldDescriptor* field) {
  const std::string words = comment(short_name(field->containing_type()) + "." + field->name());
  return words.empty() ? describe_parameter(field->name()) : words;
}

std::string describe_call(const std::string& rpc) {
  static const Words calls = {
#define LOCUS_MESSAGE(name, words)
#define LOCUS_FIELD(name, words)
#define LOCUS_CALL(service, name, words) {#service "/" #name, words},
#include "server/http/descriptions.def"
  };
  const std::string words = comment(rpc);
  return words.empty() ? find(calls, rpc) : words;
}

}  // namespace locus::server
