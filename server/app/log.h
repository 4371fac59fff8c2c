// The server's log: to standard error, one line an entry whatever a message holds.
#pragma once

#include <string>
#include <string_view>

namespace locus::server {

// Sets the process's default logger; `level` as spdlog names it ("info", "debug", "warning", "off").
void set_up_log(const std::string& level);

// Control characters as \n, \t or \xNN, so that no text can forge a line or move a cursor.
std::string escape_controls(std::string_view text);

}  // namespace locus::server
