// The pivot table as people see it: every number rounded, every mark decided, before a format is. Pure.
#pragma once

#include <string>
#include <vector>

#include "locus/v1/analysis_service.pb.h"

namespace locus::server {

struct SheetCell {
  std::string mean;        // "85.00", "NaN", "inf", "-" without a value
  std::string spread;      // "2.65" or "[83.10, 86.90]"; empty: none
  std::string all;         // "all 84.20": the mean of all seeds where `mean` is of the best; otherwise empty
  std::string difference;  // "+3.00"; empty: not shown
  std::string count;       // "n = 2" where n varies
  std::string seeds;       // "34 seeds"; empty: not asked or unknown
  bool interval = false;   // the spread is one
  bool best = false, second = false, significant = false, flagged = false;
  std::vector<std::string> trials;
};
struct SheetHeading {
  std::string text;
  int span = 1;
  bool axis = false;  // the name of the axis whose values stand in the line below
};
struct Sheet {
  std::string title;
  std::vector<std::string> row_titles;              // the row axes
  std::vector<std::vector<SheetHeading>> heads;     // outermost first; each covers all columns and summaries
  std::vector<std::vector<std::string>> rows;       // labels by row axis
  std::vector<std::vector<SheetCell>> cells;        // by row
  std::vector<std::vector<std::string>> summaries;  // by row: mean, IQM with interval, rank, for each metric
  std::vector<std::string> notes, warnings;
};

Sheet make_sheet(const v1::PaperTable& table, const v1::GetPaperTableRequest& request);

// One cell in one line, as every plain format shows it: "85.00 ± 2.65 (+3.00)*".
std::string plain(const SheetCell& cell);

}  // namespace locus::server
