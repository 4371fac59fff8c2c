// Compares needs with offers.
#include "core/scheduling/capacity.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <tuple>

#include "core/base/json.h"
#include "core/scheduling/requirements.h"

namespace locus {
namespace {

constexpr double kGib = 1024.0 * 1024 * 1024;

Json slots_of(const WorkerOffer& worker) {
  Json slots = Json::parse(worker.slots_json, nullptr, /*allow_exceptions=*/false);
  return slots.is_array() ? slots : Json::array();
}

// The most a slot of it has; 0 where one does not say.
double memory_of(const WorkerOffer& worker) {
  double most = 0;
  for (const Json& slot : slots_of(worker)) {
    const double bytes = slot.value("memory_bytes", 0.0);
    if (bytes <= 0) return 0;
    most = std::max(most, bytes);
  }
  return most;
}

// The most that a stage of it is said or estimated to need; 0: not known.
double memory_of(const CellNeed& cell) {
  if (cell.memory_bytes > 0) return static_cast<double>(cell.memory_bytes);
  std::int64_t most = 0;
  for (const RequirementsPtr& stage : cell.stages) most = std::max(most, stage->memory_bytes);
  return static_cast<double>(most);
}

std::string gib(double bytes) {
  char text[32];
  std::snprintf(text, sizeof text, bytes < 100 * kGib ? "%.3g GiB" : "%.0f GiB", bytes / kGib);
  return text;
}

// "'violin' and 3 other cells"
std::string cells_text(const std::vector<const CellNeed*>& cells) {
  std::string out = "'" + cells.front()->label + "'";
  const std::size_t more = cells.size() - 1;
  if (more == 1) out += " and '" + cells.back()->label + "'";
  if (more > 1) out += " and " + std::to_string(more) + " other cells";
  return out;
}

class Judge {
 public:
  explicit Judge(const Fleet& fleet) : fleet_(fleet) {
    for (const WorkerOffer& worker : fleet.workers) memory_.push_back(memory_of(worker));
  }

  void look_at(const CellNeed& cell) {
    std::vector<bool> able(fleet_.workers.size(), true);
    std::string why;
    for (const RequirementsPtr& stage : cell.stages) {
      const Found& found = find(requirements_.intern(stage));
      for (std::size_t w = 0; w < able.size(); ++w) able[w] = able[w] && found.able[w];
      if (why.empty()) why = found.why;
    }
    if (std::none_of(able.begin(), able.end(), [](bool one) { return one; })) {
      if (why.empty()) why = "none has everything it takes";
      lacking_[why].push_back(&cell);
      return;
    }
    int together = 0;
    std::string apart;
    for (std::size_t w = 0; w < able.size(); ++w) {
      const WorkerOffer& worker = fleet_.workers[w];
      if (!able[w]) continue;
      together = std::max(together, worker.together);
      if (apart.empty() && !worker.apart.empty() && worker.devices >= cell.devices)
        apart = worker.name + " has " + std::to_string(worker.devices) + " and " + worker.apart;
    }
    if (cell.devices > together) {
      few_[{cell.devices, together, apart}].push_back(&cell);
      return;
    }
    for (std::size_t w = 0; w < able.size(); ++w) able[w] = able[w] && fleet_.workers[w].together >= cell.devices;
    const double needed = memory_of(cell);
    if (needed <= 0) return;
    double most = 0;
    const WorkerOffer* largest = nullptr;
    for (std::size_t w = 0; w < able.size(); ++w) {
      if (!able[w]) continue;
      if (memory_[w] <= 0) return;
      if (memory_[w] > most) most = memory_[w], largest = &fleet_.workers[w];
    }
    if (largest != nullptr && needed > most) small_[{most, largest->name}].push_back(&cell);
  }

  std::vector<std::string> warnings() const {
    std::vector<std::string> out;
    for (const auto& [why, cells] : lacking_)
      out.push_back("no connected worker can run " + cells_text(cells) + ": " + why);
    for (const auto& [devices, cells] : few_) {
      const auto& [needed, together, apart] = devices;
      std::string there = apart;
      if (apart.empty() || together > 1) {
        there = std::string("the largest connected worker that can run ") + (cells.size() == 1 ? "it" : "them") +
                " has " + std::to_string(together) + (apart.empty() ? "" : "; " + apart);
      }
      out.push_back("training " + cells_text(cells) + " needs " + std::to_string(needed) +
                    " devices of one node, and " + there);
    }
    for (const auto& [has, cells] : small_) {
      const auto [least, most] = std::minmax_element(
          cells.begin(), cells.end(), [](const auto* a, const auto* b) { return memory_of(*a) < memory_of(*b); });
      const std::string low = gib(memory_of(**least)), high = gib(memory_of(**most));
      out.push_back("training " + cells_text(cells) + " needs about " + (low == high ? low : low + " to " + high) +
                    " of memory, and the largest slot of a connected worker that can run " +
                    (cells.size() == 1 ? "it" : "them") + " has " + gib(has.first) + " (" + has.second + ")");
    }
    return out;
  }

 private:
  struct Found {
    std::vector<bool> able;  // by worker
    std::string why;         // what the first one lacks
  };
  const Found& find(int requirement) {
    const auto [place, fresh] = found_.try_emplace(requirement);
    if (!fresh) return place->second;
    for (const WorkerOffer& worker : fleet_.workers) {
      const auto missing = first_missing(requirements_[requirement], worker.revisions);
      place->second.able.push_back(!missing);
      if (missing && place->second.why.empty()) place->second.why = worker.name + " lacks " + *missing;
    }
    return place->second;
  }

  const Fleet& fleet_;
  std::vector<double> memory_;  // by worker
  RequirementTable requirements_;
  std::map<int, Found> found_;
  std::map<std::string, std::vector<const CellNeed*>> lacking_;  // by reason
  // By devices needed, those there, and why a worker that has as many takes one at a time.
  std::map<std::tuple<int, int, std::string>, std::vector<const CellNeed*>> few_;
  std::map<std::pair<double, std::string>, std::vector<const CellNeed*>> small_;  // by what there is
};

}  // namespace

std::vector<std::string> capacity_warnings(const std::vector<CellNeed>& cells, const Fleet& fleet) {
  if (cells.empty()) return {};
  if (fleet.workers.empty() && fleet.draining > 0)
    return {"every connected worker is draining (" + std::to_string(fleet.draining) +
            "): nothing new runs until one is undrained or another starts"};
  if (fleet.workers.empty())
    return {"no worker is connected: nothing runs until one is; start one with `locus worker --server ADDRESS`"};
  Judge judge(fleet);
  for (const CellNeed& cell : cells) judge.look_at(cell);
  return judge.warnings();
}

std::vector<DeviceSlots> device_slots(const Fleet& fleet) {
  std::map<std::string, DeviceSlots> by_kind;
  for (const WorkerOffer& worker : fleet.workers) {
    const Json slots = slots_of(worker);
    for (const Json& slot : slots) {
      DeviceSlots& kind = by_kind[slot.value("device", std::string())];
      kind.device = slot.value("device", std::string());
      ++kind.slots;
    }
    if (slots.empty()) continue;
    // A worker's slots are of one kind.
    by_kind[slots[0].value("device", std::string())].free += static_cast<int>(worker.slots - worker.busy);
  }
  std::vector<DeviceSlots> out;
  for (const auto& [name, kind] : by_kind) out.push_back(kind);
  std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.slots > b.slots; });
  return out;
}

}  // namespace locus
