// Messages as JSON (docs/formats/http.md). Protobuf's own printer goes through the wire format and type
// look-ups by name, some 30 MB a second; a leaderboard or the curves of a page are megabytes, so this one
// walks the message.
#include <google/protobuf/reflection.h>
#include <google/protobuf/util/json_util.h>

#include <charconv>
#include <cmath>

#include "absl/strings/escaping.h"
#include "core/base/error.h"
#include "core/base/invalid.h"
#include "core/base/json.h"
#include "server/http/routes.h"

namespace locus::server {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

google::protobuf::util::JsonPrintOptions options() {
  google::protobuf::util::JsonPrintOptions out;
  out.always_print_primitive_fields = true;
  out.preserve_proto_field_names = true;
  return out;
}

class Writer {
 public:
  void message(const Message& message) {
    const Descriptor* type = message.GetDescriptor();
    if (type->well_known_type() != Descriptor::WELLKNOWNTYPE_UNSPECIFIED) return known(message);
    const Reflection& reflection = *message.GetReflection();
    char before = '{';
    for (int i = 0; i < type->field_count(); ++i) {
      const FieldDescriptor* field = type->field(i);
      if (field->has_presence() && !reflection.HasField(message, field)) continue;
      out_ += before;
      before = ',';
      out_ += '"';
      out_ += field->name();  // an identifier: nothing in it to escape
      out_ += "\":";
      if (field->is_map()) {
        map(message, reflection, field);
      } else if (field->is_repeated()) {
        list(message, reflection, field);
      } else {
        single(message, reflection, field);
      }
    }
    out_ += before == '{' ? "{}" : "}";
  }
  std::string take() { return std::move(out_); }

 private:
  // Times and durations have a form of their own.
  void known(const Message& message) {
    std::string text;
    out_ += google::protobuf::util::MessageToJsonString(message, &text, options()).ok() ? text : "null";
  }

  template <class Number>
  void digits(Number value) {
    char text[32];
    out_.append(text, std::to_chars(text, text + sizeof text, value).ptr);
  }
  template <class Number>
  void real(Number value) {
    if (std::isnan(value)) {
      out_ += "\"NaN\"";
    } else if (std::isinf(value)) {
      out_ += value > 0 ? "\"Infinity\"" : "\"-Infinity\"";
    } else {
      digits(value);
    }
  }
  template <class Number>
  void quoted(Number value) {  // 64 bits are more than a JSON number holds everywhere
    out_ += '"';
    digits(value);
    out_ += '"';
  }
  void text(std::string_view value) {
    out_ += '"';
    std::size_t from = 0;
    for (std::size_t i = 0; i < value.size(); ++i) {
      const auto c = static_cast<unsigned char>(value[i]);
      if (c >= 0x20 && c != '"' && c != '\\') continue;
      out_ += value.substr(from, i - from);
      from = i + 1;
      escaped(c);
    }
    out_ += value.substr(from);
    out_ += '"';
  }
  void escaped(unsigned char c) {
    constexpr char kHex[] = "0123456789abcdef";
    out_ += '\\';
    if (c == '"' || c == '\\') {
      out_ += static_cast<char>(c);
    } else if (c == '\n') {
      out_ += 'n';
    } else {
      out_ += "u00";
      out_ += kHex[c >> 4];
      out_ += kHex[c & 15];
    }
  }
  void word(const FieldDescriptor* field, int value) {
    const auto* known = field->enum_type()->FindValueByNumber(value);
    if (known == nullptr) return digits(value);
    text(known->name());
  }

  void single(const Message& message, const Reflection& reflection, const FieldDescriptor* field) {
    switch (field->cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT32:
        return digits(reflection.GetInt32(message, field));
      case FieldDescriptor::CPPTYPE_UINT32:
        return digits(reflection.GetUInt32(message, field));
      case FieldDescriptor::CPPTYPE_INT64:
        return quoted(reflection.GetInt64(message, field));
      case FieldDescriptor::CPPTYPE_UINT64:
        return quoted(reflection.GetUInt64(message, field));
      case FieldDescriptor::CPPTYPE_DOUBLE:
        return real(reflection.GetDouble(message, field));
      case FieldDescriptor::CPPTYPE_FLOAT:
        return real(reflection.GetFloat(message, field));
      case FieldDescriptor::CPPTYPE_BOOL:
        out_ += reflection.GetBool(message, field) ? "true" : "false";
        return;
      case FieldDescriptor::CPPTYPE_ENUM:
        return word(field, reflection.GetEnumValue(message, field));
      case FieldDescriptor::CPPTYPE_STRING: {
        std::string scratch;
        return string(field, reflection.GetStringReference(message, field, &scratch));
      }
      case FieldDescriptor::CPPTYPE_MESSAGE:
        return this->message(reflection.GetMessage(message, field));
    }
  }
  void string(const FieldDescriptor* field, const std::string& value) {
    text(field->type() == FieldDescriptor::TYPE_BYTES ? absl::Base64Escape(value) : value);
  }

