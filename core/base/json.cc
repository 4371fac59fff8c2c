// RFC 8785: the JSON Canonicalization Scheme.
#include "core/base/json.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <vector>

#include "core/base/utf8.h"

namespace locus {
namespace {

// UTF-8 to UTF-16 code units, the order RFC 8785 sorts keys in. Refuses what is not well-formed UTF-8.
std::u16string utf16(std::string_view text) {
  std::u16string out;
  for (std::size_t i = 0; i < text.size();) {
    const auto [code, bytes] = utf8_at(text, i);
    if (bytes == 0) throw std::invalid_argument("canonical JSON: a string is not valid UTF-8");
    if (code >= 0x10000) {
      out += static_cast<char16_t>(0xd7c0 + (code >> 10));
      out += static_cast<char16_t>(0xdc00 + (code & 0x3ff));
    } else {
      out += static_cast<char16_t>(code);
    }
    i += bytes;
  }
  return out;
}

void write_string(std::string_view text, std::string& out) {
  constexpr char kDigits[] = "0123456789abcdef";
  out += '"';
  for (const char c : text) {
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\b':
        out += "\\b";
        break;
      case '\f':
        out += "\\f";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20) {
          out += "\\u00";
          out += kDigits[c >> 4];
          out += kDigits[c & 15];
        } else {
          out += c;
        }
    }
  }
  out += '"';
}

// Number::toString of ECMA-262 from the shortest digits that round-trip.
void write_number(double value, std::string& out) {
  if (!std::isfinite(value)) throw std::invalid_argument("canonical JSON: NaN and infinities have no form");
  if (value == 0) {
    out += '0';  // and so is -0
    return;
  }
  if (value < 0) out += '-';
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, std::abs(value), std::chars_format::scientific).ptr;
  const std::string_view shortest(text, end - text);  // d.ddde+XX
  const std::size_t e = shortest.find('e');
  std::string digits(1, shortest[0]);
  if (e > 1) digits += shortest.substr(2, e - 2);
  int exponent = 0;
  const std::size_t sign = e + 1;
  std::from_chars(shortest.data() + sign + 1, shortest.data() + shortest.size(), exponent);
  if (shortest[sign] == '-') exponent = -exponent;
  const int n = exponent + 1;  // value = 0.digits * 10^n
  const int k = static_cast<int>(digits.size());
  if (k <= n && n <= 21) {
    out.append(digits).append(n - k, '0');
  } else if (0 < n && n <= 21) {
    out.append(digits, 0, n).append(1, '.').append(digits, n);
  } else if (-6 < n && n <= 0) {
    out.append("0.").append(-n, '0').append(digits);
  } else {
    out += digits[0];
    if (k > 1) out.append(1, '.').append(digits, 1);
    out.append(exponent < 0 ? "e-" : "e+").append(std::to_string(std::abs(exponent)));
  }
}

template <class Integer>
void write_integer(Integer value, std::string& out) {
  constexpr std::int64_t kExact = std::int64_t{1} << 53;
  if constexpr (std::is_signed_v<Integer>) {
    if (value >= -kExact && value <= kExact) return void(out += std::to_string(value));
  } else {
    if (value <= static_cast<std::uint64_t>(kExact)) return void(out += std::to_string(value));
  }
  const long double exact = static_cast<long double>(value);
  const double rounded = static_cast<double>(value);
  // Two different integers must never share a canonical form.
  if (static_cast<long double>(rounded) != exact) {
    throw std::invalid_argument("canonical JSON: the integer " + std::to_string(value) + " is not exactly a double");
  }
  write_number(rounded, out);
}

void write(const Json& value, std::string& out);

void write_object(const Json& value, std::string& out) {
  struct Member {
    std::u16string order;
    const std::string* key;
    const Json* value;
  };
  std::vector<Member> sorted;
  for (const auto& [key, member] : value.get_ref<const Json::object_t&>())
    sorted.push_back({utf16(key), &key, &member});
  std::sort(sorted.begin(), sorted.end(), [](const Member& a, const Member& b) { return a.order < b.order; });
  out += '{';
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    if (i > 0) out += ',';
    write_string(*sorted[i].key, out);
    out += ':';
    write(*sorted[i].value, out);
  }
  out += '}';
}

void write(const Json& value, std::string& out) {
  switch (value.type()) {
    case Json::value_t::null:
      out += "null";
      break;
    case Json::value_t::boolean:
      out += value.get<bool>() ? "true" : "false";
      break;
    case Json::value_t::number_integer:
      write_integer(value.get<std::int64_t>(), out);
      break;
    case Json::value_t::number_unsigned:
      write_integer(value.get<std::uint64_t>(), out);
      break;
    case Json::value_t::number_float:
      write_number(value.get<double>(), out);
      break;
    case Json::value_t::string: {
      const auto& text = value.get_ref<const std::string&>();
      utf16(text);  // refuses malformed text
      write_string(text, out);
      break;
    }
    case Json::value_t::array: {
      out += '[';
      bool first = true;
      for (const Json& element : value) {
        if (!first) out += ',';
        first = false;
        write(element, out);
      }
      out += ']';
      break;
    }
    case Json::value_t::object:
      write_object(value, out);
      break;
    default:
      throw std::invalid_argument("canonical JSON: a value of no JSON type");
  }
}

}  // namespace

std::string canonical_json(const Json& value) {
  std::string out;
  write(value, out);
  return out;
}

Json number_to_json(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  return value;
}

double number_from_json(const Json& value) {
  if (value.is_number()) return value.get<double>();
  if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    if (text == "NaN") return std::numeric_limits<double>::quiet_NaN();
    if (text == "Infinity") return std::numeric_limits<double>::infinity();
    if (text == "-Infinity") return -std::numeric_limits<double>::infinity();
  }
  throw std::invalid_argument("not a number, \"NaN\", \"Infinity\" or \"-Infinity\"");
}

}  // namespace locus
