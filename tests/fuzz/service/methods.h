// Remote calls as inputs choose them.
#pragma once

#include <google/protobuf/descriptor.h>

#include <string>
#include <string_view>
#include <vector>

namespace locus::fuzz {

using Methods = std::vector<const google::protobuf::MethodDescriptor*>;

// Every call of proto/locus/v1, and those of them that have an address on the HTTP side.
const Methods& all_methods();
const Methods& methods_with_address();

// "ExperimentService.GetTable"
std::string name_of(const google::protobuf::MethodDescriptor& method);

// The four bytes that choose a method, made of its name alone.
std::string choice_of(const google::protobuf::MethodDescriptor& method);

// The method whose choice comes next at or after the first four bytes, which are taken off: one call more leaves what
// the inputs of the others choose as it is.
const google::protobuf::MethodDescriptor* chosen(const Methods& methods, std::string_view& bytes);

}  // namespace locus::fuzz
