// The one file that sees c10d. A wheel of PyTorch has the library with Gloo in it, but not Gloo's headers, which c10d's own
// header includes: stubs/ declares the little of them that it names. Only pointers to these types pass through here, and
// GlooStore must never be made: its table of functions would be ours, not the library's.
#include "engine/distributed/gloo.h"

#define USE_C10D_GLOO
#include <torch/csrc/distributed/c10d/FileStore.hpp>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

namespace locus::engine {
namespace {

constexpr std::size_t kMostReason = 300;

// Runs what may fail by the fault of others.
template <typename Call>
auto among_peers(const GangPlace& place, Call call) {
  try {
    return call();
  } catch (const std::exception& error) {
    const auto* torch = dynamic_cast<const c10::Error*>(&error);
    std::string why = torch != nullptr ? torch->what_without_backtrace() : error.what();
    why = why.substr(0, std::min(why.find('\n'), kMostReason));
    throw PeerLostError("rank " + std::to_string(place.rank) + " of " + std::to_string(place.world) +
                        " lost another one, or waited for longer than " +
                        std::to_string(static_cast<std::int64_t>(place.timeout_seconds)) + " s: " + why);
  }
}

class GlooGang final : public Gang {
 public:
  explicit GlooGang(const GangPlace& place) : Gang(place.rank, place.world), place_(place) {
    among_peers(place_, [&] {
      const auto timeout = std::chrono::milliseconds(static_cast<std::int64_t>(1000 * place.timeout_seconds));
      // -1: the file stays, since a process that comes late must not find a new one.
      auto file = c10::make_intrusive<c10d::FileStore>(place.rendezvous.string(), -1);
      auto store = c10::make_intrusive<c10d::PrefixStore>(place.token, std::move(file));
      store->setTimeout(timeout);
      auto options = c10d::ProcessGroupGloo::Options::create(timeout);
      options->devices = {c10d::ProcessGroupGloo::createDeviceForHostname("127.0.0.1")};
      group_ = c10::make_intrusive<c10d::ProcessGroupGloo>(store, place.rank, place.world, options);
    });
  }

  void wait_at_most(std::chrono::milliseconds time) override {
    place_.timeout_seconds = std::chrono::duration<double>(time).count();
    group_->setTimeout(time);
  }

  std::unique_ptr<Pending> begin_sum(const Tensor& tensor) override {
    std::vector<Tensor> tensors = {tensor};
    return std::make_unique<Exchange>(place_, among_peers(place_, [&] { return group_->allreduce(tensors); }));
  }

 private:
  class Exchange final : public Pending {
   public:
    Exchange(const GangPlace& place, c10::intrusive_ptr<c10d::Work> work) : place_(place), work_(std::move(work)) {}
    void wait() override {
      among_peers(place_, [&] { work_->wait(); });
    }

   private:
    const GangPlace& place_;
    c10::intrusive_ptr<c10d::Work> work_;
  };

  GangPlace place_;
  c10::intrusive_ptr<c10d::ProcessGroupGloo> group_;
};

}  // namespace

std::unique_ptr<Gang> join_gloo(const GangPlace& place) { return std::make_unique<GlooGang>(place); }

}  // namespace locus::engine
