// Aligned text tables for terminals.
#pragma once

#include <string>
#include <vector>

namespace locus {

enum class Align { kLeft, kRight };

// What a cell holds, where color says it too: the state of an experiment, trial, stage, attempt or worker.
enum class Paint { kNone, kState };

struct Column {
  std::string title;
  Align align = Align::kLeft;
  Paint paint = Paint::kNone;
};

inline const Column kStateColumn = {"state", Align::kLeft, Paint::kState};

struct TextStyle {
  bool color = false;
};

// Columns that are empty in every row are left out. Lines end with "\n" and have no trailing spaces.
std::string render_text_table(const std::vector<Column>& columns, const std::vector<std::vector<std::string>>& rows,
                              TextStyle style = {});

// The text in the color of the state it names.
std::string paint_state(const std::string& text, const std::string& state, TextStyle style);

// Columns a string takes on a terminal: code points, good enough for the names and signs we print.
std::size_t display_width(const std::string& text);

// Words wrapped to `width` columns behind `indent` spaces; paragraphs are kept. Ends with "\n".
std::string wrap_text(const std::string& text, int indent, int width);

// Without control characters, so that no name can drive a terminal.
std::string printable(const std::string& text);

}  // namespace locus
