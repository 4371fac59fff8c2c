// What workers bring to the catalog: planned with, granted to who has the same code, kept when nobody does.
#include "core/base/json.h"
#include "tests/server/support/fake_worker.h"
#include "tests/server/support/server_fixture.h"

namespace locus::test {
namespace {

double outside_score(const std::string& prior, std::int64_t seed, int) {
  return (prior == "mine" ? 85.0 : 80.0) + static_cast<double>(seed);
}

class OutsideItems : public ServerTest {
 protected:
  void SetUp() override { open(); }
  void open() {
    ServerOptions options;
    options.data = folder_.path() / "data";
    start(options);
  }

  // A worker with the extension, whose code has this digest and was loaded then.
  static std::function<void(v1::RegisterWorkerRequest&)> with(char digest, std::int64_t loaded_us,
                                                              const std::string& id = "mine") {
    return [=](v1::RegisterWorkerRequest& request) {
      auto* own = request.add_extensions();
      own->set_name("own-prior");
      own->set_by("plugin");
      own->set_digest(std::string(64, digest));
      own->set_items_json(R"([{"kind":"prior","id":")" + id + R"(","revision":1,"layouts":{"ranks":[2]},
          "options":[{"name":"slope","type":"number","default":0.5,"minimum":0}]}])");
      own->set_loaded_us(loaded_us);
      (*request.mutable_revisions())["prior/" + id] = 1;
    };
  }

  static Json specification(double slope = 2) {
    return small_specification({{"name", "outside"},
                                {"baseline", nullptr},
                                {"matrix", {{"prior", {"none", {{"mine", {{"slope", slope}}}}}}}}});
  }
  grpc::Status plan(const Json& specification, v1::Plan* out) {
    v1::PlanExperimentRequest request;
    request.set_spec_json(specification.dump());
    return experiments_->PlanExperiment(deadline().get(), request, out);
  }
  v1::Catalog catalog() {
    v1::Catalog out;
    EXPECT_TRUE(catalog_->GetCatalog(deadline().get(), {}, &out).ok());
    return out;
  }
  Json row_of(const std::string& label) {
    const v1::Table now = table("outside");
    for (const auto& row : now.rows()) {
      if (row.label().find(label) != std::string::npos) return {{"mean", row.mean()}, {"n", row.n()}};
    }
    return nullptr;
  }

  TemporaryFolder folder_;
};

TEST_F(OutsideItems, AreUnknownUntilAWorkerBringsThem) {
  v1::Plan planned;
  EXPECT_EQ(wire_error(plan(specification(), &planned)).reason, "UNKNOWN_PRIOR");
  const std::string before = catalog().digest();
  FakeWorker worker(channel_, "owner");
  ASSERT_TRUE(worker.register_with(with('a', 10)).ok());
  EXPECT_TRUE(plan(specification(), &planned).ok());
  EXPECT_NE(catalog().digest(), before);
  const Json document = Json::parse(catalog().json());
  EXPECT_EQ(document["items"].back()["origin"],
            Json({{"name", "own-prior"}, {"by", "plugin"}, {"digest", std::string(64, 'a')}}));
  const grpc::Status refused = plan(specification(-1), &planned);
  EXPECT_EQ(wire_error(refused).reason, "OPTION_OUT_OF_RANGE") << refused.error_message();
}

TEST_F(OutsideItems, RunWhereTheirCodeIsAndNowhereElse) {
  FakeWorker owner(channel_, "owner"), plain(channel_, "plain"), other(channel_, "other");
  ASSERT_TRUE(owner.register_with(with('a', 10)).ok());
  ASSERT_TRUE(plain.register_with().ok());
  submit(specification());
  ASSERT_TRUE(other.register_with(with('b', 20)).ok());
  std::vector<Assigned> given;
  while (const auto work = plain.acquire()) given.push_back(*work);
  for (const Assigned& work : given) EXPECT_EQ(work.prior, "none");
  while (const auto work = other.acquire()) EXPECT_EQ(work->prior, "none");
  const auto own = owner.acquire();
  ASSERT_TRUE(own.has_value());
  EXPECT_EQ(own->prior, "mine");
  EXPECT_EQ(own->config["extensions"], Json({{"own-prior", std::string(64, 'a')}}));
}

TEST_F(OutsideItems, StayInPlansAndTablesWhenNobodyBringsThemAnyMore) {
  {
    FakeWorker owner(channel_, "owner");
    ASSERT_TRUE(owner.register_with(with('a', 10)).ok());
    submit(specification());
    ASSERT_GT(owner.run_all(outside_score), 0);
  }
  const Json before = row_of("mine");
  ASSERT_FALSE(before.is_null());
  const std::string digest = catalog().digest();
  stop();
  open();
  EXPECT_EQ(row_of("mine"), before);
  EXPECT_EQ(catalog().digest(), digest);
  v1::Plan planned;
  ASSERT_TRUE(plan(specification(), &planned).ok());
  EXPECT_EQ(planned.stages_to_run(), 0) << "what is there is found again";
}

TEST_F(OutsideItems, OfOtherCodeAreOtherStages) {
  FakeWorker owner(channel_, "owner");
  ASSERT_TRUE(owner.register_with(with('a', 10)).ok());
  submit(specification());
  ASSERT_GT(owner.run_all(outside_score), 0);
  FakeWorker newer(channel_, "newer");
  ASSERT_TRUE(newer.register_with(with('b', 20)).ok());
  v1::Plan planned;
  ASSERT_TRUE(plan(specification(), &planned).ok());
  EXPECT_EQ(planned.trials_changed(), 3) << "one cell of three seeds";
  EXPECT_EQ(planned.stages_to_run(), planned.stages_total() / 2);
  v1::CreateExperimentRequest again;
  again.set_spec_json(specification().dump());
  v1::CreateExperimentResponse response;
  EXPECT_EQ(wire_error(experiments_->CreateExperiment(deadline().get(), again, &response)).reason, "EXPERIMENT_EXISTS");
  EXPECT_EQ(submit(specification(), /*replace=*/true).trials_changed(), 3);
  const auto work = newer.acquire();
  ASSERT_TRUE(work.has_value());
  EXPECT_EQ(work->config["extensions"], Json({{"own-prior", std::string(64, 'b')}}));
}

