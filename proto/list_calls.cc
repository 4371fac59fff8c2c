// list_calls DESCRIPTORS HEADER: writes the calls that the protos describe as lists for the preprocessor. Services, routes and the client are made
// from these lists, so that nothing names a call again.
#include <google/protobuf/descriptor.pb.h>

#include <cctype>
#include <fstream>
#include <iostream>
#include <string>

#include "google/api/annotations.pb.h"
#include "locus/v1/options.pb.h"

namespace {

namespace pb = google::protobuf;

// "GetCurves" -> "get_curves"
std::string in_small_letters(const std::string& name) {
  std::string out;
  for (const char c : name) {
    if (std::isupper(static_cast<unsigned char>(c)) != 0 && !out.empty()) out += '_';
    out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return out;
}

// ".locus.v1.Curves" -> "Curves"
std::string short_name(const std::string& name) { return name.substr(name.rfind('.') + 1); }

std::string line(const pb::ServiceDescriptorProto& service, const pb::MethodDescriptorProto& method) {
  return " \\\n  CALL(" + service.name() + ", " + method.name() + ", " + in_small_letters(method.name()) + ", " +
         short_name(method.input_type()) + ", " + short_name(method.output_type()) + ", " +
         (method.options().GetExtension(locus::v1::slow) ? "true" : "false") + ")";
}

std::string lists(const pb::FileDescriptorSet& all) {
  std::string unary, addressed, streams, services;
  for (const auto& file : all.file()) {
    for (const auto& service : file.service()) {
      std::string of_service;
      for (const auto& method : service.method()) {
        if (method.client_streaming()) continue;
        const bool has_address = method.options().HasExtension(google::api::http);
        if (!method.server_streaming()) unary += line(service, method);
        if (!method.server_streaming() && has_address) of_service += line(service, method);
        if (method.server_streaming() && has_address) streams += line(service, method);
      }
      services += "#define LOCUS_CALLS_OF_" + service.name() + "(CALL)" + of_service + "\n";
      addressed += of_service;
    }
  }
  return "// Made from proto/locus/v1 by proto/list_calls.cc.\n"
         "// CALL(Service, Method, function, Request, Response, slow): the method of the service, and its name in "
         "small "
         "letters.\n#pragma once\n\n"
         "// Every unary call.\n#define LOCUS_UNARY_CALLS(CALL)" +
         unary +
         "\n\n// Unary calls with an HTTP address: those that people make.\n#define LOCUS_ADDRESSED_CALLS(CALL)" +
         addressed +
         "\n\n// Calls with an HTTP address that stream their answer.\n#define LOCUS_ADDRESSED_STREAMS(CALL)" +
         streams + "\n\n// Unary calls with an HTTP address, by service.\n" + services;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: list_calls DESCRIPTORS HEADER\n";
    return 2;
  }
  pb::FileDescriptorSet all;
  std::ifstream in(argv[1], std::ios::binary);
  if (!all.ParseFromIstream(&in)) {
    std::cerr << "list_calls: " << argv[1] << " is no set of descriptors; protoc --descriptor_set_out writes one\n";
    return 1;
  }
  std::ofstream out(argv[2]);
  out << lists(all);
  if (out.flush()) return 0;
  std::cerr << "list_calls: cannot write " << argv[2] << "\n";
  return 1;
}
