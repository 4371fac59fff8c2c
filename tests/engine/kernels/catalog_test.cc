// Which priors the CUDA kernels take, and that they give what the explicit formula does, by their sources on the CPU.
#include <gtest/gtest.h>

#include "engine/attention/attention.h"
#include "engine/attention/flash_cuda.h"
#include "engine/backbones/block.h"
#include "engine/base/random.h"
#include "tests/engine/kernels/kernels_on_cpu.h"
#include "tests/engine/support/models.h"

namespace locus::engine {
namespace {

struct Seen {
  int attentions = 0;
  bool hooked = false;
  std::string wrong;
};

// What the kernels make of the attentions of a small model in one pass; gradients are wanted.
Seen seen_of(const test::PriorSetting& setting) {
  const test::ModelShape shape = test::fitting(setting, {.pool = "cls", .depth = 1});
  const auto model = test::small_model({setting}, shape);
  {  // as after some training: many priors begin with zeros
    const at::NoGradGuard unseen;
    for (const auto& item : model->named_parameters())
      item.value().add_(RandomStreams(3).normal("test", item.key(), 0, item.value().sizes(), 0, 0.1));
  }
  Seen seen;
  const auto watcher = [&seen](const Scores& scores, const AttentionInputs&) {
    ++seen.attentions;
    seen.hooked = scores.hooked();
    if (seen.hooked) return;
    if (!flash_supports(test::kernels_on_cpu(), scores)) {
      seen.wrong = "not taken";
      return;
    }
    const at::NoGradGuard values_alone;
    const Tensor found = flash_by(test::kernels_on_cpu(), scores),
                 expected = choose_path("explicit", scores).run(scores);
    const double off = (found - expected).abs().max().item<double>() / expected.abs().max().item<double>();
    if (!(off < 1e-5)) seen.wrong = "off by " + std::to_string(off);
  };
  for (const auto& block : model->blocks()) block->attention().watch(watcher);
  model->forward(test::test_images(1, shape.extent), test::test_context(true));
  return seen;
}

TEST(KernelCatalog, HoldsEveryPriorThatAsksForNoProbabilitiesOfItsOwn) {
  std::set<std::string> of_their_own;
  for (const test::PriorSetting& setting : test::all_settings()) {
    const Seen seen = seen_of(setting);
    EXPECT_GT(seen.attentions, 0) << setting.name();
    EXPECT_EQ(seen.wrong, "") << setting.name();
    if (seen.hooked) of_their_own.insert(setting.id);
  }
  EXPECT_EQ(of_their_own, std::set<std::string>{}) << "these need a tensor of T x T for each sample";
}

}  // namespace
}  // namespace locus::engine
