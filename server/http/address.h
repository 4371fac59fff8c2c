// Where calls are found over HTTP: what google.api.http, locus/v1/options.proto and the types of a call say of that.
#pragma once

#include <google/protobuf/descriptor.h>

#include <map>
#include <set>
#include <string>
#include <vector>

namespace locus::server {

// How a request is filled: fields from path variables ("{name}/{ordinal}"), query keys that name another field
// than their own, whether a POST's body is the request, and fields that make no sense at the address.
struct Binding {
  std::map<std::string, std::string> from_path = {};
  std::map<std::string, std::string> query_names = {};
  bool body = false;
  std::set<std::string> without = {};
};

struct CallAddress {
  std::string method, pattern;  // "POST", "/api/v1/experiments/{name}:cancel"
  Binding binding;
};

// The addresses of a call, in the order of its option; none without that option. Pure.
//
// A variable of the path stands for one segment, or for those of its template: "{trial=*/trials/*}". Unlike google.api's own, such a field takes
// the segments that stand for stars alone, "NAME/ORDINAL", and each is a parameter of its own in the pattern: {name} after "experiments",
// {ordinal} after "trials", elsewhere the field's name. Where several addresses of a call give different fields, each is without the fields of the
// others.
std::vector<CallAddress> addresses_of(const google::protobuf::MethodDescriptor* call);

}  // namespace locus::server