  template <class Items, class Write>
  void items(const Items& all, Write write) {
    char before = '[';
    for (const auto& one : all) {
      out_ += before;
      before = ',';
      write(one);
    }
    out_ += before == '[' ? "[]" : "]";
  }
  void list(const Message& message, const Reflection& reflection, const FieldDescriptor* field) {
    switch (field->cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT32:
        return items(reflection.GetRepeatedFieldRef<std::int32_t>(message, field), [&](auto v) { digits(v); });
      case FieldDescriptor::CPPTYPE_UINT32:
        return items(reflection.GetRepeatedFieldRef<std::uint32_t>(message, field), [&](auto v) { digits(v); });
      case FieldDescriptor::CPPTYPE_INT64:
        return items(reflection.GetRepeatedFieldRef<std::int64_t>(message, field), [&](auto v) { quoted(v); });
      case FieldDescriptor::CPPTYPE_UINT64:
        return items(reflection.GetRepeatedFieldRef<std::uint64_t>(message, field), [&](auto v) { quoted(v); });
      case FieldDescriptor::CPPTYPE_DOUBLE:
        return items(reflection.GetRepeatedFieldRef<double>(message, field), [&](auto v) { real(v); });
      case FieldDescriptor::CPPTYPE_FLOAT:
        return items(reflection.GetRepeatedFieldRef<float>(message, field), [&](auto v) { real(v); });
      case FieldDescriptor::CPPTYPE_BOOL:
        return items(reflection.GetRepeatedFieldRef<bool>(message, field),
                     [&](bool v) { out_ += v ? "true" : "false"; });
      case FieldDescriptor::CPPTYPE_ENUM:
        return items(reflection.GetRepeatedFieldRef<std::int32_t>(message, field), [&](auto v) { word(field, v); });
      case FieldDescriptor::CPPTYPE_STRING:
        return items(reflection.GetRepeatedFieldRef<std::string>(message, field),
                     [&](const std::string& v) { string(field, v); });
      case FieldDescriptor::CPPTYPE_MESSAGE:
        return items(reflection.GetRepeatedFieldRef<Message>(message, field),
                     [&](const Message& v) { this->message(v); });
    }
  }
  // Keys are strings in every map of the API; others are written as their digits.
  void map(const Message& message, const Reflection& reflection, const FieldDescriptor* field) {
    const Descriptor* entry = field->message_type();
    const FieldDescriptor *key = entry->map_key(), *value = entry->map_value();
    char before = '{';
    for (int i = 0; i < reflection.FieldSize(message, field); ++i) {
      const Message& one = reflection.GetRepeatedMessage(message, field, i);
      const Reflection& of_entry = *one.GetReflection();
      out_ += before;
      before = ',';
      const bool bare = key->cpp_type() == FieldDescriptor::CPPTYPE_INT32 ||
                        key->cpp_type() == FieldDescriptor::CPPTYPE_UINT32 ||
                        key->cpp_type() == FieldDescriptor::CPPTYPE_BOOL;
      if (bare) out_ += '"';
      single(one, of_entry, key);
      if (bare) out_ += '"';
      out_ += ':';
      single(one, of_entry, value);
    }
    out_ += before == '{' ? "{}" : "}";
  }

  std::string out_;
};

// The name of the first null; empty without one. What is no JSON is found by protobuf's reader.
std::string find_null(const std::string& json) {
  std::string name = "body", found;
  const auto look = [&](int, Json::parse_event_t event, Json& parsed) {
    if (event == Json::parse_event_t::key) name = parsed.get<std::string>();
    if (event == Json::parse_event_t::value && parsed.is_null() && found.empty()) found = name;
    return true;
  };
  [[maybe_unused]] const Json ignored = Json::parse(json, look, false);
  return found;
}

}  // namespace

std::string to_json(const Message& message) {
  Writer writer;
  writer.message(message);
  return writer.take();
}

absl::Status from_json(const std::string& json, Message* message) {
  // protobuf's reader takes null for a field left out, and thereby a mistake for a default.
  if (const std::string null = find_null(json); !null.empty())
    return invalid(null, "\"" + null + "\" is null; give it a value or leave it out");
  const auto status = google::protobuf::util::JsonStringToMessage(json, message, {});
  if (status.ok()) return absl::OkStatus();
  return make_error(
      absl::StatusCode::kInvalidArgument, ErrorReason::kInvalidArgument,
      "the body is not a " + message->GetDescriptor()->name() + " in JSON: " + std::string(status.message()), "");
}

}  // namespace locus::server