TEST_F(OutsideItems, AreThoseLoadedLastWhoeverRegistersAgain) {
  FakeWorker older(channel_, "older"), newer(channel_, "newer");
  ASSERT_TRUE(older.register_with(with('a', 10)).ok());
  ASSERT_TRUE(newer.register_with(with('b', 20)).ok());
  const std::string digest = catalog().digest();
  ASSERT_TRUE(older.register_with(with('a', 10)).ok());
  EXPECT_EQ(catalog().digest(), digest);
  ASSERT_TRUE(older.register_with(with('a', 30)).ok()) << "started anew";
  EXPECT_NE(catalog().digest(), digest);
}

TEST_F(OutsideItems, AreShownWithTheWorkersThatBringThemAndWhichCodeCounts) {
  FakeWorker older(channel_, "older"), newer(channel_, "newer"), plain(channel_, "plain");
  ASSERT_TRUE(older.register_with(with('a', 10)).ok());
  ASSERT_TRUE(newer.register_with(with('b', 20)).ok());
  ASSERT_TRUE(plain.register_with().ok());
  v1::ListWorkersResponse listed;
  ASSERT_TRUE(workers_->ListWorkers(deadline().get(), {}, &listed).ok());
  ASSERT_EQ(listed.workers_size(), 3);
  for (const v1::Worker& worker : listed.workers()) {
    ASSERT_EQ(worker.extensions_size(), worker.name() == "plain" ? 0 : 1);
    if (worker.name() == "plain") continue;
    EXPECT_EQ(worker.extensions(0).name(), "own-prior");
    EXPECT_EQ(worker.extensions(0).digest(), std::string(64, worker.name() == "older" ? 'a' : 'b'));
    EXPECT_EQ(worker.extensions(0).current(), worker.name() == "newer");
  }
}

TEST_F(OutsideItems, AreForgottenWhenNothingUsesThemAndStayInWhatWasPlannedWithThem) {
  const std::string plain = catalog().digest();
  const auto forget = [this](const std::string& name, v1::Extension* out) {
    v1::ForgetExtensionRequest request;
    request.set_name(name);
    return catalog_->ForgetExtension(deadline().get(), request, out);
  };
  v1::Extension gone;
  EXPECT_EQ(wire_error(forget("own-prior", &gone)).reason, "UNKNOWN_ITEM");
  {
    FakeWorker owner(channel_, "owner");
    ASSERT_TRUE(owner.register_with(with('a', 10)).ok());
    submit(specification());
    EXPECT_EQ(wire_error(forget("own-prior", &gone)).reason, "WRONG_STATE") << "a worker has it";
  }
  stop();
  open();
  EXPECT_EQ(wire_error(forget("own-prior", &gone)).reason, "WRONG_STATE")
      << "stages need it, though no worker is there";
  FakeWorker owner(channel_, "another");
  ASSERT_TRUE(owner.register_with(with('a', 10)).ok());
  ASSERT_GT(owner.run_all(outside_score), 0);
  ASSERT_TRUE(owner.register_with().ok()) << "started without it";
  const Json before = row_of("mine");
  const grpc::Status forgotten = forget("own-prior", &gone);
  ASSERT_TRUE(forgotten.ok()) << forgotten.error_message();
  EXPECT_EQ(gone.digest(), std::string(64, 'a'));
  ASSERT_EQ(gone.items_size(), 1);
  EXPECT_EQ(gone.items(0), "prior/mine");
  EXPECT_EQ(catalog().digest(), plain);
  EXPECT_EQ(row_of("mine"), before);
  stop();
  open();
  EXPECT_EQ(catalog().digest(), plain) << "for good";
  EXPECT_EQ(row_of("mine"), before);
}

TEST_F(OutsideItems, AreRefusedWithTheirWorkerWhereTheyBreakTheCatalog) {
  const std::string digest = catalog().digest();
  FakeWorker worker(channel_, "owner");
  EXPECT_EQ(wire_error(worker.register_with(with('a', 10, "violin"))).reason, "CATALOG_MISMATCH");
  EXPECT_EQ(wire_error(worker.register_with(with('a', 10, "Not an id \""))).reason, "INVALID_ARGUMENT");
  const auto large = [](v1::RegisterWorkerRequest& request) {
    with('a', 10)(request);
    request.mutable_extensions(0)->set_items_json(std::string(300'000, ' ') + "[]");
  };
  EXPECT_EQ(wire_error(worker.register_with(large)).reason, "LIMIT_EXCEEDED");
  const auto many = [](v1::RegisterWorkerRequest& request) {
    for (int i = 0; i < 17; ++i) with('a', 10)(request);
  };
  EXPECT_EQ(wire_error(worker.register_with(many)).reason, "LIMIT_EXCEEDED");
  EXPECT_EQ(catalog().digest(), digest);
  grpc::Status asked;
  EXPECT_FALSE(worker.acquire({}, &asked).has_value());
  EXPECT_EQ(wire_error(asked).reason, "WORKER_NOT_FOUND") << "it was not registered";
}

}  // namespace
}  // namespace locus::test
