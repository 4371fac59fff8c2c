// How much of what takes long one caller may have under way at a time.
#include "server/authority/places.h"

#include <algorithm>

#include "server/authority/credentials.h"

namespace locus::server {
namespace {

constexpr Microseconds kPlaceAskedAgain = 5'000'000;  // nobody knows when one is given back

const char* plural_of(Lasting kind) {
  switch (kind) {
    case Lasting::kCopy:
      return "exports and backups";
    case Lasting::kStream:
      return "streams of events or points";
    case Lasting::kUpload:
      return "uploads";
  }
  return "";
}

}  // namespace

absl::StatusOr<HeldPlace> Places::take(const std::string& caller, const RpcRule& rule) {
  const auto counted = std::find_if(std::begin(kLastingCalls), std::end(kLastingCalls),
                                    [&](const LastingCall& one) { return one.rpc == rule.rpc; });
  if (counted == std::end(kLastingCalls)) return HeldPlace();
  const Key key(caller, counted->kind);
  {
    absl::MutexLock lock(&counts_->mutex);
    const auto found = counts_->under_way.find(key);
    const int most = most_at_a_time(counted->kind);
    if (found != counts_->under_way.end() && found->second >= most) {
      return too_often("'" + caller + "' has " + std::to_string(most) + " " + plural_of(counted->kind) +
                           " under way, which is as many as one caller may",
                       kPlaceAskedAgain);
    }
    ++counts_->under_way[key];
  }
  return HeldPlace(nullptr, [counts = counts_, key](const void*) {
    absl::MutexLock lock(&counts->mutex);
    const auto one = counts->under_way.find(key);
    if (--one->second == 0) counts->under_way.erase(one);
  });
}

}  // namespace locus::server
