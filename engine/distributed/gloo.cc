// The one file that sees c10d's Gloo. A wheel of PyTorch has the library with Gloo in it, but not Gloo's headers, which c10d's own
// header includes: stubs/ declares the little of them that it names. Only pointers to these types pass through here, and
// GlooStore must never be made: its table of functions would be ours, not the library's.
#include "engine/distributed/gloo.h"

#define USE_C10D_GLOO
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

#include "engine/distributed/among_peers.h"
#include "engine/distributed/store.h"

namespace locus::engine {
namespace {

class GlooGang final : public Gang {
 public:
  explicit GlooGang(const GangPlace& place) : Gang(place.rank, place.world), place_(place) {
    among_peers(place_, [&] {
      const auto timeout = std::chrono::milliseconds(static_cast<std::int64_t>(1000 * place.timeout_seconds));
      const auto store = c10::make_intrusive<LocusStore>(*place.rendezvous, "gloo/", timeout);
      auto options = c10d::ProcessGroupGloo::Options::create(timeout);
      options->devices = {c10d::ProcessGroupGloo::createDeviceForHostname("127.0.0.1")};
      try {
        group_ = c10::make_intrusive<c10d::ProcessGroupGloo>(store, place.rank, place.world, options);
      } catch (const std::exception&) {  // of c10d's own, whatever the store threw
        store->throw_abort();
        throw;
      }
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
