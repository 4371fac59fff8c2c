// Whose turn it is: see accounts.h.
#include "core/scheduling/accounts.h"

#include <algorithm>

#include "core/scheduling/usage.h"

namespace locus {
namespace {

// A longer time without a charge says that the server was away, or a clock was set: what ran meanwhile nobody knows.
constexpr Microseconds kChargedMost = Microseconds{2} * 3600 * 1'000'000;
constexpr std::int64_t kHour = std::int64_t{3600} * 1'000'000;

}  // namespace

std::string devices_text(std::int64_t thousandths) {
  return number_text(thousandths) + (thousandths == AccountBook::kDevice ? " device" : " devices");
}

std::string number_text(std::int64_t thousandths) {
  std::string text = std::to_string(thousandths / AccountBook::kDevice);
  std::string rest = std::to_string(AccountBook::kDevice + thousandths % AccountBook::kDevice).substr(1);
  while (!rest.empty() && rest.back() == '0') rest.pop_back();
  return rest.empty() ? text : text + "." + rest;
}

bool AccountBook::any_hours() const {
  return std::any_of(accounts_.begin(), accounts_.end(),
                     [](const Account& account) { return account.row.device_hours != kUnbounded; });
}

int AccountBook::number_of(const std::string& name) {
  const auto [found, added] = numbers_.try_emplace(name, size());
  if (added) {
    accounts_.emplace_back();
    accounts_.back().row.name = accounts_.back().usage.account = name;
  }
  return found->second;
}

void AccountBook::restore(const AccountRow& row) {
  Account& account = at(number_of(row.name));
  configured_ += account.configured ? 0 : 1;
  account.configured = true;
  account.row = row;
}

void AccountBook::put(const AccountRow& row, Microseconds wall) {
  number_of(row.name);
  if (!shared()) {  // what ran while nothing was counted stays uncounted
    for (Account& each : accounts_) {
      each.usage = {.account = each.row.name, .used = 0, .at_us = wall, .by_day = {}};
      each.reset = true;
    }
  }
  restore(row);
}

bool AccountBook::remove(const std::string& name) {
  const auto found = numbers_.find(name);
  if (found == numbers_.end() || !at(found->second).configured) return false;
  Account& account = at(found->second);
  account.configured = false;
  account.row = AccountRow{.name = name};
  --configured_;
  return true;
}

void AccountBook::restore(const UsageRow& row) { at(number_of(row.account)).usage = row; }

std::int64_t AccountBook::fresh(const Account& account, Microseconds wall) const {
  if (account.usage.at_us == 0) return 0;
  const Microseconds elapsed = std::clamp<Microseconds>(wall - account.usage.at_us, 0, kChargedMost);
  return account.holding * (elapsed / 1000);  // thousandths by milliseconds
}

void AccountBook::settle(Account& account, Microseconds wall) {
  const std::int64_t fresh_use = fresh(account, wall);
  if (account.usage.at_us != 0)
    account.usage.used = decayed(account.usage.used, wall - account.usage.at_us, half_life_) + fresh_use;
  account.usage.at_us = wall;
  if (fresh_use > 0) account.usage.by_day[day_of(wall)] += fresh_use;
  std::erase_if(account.usage.by_day, [&](const auto& day) { return day.first <= day_of(wall) - kQuotaDays; });
  account.charged = true;
}

void AccountBook::hold(int number, std::int64_t by, ServiceClass service_class, Microseconds wall) {
  settle(at(number), wall);
  find_holding(number, by, service_class);
}

void AccountBook::find_holding(int number, std::int64_t held, ServiceClass service_class) {
  at(number).holding += held;
  if (service_class == ServiceClass::kUrgent) at(number).urgent += held;
}

void AccountBook::charge_after(Microseconds time, Microseconds wall) {
  if (!shared()) return;
  for (Account& account : accounts_) {
    if (account.holding > 0 && wall - account.usage.at_us >= time) settle(account, wall);
  }
}

std::vector<UsageRow> AccountBook::take_charged() {
  std::vector<UsageRow> out;
  for (Account& account : accounts_) {
    UsageRow row{.account = account.row.name, .used = account.usage.used, .at_us = account.usage.at_us, .by_day = {}};
    if (account.reset && shared()) out.push_back(row);
    const std::int64_t today = day_of(row.at_us);
    const auto found = account.usage.by_day.find(today);
    row.by_day[today] = found == account.usage.by_day.end() ? 0 : found->second;
    if (account.charged && shared()) out.push_back(std::move(row));
    account.charged = account.reset = false;
  }
  return out;
}

std::int64_t AccountBook::used(int number, Microseconds wall) const {
  const Account& account = (*this)[number];
  if (account.usage.at_us == 0) return account.usage.used;
  return decayed(account.usage.used, wall - account.usage.at_us, half_life_) + fresh(account, wall);
}

std::int64_t AccountBook::used_lately(int number, Microseconds wall) const {
  const Account& account = (*this)[number];
  std::int64_t sum = fresh(account, wall);
  for (const auto& [day, used] : account.usage.by_day) {
    if (day > day_of(wall) - kQuotaDays && day <= day_of(wall)) sum += used;
  }
  return sum;
}

bool AccountBook::before(int a, int b, Microseconds wall) const {
  const Account &first = (*this)[a], &second = (*this)[b];
  const std::int64_t held = first.holding * second.row.weight, other = second.holding * first.row.weight;
  if (held != other) return held < other;
  const std::int64_t used_first = used(a, wall) / first.row.weight, used_second = used(b, wall) / second.row.weight;
  if (used_first != used_second) return used_first < used_second;
  return first.row.name < second.row.name;
}

AccountBook::Bound AccountBook::find_bound(int number, std::int64_t more, ServiceClass service_class,
                                           Microseconds wall) const {
  const Account& account = (*this)[number];
  const auto over = [&](std::int64_t held, std::int64_t bound) {
    return bound != kUnbounded && held + more > bound * kDevice;
  };
  if (over(account.holding, account.row.devices)) return Bound::kDevices;
  if (service_class == ServiceClass::kUrgent && over(account.urgent, account.row.urgent_devices))
    return Bound::kUrgentDevices;
  if (account.row.device_hours != kUnbounded && used_lately(number, wall) / kHour >= account.row.device_hours)
    return Bound::kDeviceHours;
  return Bound::kNone;
}

bool AccountBook::within(int number, std::int64_t more, ServiceClass service_class, Microseconds wall) const {
  return find_bound(number, more, service_class, wall) == Bound::kNone;
}

std::string AccountBook::bound_of(int number, std::int64_t more, ServiceClass service_class, Microseconds wall) const {
  const Account& account = (*this)[number];
  const std::string whose = "account " + account.row.name;
  switch (find_bound(number, more, service_class, wall)) {
    case Bound::kNone:
      return "";
    case Bound::kDevices:
      return whose + " may hold " + devices_text(account.row.devices * kDevice) +
             " at a time by weight (devices), holds " + number_text(account.holding) + ", and this takes " +
             number_text(more);
    case Bound::kUrgentDevices:
      return whose + " may hold " + devices_text(account.row.urgent_devices * kDevice) +
             " at a time for urgent work (urgent_devices), holds " + number_text(account.urgent) + ", and this takes " +
             number_text(more);
    case Bound::kDeviceHours:
      return whose + " may use " + std::to_string(account.row.device_hours) + " device-hours within " +
             std::to_string(kQuotaDays) + " days (device_hours), and has used " +
             std::to_string(used_lately(number, wall) / kHour);
  }
  return "";
}

}  // namespace locus
