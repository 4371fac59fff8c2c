// Whose turn it is: what accounts hold now and have used, and the bounds they stay within.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/experiment/model.h"
#include "core/identity/account.h"

namespace locus {

// Thread-compatible. Times are of the wall clock, since usage outlives the program; one that goes back forgets nothing and
// charges nothing.
class AccountBook {
 public:
  static constexpr std::int64_t kDevice = 1000;  // holdings are in thousandths, since several may share a device

  struct Account {
    AccountRow row;                        // defaults where nobody gave it a share
    bool configured = false;               // somebody did
    std::int64_t holding = 0, urgent = 0;  // thousandths of devices, by weight; of it by urgent work
    UsageRow usage;
    bool charged = false, reset = false;  // its usage changed since take_charged(); it began anew
  };

  explicit AccountBook(Microseconds half_life) : half_life_(half_life) {}

  // Whether anybody was given a share: until then all are one account, and nothing is charged.
  bool shared() const { return configured_ > 0; }
  bool any_hours() const;                  // anybody's use within kQuotaDays is bounded
  int number_of(const std::string& name);  // a new one's is the next; 0 is that of ""
  const Account& operator[](int number) const { return accounts_[static_cast<std::size_t>(number)]; }
  int size() const { return static_cast<int>(accounts_.size()); }

  void put(const AccountRow& row, Microseconds wall);
  bool remove(const std::string& name);  // false: it had no share
  void restore(const AccountRow& row);   // as it is stored
  void restore(const UsageRow& row);

  // What it holds becomes more or less by `by`, and what it held until now is charged to it.
  void hold(int number, std::int64_t by, ServiceClass service_class, Microseconds wall);
  // It holds that already, as is found at a start.
  void find_holding(int number, std::int64_t held, ServiceClass service_class);
  // Charges those that have held something for so long without being charged.
  void charge_after(Microseconds time, Microseconds wall);
  // Rows of those whose usage changed, to be stored (ChargeAccount); none while nothing is shared.
  std::vector<UsageRow> take_charged();

  std::int64_t used(int number, Microseconds wall) const;         // decayed, device-microseconds
  std::int64_t used_lately(int number, Microseconds wall) const;  // within kQuotaDays, undecayed
  // Whether account a comes before b: it holds less for its weight, or as much and has used less, or its name does.
  bool before(int a, int b, Microseconds wall) const;
  // Why it may not hold `more` besides, a sentence; empty: it may.
  std::string bound_of(int number, std::int64_t more, ServiceClass service_class, Microseconds wall) const;
  bool within(int number, std::int64_t more, ServiceClass service_class, Microseconds wall) const;

 private:
  enum class Bound { kNone, kDevices, kUrgentDevices, kDeviceHours };
  Bound find_bound(int number, std::int64_t more, ServiceClass service_class, Microseconds wall) const;
  Account& at(int number) { return accounts_[static_cast<std::size_t>(number)]; }
  std::int64_t fresh(const Account& account, Microseconds wall) const;  // held since it was charged last
  void settle(Account& account, Microseconds wall);

  Microseconds half_life_;
  std::vector<Account> accounts_ = std::vector<Account>(1);  // by number
  std::map<std::string, int> numbers_ = {{"", 0}};
  int configured_ = 0;
};

// "2", "0.5"; "2 devices", "1 device": thousandths of devices, for people.
std::string number_text(std::int64_t thousandths);
std::string devices_text(std::int64_t thousandths);

}  // namespace locus
