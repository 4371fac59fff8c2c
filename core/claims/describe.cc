// Claims in words, and against the catalog.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "core/base/error.h"
#include "core/claims/match.h"

namespace locus {
namespace {

std::string format(const char* form, double value) {
  char text[64];
  std::snprintf(text, sizeof text, form, value);
  return text;
}

// As the paper prints it, without zeros behind.
std::string printed(double value, bool sign) { return format(sign ? "%+.6g" : "%.6g", value); }

// Ours: two decimals where 0.01 is a step worth seeing, else three digits that count.
std::string measured_text(double value, const ClaimMetric& metric, bool sign) {
  if (metric.unit == "%") return format(sign ? "%+.2f" : "%.2f", value);
  return format(sign ? "%+.3g" : "%.3g", value);
}

// Without an interval where there is none; never with ±, which is a deviation.
std::string with_interval(double value, double half_width, const ClaimMetric& metric, bool sign) {
  std::string out = measured_text(value, metric, sign);
  if (std::isfinite(half_width))
    out += " (95 % " + measured_text(value - half_width, metric, sign) + " to " +
           measured_text(value + half_width, metric, sign) + ")";
  return out;
}

std::string listed(const std::vector<std::string>& names) {
  std::string out;
  for (std::size_t i = 0; i < names.size(); ++i)
    out += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + names[i];
  return out;
}

// ", other dataset, model and options, hardware not known here"; options of priors as one word.
std::string others(const std::vector<SettingDifference>& differences) {
  std::vector<std::string> other, unknown;
  for (const SettingDifference& one : differences) {
    const std::string name = one.name.find('.') == std::string::npos ? one.name : "options";
    std::vector<std::string>& names = one.here.empty() ? unknown : other;
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  if (differences.empty()) return ", same setting as far as stated";
  return (other.empty() ? "" : ", other " + listed(other)) +
         (unknown.empty() ? "" : ", " + listed(unknown) + " not known here");
}

// Options left open are no values to check.
Json without_open(Json options) {
  for (auto it = options.begin(); it != options.end();) it = it->is_null() ? options.erase(it) : std::next(it);
  return options;
}

}  // namespace

std::string shown_setting(const Json& value) {
  return value.is_string() ? value.get<std::string>() : canonical_json(value);
}

const std::vector<SettingName>& setting_names() {
  static const std::vector<SettingName> kNames = {
#define LOCUS_CLAIM_SETTING(name, compared, cost, meaning) {#name, compared, cost, meaning},
#include "core/claims/settings.def"
#undef LOCUS_CLAIM_SETTING
  };
  return kNames;
}

std::string priors_json(const ClaimPriors& priors) {
  if (priors.empty()) return {};
  Json out = Json::array();
  for (const ClaimPrior& prior : priors) {
    out.push_back(prior.stated.empty() ? Json(prior.id) : Json{{prior.id, prior.stated}});
  }
  return canonical_json(out);
}

const ClaimValue* baseline_of(const PaperClaims& paper, const ClaimTable& table, const ClaimValue& value) {
  if (value.against_value < 0) return nullptr;
  const ClaimTable& other =
      value.against_table < 0 ? table : paper.tables[static_cast<std::size_t>(value.against_table)];
  return &other.values[static_cast<std::size_t>(value.against_value)];
}

absl::Status check_claims(const PaperClaims& paper, const Catalog& catalog) {
  for (const ClaimTable& table : paper.tables) {
    for (const ClaimValue& value : table.values) {
      const std::string where = paper.id + ", " + table.table + ", " + table.rows[value.row].label + " / " +
                                table.columns[value.column].label;
      for (const ClaimPrior& prior : value.priors) {
        LOCUS_ASSIGN_OR_RETURN(const CatalogItem* item, catalog.get("prior", prior.id, where));
        for (const Json* options : {&prior.stated, &prior.loosely, &prior.code})
          LOCUS_RETURN_IF_ERROR(catalog.resolve(*item, without_open(*options), where).status());
      }
    }
  }
  return absl::OkStatus();
}

std::string to_string(const SettingDifference& difference) {
  return difference.name + ": " + difference.paper +
         (difference.from_code ? " in the paper's code, " : " in the paper, ") +
         (difference.here.empty() ? "not known here" : difference.here + " here");
}

std::vector<SettingDifference> claimed_options(const ClaimValue& claim) {
  std::vector<SettingDifference> out;
  for (const ClaimPrior& prior : claim.priors) {
    for (const auto& [name, value] : prior.loosely.items()) {
      if (!value.is_null()) out.push_back({prior.id + "." + name, shown_setting(value), "", false});
    }
    for (const auto& [name, value] : prior.code.items()) {
      if (!value.is_null() && !prior.loosely.contains(name))
        out.push_back({prior.id + "." + name, shown_setting(value), "", true});
    }
  }
  return out;
}

std::string claim_sentence(const ClaimValue& claim, const Measured& measured,
                           const std::vector<SettingDifference>& differences) {
  const bool compared = !claim.against.empty() && std::isfinite(claim.difference);
  std::string out =
      "paper " + (compared ? printed(claim.difference, true) + " over " + claim.against : printed(claim.value, false));
  if (!compared && std::isfinite(claim.std)) out += " ± " + printed(claim.std, false);
  int n = measured.n;
  if (compared && measured.pairs > 0) {
    n = measured.pairs;
    out += "; here " + with_interval(measured.difference, measured.difference_half_width, claim.metric, true);
  } else if (measured.n == 0) {
    return out + "; nothing measured here yet" + others(differences);
  } else {
    if (compared) out += measured.has_baseline ? ", without a shared seed here" : ", which this experiment lacks";
    out += "; here " + with_interval(measured.mean, measured.half_width, claim.metric, false);
  }
  return out + ", n = " + std::to_string(n) + others(differences);
}

}  // namespace locus
