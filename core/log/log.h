// The log of server and worker: to standard error, one line an entry. The one owner of spdlog, whose headers cost every
// file that sees them seconds.
#pragma once

#include <concepts>
#include <initializer_list>
#include <string>
#include <string_view>

namespace locus {

enum class LogLevel { kDebug, kInfo, kWarning, kError, kCritical };

// A value as an entry shows it.
struct LogValue {
  LogValue(std::string_view value) : text(value) {}
  LogValue(const std::string& value) : text(value) {}
  LogValue(const char* value) : text(value) {}
  template <std::integral Number>
  LogValue(Number value) : text(std::to_string(value)) {}

  std::string text;
};

// Writes an entry, `pattern` with each {} replaced by the next value; a {} without one stays. Never throws; what cannot
// be written is lost. Thread-safe.
void log_entry(LogLevel level, std::string_view pattern, std::initializer_list<LogValue> values) noexcept;

template <class... Values>
void log_debug(std::string_view pattern, const Values&... values) {
  log_entry(LogLevel::kDebug, pattern, {LogValue(values)...});
}
template <class... Values>
void log_info(std::string_view pattern, const Values&... values) {
  log_entry(LogLevel::kInfo, pattern, {LogValue(values)...});
}
template <class... Values>
void log_warning(std::string_view pattern, const Values&... values) {
  log_entry(LogLevel::kWarning, pattern, {LogValue(values)...});
}
template <class... Values>
void log_error(std::string_view pattern, const Values&... values) {
  log_entry(LogLevel::kError, pattern, {LogValue(values)...});
}

// Sets the process's log: entries without control characters, from `level` on, which is "trace", "debug", "info",
// "warn", "error", "critical" or "off". Without a call entries from info on are written, control characters and all.
void set_up_log(const std::string& level);

// Gives every entry the name of who writes it, where no name was given before.
void name_log(const std::string& name);

// Control characters as \n, \t or \xNN, so that no text can forge a line or move a cursor.
std::string escape_controls(std::string_view text);

}  // namespace locus
