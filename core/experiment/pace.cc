// Medians of what runs took.
#include "core/experiment/pace.h"

#include <algorithm>
#include <functional>
#include <queue>

#include "core/base/canonical_text.h"
#include "core/catalog/facts.h"

namespace locus {
namespace {

// The configuration, seed and inputs aside: equal for the seeds of a cell.
std::string setting_of(std::string_view config_json) { return without_members(config_json, {"inputs", "seed"}); }

double median(std::vector<double> values) {
  const std::size_t half = values.size() / 2;
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(half), values.end());
  if (values.size() % 2 == 1) return values[half];
  return (*std::max_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(half)) + values[half]) / 2;
}

std::string device_of(const std::string& environment_json) {
  const Json environment = Json::parse(environment_json, nullptr, /*allow_exceptions=*/false);
  if (!environment.is_object()) return "";
  const auto found = environment.find("device");
  return found != environment.end() && found->is_string() ? found->get<std::string>() : "";
}

// {"id": ..., "options": {...}} of a configuration with its options completed; null where the catalog has it not.
Json completed(const Catalog& catalog, std::string_view kind, const Json& choice) {
  if (!choice.is_object() || !choice.contains("id")) return {};
  const CatalogItem* item = catalog.find(kind, choice["id"].get<std::string>());
  if (item == nullptr) return {};
  const auto options = catalog.resolve(*item, choice.value("options", Json::object()), "");
  return options.ok() ? *options : Json();
}

std::optional<double> count(const Catalog& catalog, const std::string& kind, const Json& dataset, const Json& recipe,
                            const Json& stage) {
  const CatalogItem* data = dataset.is_object() ? catalog.find("dataset", dataset.value("id", std::string())) : nullptr;
  const auto images_of = [&](const std::string& split) {
    return data ? images_of_split(*data, dataset.value("options", Json::object()), split) : 0;
  };
  if (kind == "train") {
    const Json options = completed(catalog, "recipe", recipe);
    std::int64_t images = images_of("train");
    if (!options.is_object() || images <= 0) return std::nullopt;
    const auto limit = options.value("limit", std::int64_t{0});
    if (limit > 0) images = std::min(images, limit);
    const std::int64_t batch = std::min(images, options.value("batch", std::int64_t{0}));
    if (batch <= 0) return std::nullopt;
    return static_cast<double>(options.value("epochs", std::int64_t{0}) * (images / batch));
  }
  if (kind != "evaluate") return 1;
  const Json options = completed(catalog, "stage", {{"id", kind}, {"options", stage.value("options", Json::object())}});
  if (!options.is_object()) return std::nullopt;
  std::int64_t images = images_of(options.value("split", std::string()));
  const auto some = options.value("images", std::int64_t{0});
  if (some > 0) images = std::min(images, some);
  for (const char* list : {"resolution", "positions", "view"})
    images *= static_cast<std::int64_t>(std::max<std::size_t>(1, options.value(list, Json::array()).size()));
  if (images <= 0) return std::nullopt;
  return static_cast<double>(images);
}

}  // namespace

const char* to_string(Basis basis) { return basis == Basis::kSameSetting ? "same-setting" : "same-size"; }

std::optional<double> Paces::amount(const std::string& kind, const std::string& config_json) {
  std::string key = kind;
  Json parts[3];
  const char* names[] = {"dataset", "recipe", "stage"};
  std::string_view texts[3];
  for (int i = 0; i < 3; ++i) {
    texts[i] = top_level_member(config_json, names[i]).value_or("null");
    key.append("\n").append(texts[i]);
  }
  const auto [found, fresh] = amounts_.try_emplace(std::move(key));
  if (!fresh) return found->second;
  for (int i = 0; i < 3; ++i) parts[i] = Json::parse(texts[i], nullptr, /*allow_exceptions=*/false);
  if (!parts[2].is_object()) parts[2] = Json::object();
  return found->second = count(catalog_, kind, parts[0], parts[1], parts[2]);
}

void Paces::add(const std::string& load, const std::vector<PastRun>& runs) {
  const std::string kind = load.substr(0, load.find('\n'));
  for (const PastRun& run : runs) {
    const auto units = amount(kind, run.config_json);
    if (!units || run.busy_us <= 0) continue;
    const double done = *units - (kind == "train" ? static_cast<double>(run.resume_step) : 0);
    if (done <= 0) continue;  // it had only to be handed in
    const double seconds = static_cast<double>(run.busy_us) / 1e6 / done;
    OnDevice& here = loads_[load][device_of(run.environment_json)];
    here.all.push_back(seconds);
    here.by_setting[setting_of(run.config_json)].push_back(seconds);
  }
}

std::optional<ExpectedTime> Paces::of(const std::string& kind, const std::string& config_json) {
  const auto load = loads_.find(load_of(kind, config_json));
  const auto units = amount(kind, config_json);
  if (load == loads_.end() || !units) return std::nullopt;
  std::vector<std::string> devices = devices_;
  if (devices.empty()) {
    for (const auto& [device, runs] : load->second) devices.push_back(device);
  }
  const std::string setting = setting_of(config_json);
  for (const Basis basis : {Basis::kSameSetting, Basis::kSameSize}) {
    for (const std::string& device : devices) {
      const auto here = load->second.find(device);
      if (here == load->second.end()) continue;
      const Seconds* runs = &here->second.all;
      if (basis == Basis::kSameSetting) {
        const auto same = here->second.by_setting.find(setting);
        if (same == here->second.by_setting.end()) continue;
        runs = &same->second;
      }
      return ExpectedTime{*units * median(*runs), basis, static_cast<int>(runs->size()), device};
    }
  }
  return std::nullopt;
}

double makespan(const std::vector<double>& trials, int slots) {
  std::priority_queue<double, std::vector<double>, std::greater<>> free;
  for (int i = 0; i < std::max(slots, 1); ++i) free.push(0);
  double end = 0;
  for (const double seconds : trials) {
    const double done = free.top() + seconds;
    free.pop();
    free.push(done);
    end = std::max(end, done);
  }
  return end;
}

}  // namespace locus
