// Reads records, and of their events the scalars (tensorflow/core/util/event.proto, framework/summary.proto).
#include "core/foreign/event_file.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <map>
#include <optional>
#include <string>

#include "core/base/crc32c.h"
#include "core/base/invalid.h"

namespace locus {
namespace {

static_assert(std::endian::native == std::endian::little, "numbers are copied as they lie in the file");

constexpr std::size_t kRecordHead = 12, kRecordTail = 4;  // length and its check sum; the data's

template <class T>
T number_at(std::string_view bytes, std::size_t at) {
  T out{};
  std::memcpy(&out, bytes.data() + at, sizeof out);
  return out;
}

// As TFRecord writes it, so that a check sum of bytes that hold check sums differs from them.
std::uint32_t masked_crc(std::string_view bytes) { return std::rotr(crc32c(bytes), 15) + 0xa282ead8u; }

// The fields of a protocol buffer, one by one.
class Fields {
 public:
  explicit Fields(std::string_view bytes) : rest_(bytes) {}

  // False at the end, and where the bytes are no fields, which broken() then says.
  bool next() {
    std::uint64_t key = 0;
    if (rest_.empty() || broken_) return false;
    if (!varint(&key) || (key >> 3) == 0 || (key >> 3) > 0x1fffffff) return fail();
    field_ = static_cast<std::uint32_t>(key >> 3);
    switch (type_ = static_cast<int>(key & 7)) {
      case 0:
        return varint(&integer_) || fail();
      case 1:
        return take(8) || fail();
      case 2:
        return (varint(&integer_) && integer_ <= rest_.size() && take(static_cast<std::size_t>(integer_))) || fail();
      case 5:
        return take(4) || fail();
      default:
        return fail();
    }
  }
  bool broken() const { return broken_; }
  bool is(std::uint32_t field, int type) const { return field_ == field && type_ == type; }
  std::uint64_t integer() const { return integer_; }
  std::string_view bytes() const { return bytes_; }  // of a text, message or fixed number

 private:
  bool varint(std::uint64_t* out) {
    *out = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (rest_.empty()) return false;
      const auto byte = static_cast<unsigned char>(rest_.front());
      rest_.remove_prefix(1);
      *out |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return true;
    }
    return false;
  }
  bool take(std::size_t count) {
    if (rest_.size() < count) return false;
    bytes_ = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return true;
  }
  bool fail() {
    broken_ = true;
    return false;
  }

  std::string_view rest_, bytes_;
  std::uint64_t integer_ = 0;
  std::uint32_t field_ = 0;
  int type_ = 0;
  bool broken_ = false;
};

struct TensorValue {
  std::uint64_t type = 0;
  std::int64_t elements = 1;
  std::string_view content, floats, doubles;
};

// A dimension of a shape; anything but 1 makes it no scalar.
bool read_shape(std::string_view bytes, TensorValue* out) {
  Fields shape(bytes);
  while (shape.next()) {
    if (!shape.is(2, 2)) continue;
    Fields dimension(shape.bytes());
    std::uint64_t size = 0;
    while (dimension.next()) {
      if (dimension.is(1, 0)) size = dimension.integer();
    }
    if (dimension.broken()) return false;
    if (size != 1) out->elements = 0;
  }
  return !shape.broken();
}

// The one float or double of a tensor.
bool read_tensor(std::string_view bytes, std::optional<double>* out) {
  Fields fields(bytes);
  TensorValue tensor;
  while (fields.next()) {
    if (fields.is(1, 0)) tensor.type = fields.integer();
    if (fields.is(2, 2) && !read_shape(fields.bytes(), &tensor)) return false;
    if (fields.is(4, 2)) tensor.content = fields.bytes();
    if (fields.is(5, 2) || fields.is(5, 5)) tensor.floats = fields.bytes();
    if (fields.is(6, 2) || fields.is(6, 1)) tensor.doubles = fields.bytes();
  }
  if (fields.broken()) return false;
  constexpr std::uint64_t kFloat = 1, kDouble = 2;
  if (tensor.elements != 1) return true;
  if (tensor.type == kFloat) {
    const std::string_view from = tensor.floats.empty() ? tensor.content : tensor.floats;
    if (from.size() == sizeof(float)) *out = static_cast<double>(number_at<float>(from, 0));
  } else if (tensor.type == kDouble) {
    const std::string_view from = tensor.doubles.empty() ? tensor.content : tensor.doubles;
    if (from.size() == sizeof(double)) *out = number_at<double>(from, 0);
  }
  return true;
}

struct SummaryValue {
  std::string tag, display_name, plugin;
  std::optional<double> simple, tensor;
};

bool read_metadata(std::string_view bytes, SummaryValue* out) {
  Fields fields(bytes);
  while (fields.next()) {
    if (fields.is(2, 2)) out->display_name = std::string(fields.bytes());
    if (!fields.is(1, 2)) continue;
    Fields plugin(fields.bytes());
    while (plugin.next()) {
      if (plugin.is(1, 2)) out->plugin = std::string(plugin.bytes());
    }
    if (plugin.broken()) return false;
  }
  return !fields.broken();
}

bool read_value(std::string_view bytes, SummaryValue* out) {
  Fields fields(bytes);
  while (fields.next()) {
    if (fields.is(1, 2)) out->tag = std::string(fields.bytes());
    if (fields.is(2, 5)) out->simple = static_cast<double>(number_at<float>(fields.bytes(), 0));
    if (fields.is(8, 2) && !read_tensor(fields.bytes(), &out->tensor)) return false;
    if (fields.is(9, 2) && !read_metadata(fields.bytes(), out)) return false;
  }
  return !fields.broken();
}

struct Event {
  double wall_time = 0;
  std::int64_t step = 0;
  std::string_view version;
  std::vector<std::string_view> values;
};

bool read_event(std::string_view bytes, Event* out) {
  Fields fields(bytes);
  while (fields.next()) {
    if (fields.is(1, 1)) out->wall_time = number_at<double>(fields.bytes(), 0);
    if (fields.is(2, 0)) out->step = static_cast<std::int64_t>(fields.integer());
    if (fields.is(3, 2)) out->version = fields.bytes();
    if (!fields.is(5, 2)) continue;
    Fields summary(fields.bytes());
    while (summary.next()) {
      if (summary.is(1, 2)) out->values.push_back(summary.bytes());
    }
    if (summary.broken()) return false;
  }
  return !fields.broken();
}

// A name as writers make it a tag.
std::string tag_of(const std::string& name) {
  std::string out;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    const bool kept = std::isalnum(byte) != 0 || c == '_' || c == '-' || c == '/' || c == '.' || byte >= 0x80;
    if (out.empty() && c == '/') continue;
    out += kept ? c : '_';
  }
  return out;
}

