// Where calls are found over HTTP.
#include "server/http/address.h"

#include "google/api/annotations.pb.h"
#include "locus/v1/options.pb.h"

namespace locus::server {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::MethodDescriptor;

// "/experiments" -> "name": what the segment after it is called.
std::string parameter_after(const std::string& path, const std::string& field) {
  const std::string collection = path.substr(path.rfind('/') + 1);
  return collection == "experiments" ? "name" : collection == "trials" ? "ordinal" : field;
}

// Reads a path template from left to right.
class Template {
 public:
  explicit Template(const std::string& path) {
    std::size_t at = 0;
    for (std::size_t open = path.find('{'); open != std::string::npos; open = path.find('{', at)) {
      const std::size_t close = path.find('}', open);
      pattern_ += path.substr(at, open - at);
      variable(path.substr(open + 1, close - open - 1));
      at = close + 1;
    }
    pattern_ += path.substr(at);
  }
  const std::string& pattern() const { return pattern_; }
  const std::map<std::string, std::string>& fields() const { return fields_; }

 private:
  // "trial=*/trials/*" or "name", which is short for "name=*".
  void variable(const std::string& text) {
    const std::size_t equals = text.find('=');
    const std::string field = text.substr(0, equals),
                      segments = equals == std::string::npos ? "*" : text.substr(equals + 1);
    for (const char c : segments) {
      if (c != '*') {
        pattern_ += c;
        continue;
      }
      const std::string before = pattern_.substr(0, pattern_.size() - 1);  // without the slash
      const std::string parameter = "{" + parameter_after(before, field) + "}";
      pattern_ += parameter;
      std::string& value = fields_[field];
      value += (value.empty() ? "" : "/") + parameter;
    }
  }

  std::string pattern_;
  std::map<std::string, std::string> fields_;
};

CallAddress read(const google::api::HttpRule& rule) {
  const bool get = rule.pattern_case() == google::api::HttpRule::kGet;
  const Template path(get ? rule.get() : rule.post());
  CallAddress out{get ? "GET" : "POST", path.pattern(), {}};
  out.binding.from_path = path.fields();
  out.binding.body = rule.body() == "*";
  return out;
}

void read_options(const Descriptor* request, Binding& binding) {
  for (int i = 0; i < request->field_count(); ++i) {
    const FieldDescriptor* field = request->field(i);
    const std::string& with = field->options().GetExtension(v1::only_with);
    if (!with.empty() && !binding.from_path.contains(with)) binding.without.insert(field->name());
    if (!field->options().GetExtension(v1::flat)) continue;
    for (int j = 0; j < field->message_type()->field_count(); ++j) {
      const std::string& inner = field->message_type()->field(j)->name();
      binding.query_names[inner] = field->name() + "." + inner;
    }
  }
}

}  // namespace

std::vector<CallAddress> addresses_of(const MethodDescriptor* call) {
  if (!call->options().HasExtension(google::api::http)) return {};
  const google::api::HttpRule& first = call->options().GetExtension(google::api::http);
  std::vector<CallAddress> out{read(first)};
  for (const auto& rule : first.additional_bindings()) out.push_back(read(rule));
  std::set<std::string> given;  // by the path of any address
  for (const CallAddress& address : out) {
    for (const auto& [field, text] : address.binding.from_path) given.insert(field);
  }
  for (CallAddress& address : out) {
    for (const std::string& field : given) {
      if (!address.binding.from_path.contains(field)) address.binding.without.insert(field);
    }
    read_options(call->input_type(), address.binding);
  }
  return out;
}

}  // namespace locus::server
