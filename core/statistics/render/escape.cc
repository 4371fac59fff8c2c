// Escapes labels for the documents they are put in.
#include "core/statistics/render/escape.h"

#include <cstdint>
#include <cstdio>
#include <map>

namespace locus {
namespace {

constexpr std::uint32_t kReplacement = 0xfffd;

// The code point at `at`, which moves past it; kReplacement for a byte that starts none.
std::uint32_t next_code_point(const std::string& text, std::size_t& at) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint32_t>(static_cast<unsigned char>(text[i])); };
  const std::uint32_t lead = byte(at);
  const std::size_t size = lead < 0x80 ? 1 : lead >> 5 == 6 ? 2 : lead >> 4 == 14 ? 3 : lead >> 3 == 30 ? 4 : 0;
  if (size == 0 || at + size > text.size()) return ++at, kReplacement;
  std::uint32_t code = size == 1 ? lead : lead & (0x7fu >> size);
  for (std::size_t i = 1; i < size; ++i) {
    if (byte(at + i) >> 6 != 2) return ++at, kReplacement;
    code = code << 6 | (byte(at + i) & 0x3f);
  }
  constexpr std::uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  if (code < kLeast[size] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return ++at, kReplacement;
  at += size;
  return code;
}

void append(std::uint32_t code, std::string& out) {
  const auto put = [&](std::uint32_t byte) { out += static_cast<char>(byte); };
  if (code < 0x80) return put(code);
  if (code < 0x800) {
    put(0xc0 | code >> 6);
  } else if (code < 0x10000) {
    put(0xe0 | code >> 12);
    put(0x80 | (code >> 6 & 0x3f));
  } else {
    put(0xf0 | code >> 18);
    put(0x80 | (code >> 12 & 0x3f));
    put(0x80 | (code >> 6 & 0x3f));
  }
  put(0x80 | (code & 0x3f));
}

// Line and paragraph separators and the marks that turn the direction of text around count as control
// characters.
bool control(std::uint32_t code) {
  return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x2028 || code == 0x2029 ||
         (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
}

const char* latex_of(std::uint32_t code) {
  static const std::map<std::uint32_t, const char*> kCommands = {{'\\', "\\textbackslash{}"},
                                                                 {'&', "\\&"},
                                                                 {'%', "\\%"},
                                                                 {'$', "\\$"},
                                                                 {'#', "\\#"},
                                                                 {'_', "\\_"},
                                                                 {'{', "\\{"},
                                                                 {'}', "\\}"},
                                                                 {'~', "\\textasciitilde{}"},
                                                                 {'^', "\\textasciicircum{}"},
                                                                 {'<', "$<$"},
                                                                 {'>', "$>$"},
                                                                 {'|', "$|$"},
                                                                 {'"', "\\textquotedblright{}"},
                                                                 {'`', "\\`{}"},
                                                                 {'\'', "'"},
                                                                 {0xb1, "$\\pm$"},
                                                                 {0xb0, "$^\\circ$"},
                                                                 {0xb2, "$^2$"},
                                                                 {0xb3, "$^3$"},
                                                                 {0xb5, "$\\mu$"},
                                                                 {0xb7, "$\\cdot$"},
                                                                 {0xd7, "$\\times$"},
                                                                 {0xf7, "$\\div$"},
                                                                 {0x3b1, "$\\alpha$"},
                                                                 {0x3b2, "$\\beta$"},
                                                                 {0x3b3, "$\\gamma$"},
                                                                 {0x3b4, "$\\delta$"},
                                                                 {0x3bb, "$\\lambda$"},
                                                                 {0x3bc, "$\\mu$"},
                                                                 {0x3c3, "$\\sigma$"},
                                                                 {0x3c4, "$\\tau$"},
                                                                 {0x2013, "--"},
                                                                 {0x2014, "---"},
                                                                 {0x2020, "$\\dagger$"},
                                                                 {0x2190, "$\\leftarrow$"},
                                                                 {0x2192, "$\\rightarrow$"},
                                                                 {0x2212, "$-$"},
                                                                 {0x221e, "$\\infty$"},
                                                                 {0x2264, "$\\le$"},
                                                                 {0x2265, "$\\ge$"}};
  const auto found = kCommands.find(code);
  return found == kCommands.end() ? nullptr : found->second;
}

// Eth and thorn, which LaTeX's default encoding lacks.
bool of_t1(std::uint32_t code) { return code == 0xd0 || code == 0xde || code == 0xf0 || code == 0xfe; }

template <class Each>
std::string by_code_point(const std::string& text, Each each) {
  std::string out;
  const std::string line = one_line(text);
  for (std::size_t at = 0; at < line.size();) each(next_code_point(line, at), out);
  return out;
}

// What would open an element or an entity, in HTML and in the HTML that Markdown may hold.
bool add_entity(std::uint32_t code, std::string& out) {
  if (code != '&' && code != '<' && code != '>') return false;
  out += code == '&' ? "&amp;" : code == '<' ? "&lt;" : "&gt;";
  return true;
}

}  // namespace

std::string one_line(const std::string& text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::uint32_t code = next_code_point(text, at);
    append(control(code) ? ' ' : code, out);
  }
  return out;
}

std::string escape_latex(const std::string& text) {
  return by_code_point(text, [](std::uint32_t code, std::string& out) {
    if (code == '-' && !out.empty() && out.back() == '-') {
      out += "{}-";  // two in a row would be a dash
    } else if (const char* command = latex_of(code)) {
      out += command;
    } else if (code < 0x80 || (code >= 0xc0 && code <= 0xff && !of_t1(code))) {
      append(code, out);
    } else {
      char name[16];
      std::snprintf(name, sizeof name, "[U+%04X]", static_cast<unsigned>(code));
      out += name;
    }
  });
}

std::string escape_markdown(const std::string& text) {
  return by_code_point(text, [](std::uint32_t code, std::string& out) {
    if (add_entity(code, out)) return;
    switch (code) {
      case '|':
      case '\\':
      case '*':
      case '_':
      case '`':
      case '[':
      case ']':
      case '~':
      case '#':
      case '$':
      case '!':
        out += '\\';
        break;
      default:
        break;
    }
    append(code, out);
  });
}

std::string escape_html(const std::string& text) {
  return by_code_point(text, [](std::uint32_t code, std::string& out) {
    if (add_entity(code, out)) return;
    switch (code) {
      case '"':
        out += "&quot;";
        return;
      case '\'':
        out += "&#39;";
        return;
      default:
        append(code, out);
    }
  });
}

std::string escape_csv(const std::string& text) {
  // Spreadsheets skip spaces before a formula.
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  const bool formula = first != std::string::npos && first + 1 < text.size() &&
                       std::string("=+-@").find(text[first]) != std::string::npos;
  const std::string line = (formula ? "'" : "") + one_line(text);
  if (line.find_first_of(",\"'") == std::string::npos) return line;
  std::string out = "\"";
  for (const char c : line) out += c == '"' ? "\"\"" : std::string(1, c);
  return out + "\"";
}

}  // namespace locus