Microseconds microseconds_of(double seconds) {
  const double us = std::round(seconds * 1e6);
  return us >= 0 && us < 9e18 ? static_cast<Microseconds>(us) : 0;  // what is no time is none that is known
}

// Adds what events say. A plugin is named with the first value of a tag alone.
class EventScalars {
 public:
  explicit EventScalars(Gathered* out) : out_(out) {}

  // Nothing for bytes that are no event.
  std::optional<absl::Status> add(std::string_view bytes, bool first) {
    Event event;
    if (!read_event(bytes, &event)) return std::nullopt;
    if (first && !event.version.starts_with("brain.Event:")) return std::nullopt;
    for (const std::string_view one : event.values) {
      SummaryValue value;
      if (!read_value(one, &value)) return std::nullopt;
      if (const absl::Status added = take(event, value); !added.ok()) return added;
    }
    return absl::OkStatus();
  }

 private:
  absl::Status take(const Event& event, const SummaryValue& value) {
    if (value.tag == "_hparams_/session_start_info") out_->note_settings();
    std::string& plugin = plugins_[value.tag];
    if (plugin.empty()) plugin = value.plugin;
    const std::optional<double> found = value.simple ? value.simple : plugin == "scalars" ? value.tensor : std::nullopt;
    if (!found) {
      out_->leave_out();
      return absl::OkStatus();
    }
    const bool named = !value.display_name.empty() && tag_of(value.display_name) == value.tag;
    return out_->add(named ? value.display_name : value.tag, event.step, microseconds_of(event.wall_time), *found);
  }

  Gathered* out_;
  std::map<std::string, std::string> plugins_;  // by tag
};

absl::Status wrong_record(std::size_t at, const std::string& what) {
  return invalid("file", "the record at byte " + std::to_string(at) + " " + what +
                             (at == 0 ? ": this is no event file of TensorBoard" : ": the file is damaged"));
}

}  // namespace

absl::Status read_event_file(std::string_view bytes, Gathered* out, EventFileEnd* end) {
  EventScalars scalars(out);
  *end = {};
  std::size_t at = 0;
  while (at < bytes.size()) {
    const std::string_view rest = bytes.substr(at);
    if (rest.size() < kRecordHead) break;
    if (number_at<std::uint32_t>(rest, 8) != masked_crc(rest.substr(0, 8)))
      return wrong_record(at, "has a length whose check sum is wrong");
    const auto length = number_at<std::uint64_t>(rest, 0);
    if (length > rest.size() - kRecordHead || rest.size() - kRecordHead - length < kRecordTail) break;
    const std::string_view data = rest.substr(kRecordHead, length);
    if (number_at<std::uint32_t>(rest, kRecordHead + length) != masked_crc(data))
      return wrong_record(at, "has data whose check sum is wrong");
    const auto added = scalars.add(data, at == 0);
    if (!added) return wrong_record(at, "is no event");
    LOCUS_RETURN_IF_ERROR(*added);
    at += kRecordHead + length + kRecordTail;
  }
  if (at == 0) return wrong_record(0, "is not whole");
  end->cut_off = at < bytes.size();
  return absl::OkStatus();
}

}  // namespace locus
