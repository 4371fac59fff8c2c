// The workers as people see them: which are listed, and which are forgotten.
#include <gmock/gmock.h>

#include "storage/sqlite/store.h"
#include "tests/server/support/server_fixture.h"

namespace locus::test {
namespace {

using testing::ElementsAre;

using Fleet = ServerTest;

TEST_F(Fleet, LeavesWorkersOutOfTheListThatWereOfflineForLong) {
  TemporaryFolder folder;
  {
    auto store = open_sqlite_store(folder.path(), system_clock());
    ASSERT_TRUE(store.ok()) << store.status();
    const Microseconds day = 86'400'000'000, now = system_clock().wall();
    std::vector<Mutation> rows;
    WorkerId id = 0;
    const auto put = [&](const std::string& name, WorkerState state, Microseconds ago) {
      WorkerRow row;
      row.id = ++id;
      row.name = name;
      row.session = name;
      row.state = state;
      row.seen_us = now - ago;
      rows.push_back(PutWorker{row});
    };
    put("ancient", WorkerState::kOffline, 8 * day);
    put("away", WorkerState::kOffline, 6 * day);
    put("busy", WorkerState::kActive, 8 * day);  // the server was away
    ASSERT_TRUE((*store)->apply(rows, now).ok());
  }
  ServerOptions options;
  options.data = folder.path();
  start(options);
  const auto names = [&](bool all) {
    v1::ListWorkersRequest request;
    request.set_all(all);
    v1::ListWorkersResponse list;
    EXPECT_TRUE(workers_->ListWorkers(deadline().get(), request, &list).ok());
    std::vector<std::string> out;
    for (const v1::Worker& worker : list.workers()) out.push_back(worker.name());
    EXPECT_EQ(list.forgotten() + list.workers_size(), 3);
    return out;
  };
  EXPECT_THAT(names(false), ElementsAre("busy", "away"));
  EXPECT_THAT(names(true), ElementsAre("busy", "ancient", "away"));
  v1::ForgetWorkerRequest forget;
  forget.set_name("busy");
  v1::Worker worker;
  EXPECT_EQ(wire_error(workers_->ForgetWorker(deadline().get(), forget, &worker)).reason, "WRONG_STATE");
  forget.set_name("away");
  ASSERT_TRUE(workers_->ForgetWorker(deadline().get(), forget, &worker).ok());
  EXPECT_TRUE(worker.forgotten());
  EXPECT_THAT(names(false), ElementsAre("busy"));
  stop();
}

}  // namespace
}  // namespace locus::test
