// Reads one table of a paper: what its rows and columns say, and every number with all that is said of it.
#include <cmath>
#include <limits>

#include "core/claims/measure.h"
#include "core/claims/reader.h"

namespace locus::claims {
namespace {

constexpr double kAbsent = std::numeric_limits<double>::quiet_NaN();
constexpr double kRounding = 1e6;  // differences by subtraction are cut to six decimals

// Numbers of a row, one for every column; null where nothing is printed.
std::vector<double> read_numbers(Reader& reader, const char* key, std::size_t columns, bool required) {
  const Json& list = reader.list(key, required);
  std::vector<double> out(columns, kAbsent);
  if (list.empty() || !reader.ok()) return out;
  if (list.size() != columns) {
    reader.fail(ErrorReason::kInvalidSpecification,
                std::to_string(list.size()) + " numbers for " + std::to_string(columns) + " columns", reader.at(key));
    return out;
  }
  for (std::size_t i = 0; i < columns; ++i) {
    if (list[i].is_number())
      out[i] = list[i].get<double>();
    else if (!list[i].is_null())
      reader.fail(ErrorReason::kWrongType, "expected a number or null", reader.at(key, i));
  }
  return out;
}

struct Row {
  Said said;
  std::vector<double> values, stds, differences;
  std::map<std::string, Json> cells;
  std::string note;
};

class TableReader {
 public:
  TableReader(const Json& json, std::string field, const std::map<std::string, Json>& code, absl::Status* status)
      : field_(std::move(field)), code_(code), status_(status), reader_(json, field_, status) {}

  ClaimTable read() {
    out_.table = reader_.text("table", true);
    out_.caption = reader_.text("caption", true);
    out_.note = reader_.text("note");
    said_ = read_said(reader_, field_, true);
    out_.setting = said_.setting;
    read_baseline();
    const Json& columns = reader_.list("columns", true);
    for (std::size_t i = 0; i < columns.size() && reader_.ok(); ++i) read_column(columns[i], reader_.at("columns", i));
    const Json& rows = reader_.list("rows", true);
    for (std::size_t i = 0; i < rows.size() && reader_.ok(); ++i) read_row(rows[i], reader_.at("rows", i));
    reader_.finish();
    if (reader_.ok()) place();
    return std::move(out_);
  }

 private:
  void read_baseline() {
    const Json* value = reader_.get("baseline");
    if (value == nullptr) return;
    Reader baseline(*value, reader_.at("baseline"), status_);
    base_row_ = baseline.text("row");
    base_column_ = baseline.text("column");
    out_.against = baseline.text("table");
    baseline.finish();
    if ((base_row_.empty() ? 0 : 1) + (base_column_.empty() ? 0 : 1) + (out_.against.empty() ? 0 : 1) != 1)
      reader_.fail(ErrorReason::kInvalidSpecification, "a baseline is one row, one column or one table",
                   reader_.at("baseline"));
  }

  void add_line(std::vector<ClaimLine>& lines, ClaimLine line, const std::string& field) {
    for (const ClaimLine& other : lines) {
      if (other.label == line.label)
        reader_.fail(ErrorReason::kInvalidSpecification, "'" + line.label + "' is given twice", field);
    }
    lines.push_back(std::move(line));
  }

  void read_column(const Json& json, const std::string& field) {
    if (json.is_string()) {
      add_line(out_.columns, {json.get<std::string>(), ""}, field);
      columns_.emplace_back();
      return;
    }
    Reader reader(json, field, status_);
    add_line(out_.columns, {reader.text("column", true), ""}, field);
    columns_.push_back(read_said(reader, field, false));
    reader.finish();
  }

  void read_row(const Json& json, const std::string& field) {
    Reader reader(json, field, status_);
    add_line(out_.rows, {reader.text("row", true), reader.text("printed", false, true)}, field);
    Row row;
    row.said = read_said(reader, field, false);
    row.values = read_numbers(reader, "values", columns_.size(), true);
    row.stds = read_numbers(reader, "std", columns_.size(), false);
    row.differences = read_numbers(reader, "differences", columns_.size(), false);
    row.note = reader.text("note");
    if (const Json* cells = reader.get("cells"); cells != nullptr && cells->is_object()) {
      for (const auto& [column, each] : cells->items()) row.cells[column] = each;
    } else if (cells != nullptr) {
      reader.fail(ErrorReason::kWrongType, "expected a mapping of columns", reader.at("cells"));
    }
    reader.finish();
    for (const auto& [column, each] : row.cells) {
      if (index_of(out_.columns, column) < 0)
        reader_.fail(ErrorReason::kUnknownKey, "the table has no column '" + column + "'", field + ".cells." + column);
    }
    rows_.push_back(std::move(row));
  }

  static int index_of(const std::vector<ClaimLine>& lines, const std::string& label) {
    for (std::size_t i = 0; i < lines.size(); ++i) {
      if (lines[i].label == label) return static_cast<int>(i);
    }
    return -1;
  }

  // Numbers with everything said of them.
  void place() {
    std::map<std::pair<std::size_t, std::size_t>, int> places;
    for (std::size_t r = 0; r < rows_.size() && reader_.ok(); ++r) {
      for (std::size_t c = 0; c < columns_.size() && reader_.ok(); ++c) {
        const std::string field = reader_.at("rows", r) + ".values[" + std::to_string(c) + "]";
        if (std::isnan(rows_[r].values[c])) {
          if (!std::isnan(rows_[r].stds[c]) || !std::isnan(rows_[r].differences[c]))
            reader_.fail(ErrorReason::kInvalidSpecification, "a deviation or difference without a number", field);
          continue;
        }
        places[{r, c}] = static_cast<int>(out_.values.size());
        out_.values.push_back(make(r, c, field));
      }
    }
    for (ClaimValue& value : out_.values) compare(places, value);
  }

