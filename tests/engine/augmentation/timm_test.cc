// What timm's policies made of an image, given the draws of our streams (testdata/timm_policies.py), to the byte.
#include <gtest/gtest.h>

#include <fstream>

#include "core/base/json.h"
#include "engine/augmentation/policy.h"
#include "tests/engine/images/pattern.h"
#include "tests/engine/support/sources.h"

namespace locus::engine {
namespace {

TEST(TimmPolicy, GivesTheBytesOfTimm) {
  const auto folder = test::in_sources("tests/engine/augmentation/testdata");
  const Json recorded = Json::parse(std::ifstream(folder / "timm_policies.json"));
  const auto from = recorded.at("from").get<std::vector<int>>();
  const Image image = pattern(from[0], from[1], from[2]);
  const RandomStreams random(recorded.at("seed").get<std::uint64_t>());
  const Canvas canvas{Sampling::kBicubic, recorded.at("fill")};
  std::set<std::string> digests;
  for (const Json& row : recorded.at("rows")) {
    const auto policy = timm_policy(row.at("policy").get<std::string>(), std::min(from[0], from[1]));
    const StreamDraws draws(random, recorded.at("epoch"), row.at("row"));
    const std::string digest = digest_of(policy->apply(image, draws, canvas));
    EXPECT_EQ(digest, row.at("sha256")) << row << " by timm " << recorded.at("timm");
    digests.insert(digest);
  }
  EXPECT_GT(digests.size(), recorded.at("rows").size() / 2) << "hardly any image is like another";
}

}  // namespace
}  // namespace locus::engine
