// Remote calls by their names.
#include "tests/fuzz/service/methods.h"

#include <algorithm>
#include <cstdint>
#include <set>

#include "locus/v1/worker_service.pb.h"
#include "server/http/calls.h"
#include "tests/fuzz/fuzz.h"

namespace locus::fuzz {
namespace {

using google::protobuf::MethodDescriptor;

constexpr int kChoiceBytes = 4;

// FNV-1a, 32 bits.
std::uint32_t number_of(const MethodDescriptor& method) {
  std::uint32_t out = 2166136261u;
  for (const char c : name_of(method)) out = (out ^ static_cast<unsigned char>(c)) * 16777619u;
  return out;
}

Methods in_order(Methods methods) {
  std::sort(methods.begin(), methods.end(), [](const auto* a, const auto* b) { return number_of(*a) < number_of(*b); });
  return methods;
}

}  // namespace

const Methods& all_methods() {
  static const Methods kAll = [] {
    std::set<const google::protobuf::FileDescriptor*> files{v1::PointColumns::descriptor()->file()};
    for (const auto& call : server::calls_with_address()) files.insert(call.method->file());
    Methods out;
    for (const auto* file : files) {
      for (int i = 0; i < file->service_count(); ++i) {
        for (int j = 0; j < file->service(i)->method_count(); ++j) out.push_back(file->service(i)->method(j));
      }
    }
    return in_order(out);
  }();
  return kAll;
}

const Methods& methods_with_address() {
  static const Methods kAddressed = [] {
    Methods out;
    for (const auto& call : server::calls_with_address()) out.push_back(call.method);
    return in_order(out);
  }();
  return kAddressed;
}

std::string name_of(const MethodDescriptor& method) { return method.service()->name() + "." + method.name(); }

std::string choice_of(const MethodDescriptor& method) {
  std::string out;
  for (int shift = 8 * (kChoiceBytes - 1); shift >= 0; shift -= 8)
    out += static_cast<char>(number_of(method) >> shift & 0xffu);
  return out;
}

const MethodDescriptor* chosen(const Methods& methods, std::string_view& bytes) {
  std::uint32_t number = 0;
  for (int i = 0; i < kChoiceBytes; ++i) number = number << 8 | first_of(bytes);
  const auto next = std::lower_bound(methods.begin(), methods.end(), number,
                                     [](const auto* method, std::uint32_t n) { return number_of(*method) < n; });
  return next == methods.end() ? methods.front() : *next;
}

}  // namespace locus::fuzz
