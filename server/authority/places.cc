// How much of what takes long one caller may have under way at a time.
#include "server/authority/places.h"

#include <algorithm>
#include <vector>

#include "core/base/counted_address.h"
#include "server/authority/credentials.h"

namespace locus::server {
namespace {

constexpr Microseconds kPlaceAskedAgain = 5'000'000;  // nobody knows when one is given back

const char* plural_of(Lasting kind) {
  switch (kind) {
    case Lasting::kCopy:
      return "exports and backups";
    case Lasting::kDownload:
      return "downloads";
    case Lasting::kStream:
      return "streams of events or points";
    case Lasting::kUpload:
      return "uploads";
  }
  return "";
}

}  // namespace

absl::StatusOr<HeldPlace> Places::take(const std::string& caller, const std::string& address, const RpcRule& rule) {
  const auto counted = std::find_if(std::begin(kLastingCalls), std::end(kLastingCalls),
                                    [&](const LastingCall& one) { return one.rpc == rule.rpc; });
  if (counted == std::end(kLastingCalls)) return HeldPlace();
  const Lasting kind = counted->kind;
  std::vector<Key> keys = {{Of::kCaller, caller, kind}};
  if (const std::string from = counted_address(address); most_of_an_address(kind) > 0 && !from.empty())
    keys.emplace_back(Of::kAddress, from, kind);
  {
    absl::MutexLock lock(&counts_->mutex);
    for (const Key& key : keys) {
      const bool own = std::get<Of>(key) == Of::kCaller;
      const int most = own ? most_at_a_time(kind) : most_of_an_address(kind);
      if (counts_->of(key) >= most)
        return too_often("'" + (own ? caller : address) + "' has " + std::to_string(most) + " " + plural_of(kind) +
                             " under way, which is as many as one " + (own ? "caller" : "address") + " may",
                         kPlaceAskedAgain);
    }
    for (const Key& key : keys) ++counts_->under_way[key];
  }
  return HeldPlace(nullptr, [counts = counts_, keys](const void*) {
    absl::MutexLock lock(&counts->mutex);
    for (const Key& key : keys) {
      const auto one = counts->under_way.find(key);
      if (--one->second == 0) counts->under_way.erase(one);
    }
  });
}

}  // namespace locus::server
