// How numbers are shown to people. Rounding happens here and nowhere else.
#pragma once

#include <cstdint>
#include <string>

namespace locus {

std::string show_fixed(double value, int decimals);                     // "82.31", "-" for NaN
std::string show_signed(double value, int decimals);                    // "+1.76", "-" for NaN
std::string show_p(double p);                                           // "0.0625", "< 0.0001", "-" for NaN
std::string show_count(std::int64_t count);                             // 12,345
std::string show_counted(std::int64_t count, const std::string& noun);  // "1 trial", "12,345 trials"
std::string show_short(std::int64_t count);                             // "912", "5.72 M": three digits
std::string show_duration(double seconds);                              // "4 min 12 s", "38 s", "2 h 5 min"
int decimals_for(const std::string& unit,
                 double spread);  // 2 for per cent, otherwise by the size of the values

}  // namespace locus
