// What the OpenAPI document says in words: the comments of the protos, and for what needs none there, descriptions.def.
#pragma once

#include <google/protobuf/descriptor.h>

#include <string>

namespace locus::server {

// Each is a sentence or several; empty where nobody has said anything. Thread-safe.
std::string describe(const google::protobuf::Descriptor* message);
std::string describe(const google::protobuf::FieldDescriptor* field);  // also by its name alone
std::string describe_parameter(const std::string& name);               // of a path: "ordinal"
std::string describe_call(const std::string& rpc);                     // "ExperimentService/GetTable"

}  // namespace locus::server
