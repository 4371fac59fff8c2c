// Golden tables of refusals: written by LOCUS_UPDATE_GOLDEN=1, compared line by line.
#pragma once

#include <string>

namespace locus {

std::string bytes_of(const std::string& path);  // empty when it cannot be read

// One cell: no tabs, no line breaks, nothing longer than a reader needs.
std::string cell(const std::string& text);
std::string without(std::string text, const std::string& what, const std::string& instead);

// `table` against testdata/refusals/NAME.tsv.
void compare_golden(const std::string& name, const std::string& table);

}  // namespace locus
