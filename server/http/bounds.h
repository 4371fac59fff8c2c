// What the server takes in a request's field beyond its type, in JSON Schema's words.
#pragma once

#include <google/protobuf/descriptor.h>

#include "core/base/json.h"

namespace locus::server {

// Keywords for the field's schema: minimum, maximum, pattern, enum, minItems, minLength; an empty object where the type says
// it all. For a list that a URL or body carries, those of its items stand under "items". Pure.
Json bounds_of(const google::protobuf::FieldDescriptor* field);

// Whether a request without the field is always refused.
bool is_wanted(const google::protobuf::FieldDescriptor* field);

}  // namespace locus::server
