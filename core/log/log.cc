// The log of server and worker.
#include "core/log/log.h"

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <memory>

namespace locus {
namespace {

class EscapedMessage final : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm&, spdlog::memory_buf_t& out) override {
    const std::string text = escape_controls({message.payload.data(), message.payload.size()});
    out.append(text.data(), text.data() + text.size());
  }
  std::unique_ptr<custom_flag_formatter> clone() const override { return std::make_unique<EscapedMessage>(); }
};

spdlog::level::level_enum level_of(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarning:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
    case LogLevel::kCritical:
      break;
  }
  return spdlog::level::critical;
}

std::string filled(std::string_view pattern, std::initializer_list<LogValue> values) {
  std::string out;
  for (const LogValue& value : values) {
    const std::size_t place = pattern.find("{}");
    if (place == std::string_view::npos) break;
    out.append(pattern.substr(0, place)).append(value.text);
    pattern.remove_prefix(place + 2);
  }
  return out.append(pattern);
}

}  // namespace

void log_entry(LogLevel level, std::string_view pattern, std::initializer_list<LogValue> values) noexcept {
  try {
    spdlog::logger& logger = *spdlog::default_logger_raw();
    if (!logger.should_log(level_of(level))) return;
    const std::string text = filled(pattern, values);
    logger.log(level_of(level), spdlog::string_view_t(text.data(), text.size()));
  } catch (...) {  // no memory for an entry
  }
}

void name_log(const std::string& name) {
  if (!spdlog::get(name)) spdlog::set_default_logger(spdlog::stderr_color_mt(name));
}

std::string escape_controls(std::string_view text) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (byte < 0x20 || byte == 0x7f) {
      out += "\\x";
      out += kDigits[byte >> 4];
      out += kDigits[byte & 15];
    } else {
      out += c;
    }
  }
  return out;
}

void set_up_log(const std::string& level) {
  auto logger = std::make_shared<spdlog::logger>("locus", std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
  auto formatter = std::make_unique<spdlog::pattern_formatter>();
  formatter->add_flag<EscapedMessage>('*').set_pattern("%Y-%m-%dT%H:%M:%S.%e%z %^%l%$ %*");
  logger->set_formatter(std::move(formatter));
  logger->set_level(spdlog::level::from_str(level));
  spdlog::set_default_logger(std::move(logger));
}

}  // namespace locus
