// What waits for a device, as text.
#include "cli/render/demand.h"

#include <map>
#include <set>
#include <vector>

#include "cli/render/numbers.h"

namespace locus {
namespace {

// The longest of what is asked is the same everywhere; what tells groups apart are the first few names.
constexpr std::size_t kItemsShown = 4;

std::string asks(const v1::DemandGroup& group) {
  std::set<std::string> items;
  for (const auto& [item, revision] : group.revisions()) items.insert(item);
  std::string out = group.exclusive() ? "a device alone" : "";
  if (group.devices() > 1) out = std::to_string(group.devices()) + " devices together";
  const std::map<std::string, std::string> labels(group.require().begin(), group.require().end());
  for (const auto& [label, pattern] : labels) out += (out.empty() ? "" : ", ") + label + "=" + pattern;
  std::size_t shown = 0;
  for (const std::string& item : items) {
    if (++shown > kItemsShown) continue;
    out += (out.empty() ? "" : ", ") + item;
  }
  if (shown > kItemsShown) out += " and " + std::to_string(shown - kItemsShown) + " more";
  return out.empty() ? "nothing" : out;
}

std::string device_time(double seconds, std::int64_t queued, std::int64_t unknown) {
  if (unknown == queued) return "unknown";
  return show_duration(seconds) + (unknown == 0 ? "" : " and " + show_counted(unknown, "stage") + " unknown");
}

}  // namespace

std::string render_demand(const v1::Demand& demand, TextStyle style) {
  const std::string bounded =
      demand.bounded() == 0
          ? ""
          : show_counted(demand.bounded(), "stage") + " more, whose accounts may hold no more devices (`locus why`)\n";
  if (demand.queued() == 0) return "nothing waits for a device\n" + bounded;
  std::vector<std::vector<std::string>> rows;
  for (const v1::DemandGroup& group : demand.groups()) {
    rows.push_back({show_count(group.queued()), show_duration(group.oldest_wait_seconds()),
                    device_time(group.device_seconds(), group.queued(), group.without_estimate()),
                    show_count(group.workers()), asks(group)});
  }
  const std::string all = show_counted(demand.queued(), "stage") + ", " +
                          device_time(demand.device_seconds(), demand.queued(), demand.without_estimate()) + "\n";
  const std::string more = demand.groups_left_out() == 0 ? "" : show_count(demand.groups_left_out()) + " groups more\n";
  return render_text_table({{"stages", Align::kRight},
                            {"waited", Align::kRight},
                            {"device time", Align::kRight},
                            {"workers", Align::kRight},
                            {"asks for"}},
                           rows, style) +
         more + all + bounded;
}

}  // namespace locus
