// A server with an experiment that has run, and its OpenAPI document.
#pragma once

#include <string>

#include "tests/server/support/fake_worker.h"
#include "tests/server/support/server_fixture.h"

namespace locus::test {

class OpenApiTest : public ServerTest {
 protected:
  void SetUp() override {
    start();
    submit(small_specification());
    FakeWorker worker(channel_, "one");
    ASSERT_TRUE(worker.register_with().ok());
    const auto work = worker.acquire();
    ASSERT_TRUE(work);
    stage_ = std::to_string(work->grant.stage());
    worker.run(*work, score);
    digest_ = worker.upload("weights of nobody");
    worker.run_all(score);
    document_ = http().get("/api/openapi.json").json();
  }

  Json document_;
  std::string stage_, digest_;  // a stage that ran, an artifact that no stage names

 private:
  static double score(const std::string&, std::int64_t seed, int) { return 80.0 + static_cast<double>(seed); }
};

}  // namespace locus::test
