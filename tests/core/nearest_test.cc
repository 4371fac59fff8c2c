// Which known name a misspelled one stands for.
#include "core/base/nearest.h"

#include <gtest/gtest.h>

namespace locus {
namespace {

TEST(NearestName, FindsSlipsAndNothingFarFetched) {
  EXPECT_EQ(nearest_name("epohcs", {"epochs", "batch", "lr"}), "epochs");
  EXPECT_EQ(nearest_name("rl", {"lr", "batch"}), "lr");
  EXPECT_EQ(nearest_name("alibi", {"violin", "alibi-2d"}), "alibi-2d");
  EXPECT_EQ(nearest_name("convnext", {"none", "violin", "rope-axial"}), std::nullopt);
  EXPECT_EQ(nearest_name(std::string(1 << 20, 'x'), {"x"}), std::nullopt);
}

}  // namespace
}  // namespace locus
