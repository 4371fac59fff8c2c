// Evaluates what items refuse.
#include "core/experiment/plan/refusals.h"

#include <cmath>

#include "core/catalog/facts.h"

namespace locus {
namespace {

std::string number_text(double value) {
  if (value == std::floor(value) && std::abs(value) < 1e15) return std::to_string(static_cast<std::int64_t>(value));
  return Json(value).dump();
}

// "{rows}" becomes the number of that name; braces around anything else stay.
std::string filled(const std::string& words, const Formulas& formulas, Stage stage) {
  std::string out;
  for (std::size_t at = 0; at < words.size();) {
    const std::size_t end = words[at] == '{' ? words.find('}', at) : std::string::npos;
    const auto value =
        end == std::string::npos ? std::nullopt : formulas.named(words.substr(at + 1, end - at - 1), stage);
    out += value ? number_text(*value) : std::string(1, words[at]);
    at = value ? end + 1 : at + 1;
  }
  return out;
}

// Of one stage, or outside of all.
absl::Status refused_at(const CatalogItem& item, const RefusedSetting& refusal, const Formulas& formulas, Stage stage,
                        const std::string& where, const std::string& field) {
  const auto value = formulas.value(refusal.formula, stage);
  if (!value || *value == 0) return absl::OkStatus();
  return refuse(
      ErrorReason::kConstraintViolated,
      "the " + item.kind + " '" + item.id + "' cannot be used" + where + ": " + filled(refusal.words, formulas, stage),
      refusal.option.empty() ? field : field + "." + refusal.option,
      {{"item", item.id}, {"rule", "refuses"}, {"left", refusal.option}});
}

}  // namespace

Formulas formulas_of(const ResolvedSection& model, const ModelImages& images) {
  return Formulas(*model.item, model.resolved, backbone_stages(*model.item, model.resolved),
                  [&images](const std::string& name, Stage) -> std::optional<double> {
                    if (name == "channels" && images.channels.is_number()) return images.channels.get<double>();
                    if (images.extent.size() != 2 || (name != "height" && name != "width")) return std::nullopt;
                    return images.extent[name == "height" ? 0 : 1].get<double>();
                  });
}

absl::Status check_refusals(const CatalogItem& item, const Json& options, const ResolvedSection& model,
                            const ModelImages& images, const std::string& field) {
  if (item.refusals.empty()) return absl::OkStatus();
  const Formulas network = formulas_of(model, images);
  const std::size_t stages = backbone_stages(*model.item, model.resolved);
  const Formulas own(item, options, stages,
                     [&](const std::string& name, Stage stage) { return network.named(name, stage); });
  for (const RefusedSetting& refusal : item.refusals) {
    if (!refusal.each_stage) {
      LOCUS_RETURN_IF_ERROR(refused_at(item, refusal, own, std::nullopt, "", field));
      continue;
    }
    for (std::size_t s = 0; s < stages; ++s) LOCUS_RETURN_IF_ERROR(refused_at(item, refusal, own, s, "", field));
  }
  return absl::OkStatus();
}

absl::Status check_refusals(const ResolvedPrior& prior, const ResolvedSection& model, const ModelImages& images) {
  if (prior.item->refusals.empty()) return absl::OkStatus();
  const Formulas network = formulas_of(model, images);
  const std::size_t stages = backbone_stages(*model.item, model.resolved);
  for (std::size_t s = 0; s < stages; ++s) {
    const Json* options = prior.options_in(s);
    if (options == nullptr) continue;
    const Formulas own(*prior.item, *options, stages,
                       [&](const std::string& name, Stage stage) { return network.named(name, stage); });
    const std::string where = stages > 1 ? " in stage " + std::to_string(s) : "";
    for (const RefusedSetting& refusal : prior.item->refusals)
      LOCUS_RETURN_IF_ERROR(refused_at(*prior.item, refusal, own, s, where, prior.field));
  }
  return absl::OkStatus();
}

}  // namespace locus
