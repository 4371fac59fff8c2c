// Text of any origin inside documents: no label can break out of its cell, run a formula or drive a terminal.
// Pure.
#pragma once

#include <string>

namespace locus {

// Every control character, line ends among them, becomes a space; what is not UTF-8 becomes U+FFFD. All below
// do so first.
std::string one_line(const std::string& text);

// Specials as commands; letters up to U+00FF as they are, signs LaTeX has as math, anything else as [U+65E5],
// because pdfLaTeX stops at characters it has no font for.
std::string escape_latex(const std::string& text);
std::string escape_markdown(const std::string& text);
std::string escape_html(const std::string& text);  // for elements and quoted attributes
// One field of RFC 4180. Text that a spreadsheet would run (=, +, -, @ or a tab first) gets an apostrophe
// before it; never use it for numbers.
std::string escape_csv(const std::string& text);

}  // namespace locus