  ClaimValue make(std::size_t r, std::size_t c, const std::string& field) {
    const Row& row = rows_[r];
    const Said& column = columns_[c];
    ClaimValue out{.row = r,
                   .column = c,
                   .value = row.values[c],
                   .std = row.stds[c],
                   .difference = row.differences[c],
                   .printed_difference = !std::isnan(row.differences[c]),
                   .n = row.said.n > 0 ? row.said.n
                        : column.n > 0 ? column.n
                                       : said_.n,
                   .metric = {},
                   .priors = {},
                   .own = {},
                   .setting = said_.setting,
                   .against = {},
                   .note = row.note};
    if (row.said.metric && column.metric)
      reader_.fail(ErrorReason::kInvalidSpecification, "row and column both name a metric", field);
    const auto& metric = row.said.metric ? row.said.metric : column.metric ? column.metric : said_.metric;
    if (!metric)
      reader_.fail(ErrorReason::kMissingKey, "neither row, column nor table names a metric", field);
    else
      out.metric = *metric;
    if (row.said.priors.has_value() == column.priors.has_value()) {
      reader_.fail(row.said.priors ? ErrorReason::kInvalidSpecification : ErrorReason::kMissingKey,
                   "the prior stands on the row or on the column, and on one of them (null where Locus has none)",
                   field);
    } else {
      out.priors = row.said.priors ? *row.said.priors : *column.priors;
    }
    give(out.priors, code_, &ClaimPrior::code);
    for (const Said* said : {&column, &row.said}) {
      give(out.priors, said->loosely, &ClaimPrior::loosely);
      give(out.priors, said->code, &ClaimPrior::code);
      for (const auto& [key, value] : said->setting) out.own[key] = out.setting[key] = value;
    }
    read_cell(row, c, reader_.at("rows", r), out);
    if (metric && measure_of(out.metric) == nullptr && why_unmeasured(out.metric).empty())
      reader_.fail(ErrorReason::kUnknownKey,
                   "metric '" + out.metric.name + "' in '" + out.metric.unit + "' is not in core/claims/measures.def",
                   field);
    return out;
  }

  static void give(ClaimPriors& priors, const std::map<std::string, Json>& said, Json ClaimPrior::*where) {
    for (const auto& [id, options] : said) {
      for (ClaimPrior& prior : priors) {
        if (prior.id == id) (prior.*where).update(options);
      }
    }
  }

  void read_cell(const Row& row, std::size_t c, const std::string& field, ClaimValue& out) {
    const auto found = row.cells.find(out_.columns[c].label);
    if (found == row.cells.end()) return;
    Reader cell(found->second, field + ".cells." + found->first, status_);
    if (const std::string unit = cell.text("unit"); !unit.empty()) out.metric.unit = unit;
    if (const std::string note = cell.text("note"); !note.empty()) out.note += (out.note.empty() ? "" : " ") + note;
    if (const Json* prior = cell.get("prior")) out.priors = read_priors(cell, *prior, cell.at("prior"));
    cell.finish();
  }

  void compare(const std::map<std::pair<std::size_t, std::size_t>, int>& places, ClaimValue& value) {
    const Said& row = rows_[value.row].said;
    const Said& column = columns_[value.column];
    const bool own = !row.against.empty() || !column.against.empty();
    const std::string to_row = own ? row.against : base_row_;
    const std::string to_column = !row.against.empty() ? "" : own ? column.against : base_column_;
    if (to_row.empty() && to_column.empty()) return;
    const int r = to_row.empty() ? static_cast<int>(value.row) : index_of(out_.rows, to_row);
    const int c = to_row.empty() ? index_of(out_.columns, to_column) : static_cast<int>(value.column);
    if (r < 0 || c < 0) {
      return reader_.fail(ErrorReason::kUnknownKey,
                          "the table has no " + std::string(r < 0 ? "row '" + to_row : "column '" + to_column) + "'",
                          reader_.at("rows", value.row));
    }
    const auto found = places.find({static_cast<std::size_t>(r), static_cast<std::size_t>(c)});
    if (found == places.end() || &out_.values[static_cast<std::size_t>(found->second)] == &value) return;
    const ClaimValue& other = out_.values[static_cast<std::size_t>(found->second)];
    if (other.metric.name != value.metric.name) return;
    value.against = to_row.empty() ? to_column : to_row;
    value.against_value = found->second;
    if (std::isnan(value.difference))
      value.difference = std::round((value.value - other.value) * kRounding) / kRounding;
  }

  const std::string field_;
  const std::map<std::string, Json>& code_;
  absl::Status* status_;
  Reader reader_;
  ClaimTable out_;
  Said said_;
  std::string base_row_, base_column_;
  std::vector<Said> columns_;
  std::vector<Row> rows_;
};

}  // namespace

ClaimTable read_table(const Json& json, const std::string& field, const std::map<std::string, Json>& code,
                      absl::Status* status) {
  return TableReader(json, field, code, status).read();
}

}  // namespace locus::claims
