// The contract every store fulfills, run against each of them: the fixture its topic files share.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "storage/memory/store.h"
#include "storage/sqlite/store.h"
#include "tests/storage/world.h"

namespace locus::testing {

enum class Kind { kMemory, kSqlite };

class StoreContract : public ::testing::TestWithParam<Kind> {
 protected:
  void SetUp() override {
    if (GetParam() == Kind::kMemory) {
      store_ = make_memory_store();
    } else {
      auto opened = open_sqlite_store(folder_.path(), clock_);
      ASSERT_TRUE(opened.ok()) << opened.status();
      store_ = std::move(*opened);
    }
  }

  Store& store() { return *store_; }

  void make_world() { must(world()); }

  void must(std::vector<Mutation> mutations) {
    const absl::Status status = apply(*store_, std::move(mutations));
    ASSERT_TRUE(status.ok()) << status;
  }

  std::int64_t must_append(const PointAppend& append) {
    const auto acked = store_->append(append, kNow);
    EXPECT_TRUE(acked.ok()) << acked.status();
    return acked.value_or(-1);
  }

  // The call is refused with the reason, and nothing has changed.
  void expect_refused(std::vector<Mutation> mutations, absl::StatusCode code, const std::string& reason) {
    const Json before = picture(*store_);
    const absl::Status status = apply(*store_, std::move(mutations));
    EXPECT_EQ(status.code(), code) << status;
    EXPECT_EQ(reason_of(status), reason) << status;
    EXPECT_EQ(picture(*store_), before) << status;
  }

  void expect_append_refused(const PointAppend& append, absl::StatusCode code, const std::string& reason) {
    const Json before = picture(*store_);
    const auto acked = store_->append(append, kNow);
    EXPECT_EQ(acked.status().code(), code) << acked.status();
    EXPECT_EQ(reason_of(acked.status()), reason) << acked.status();
    EXPECT_EQ(picture(*store_), before);
  }

  TempFolder folder_;
  FixedClock clock_;
  std::unique_ptr<Store> store_;
};

inline std::string name_of(const ::testing::TestParamInfo<Kind>& info) {
  return info.param == Kind::kMemory ? "Memory" : "Sqlite";
}

#define LOCUS_STORE_CONTRACT(suite) \
  INSTANTIATE_TEST_SUITE_P(EveryStore, suite, ::testing::Values(Kind::kMemory, Kind::kSqlite), name_of)

}  // namespace locus::testing
