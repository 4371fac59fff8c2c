// The program as users meet it: exit statuses, sentences, files and lines, against a live server.
#include "tests/cli/program.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

namespace locus {
namespace {

using Json = nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kSpec[] =
    "version: 1\n"
    "name: small\n"
    "dataset: fashion-mnist\n"
    "model: {backbone: vit, dim: 64, heads: 4}\n"
    "train: {epochs: 2, lr: 3.0e-3}\n"
    "matrix:\n"
    "  prior:\n"
    "    - none\n"
    "    - learned-absolute\n"
    "    - [learned-absolute, violin]\n"
    "replicates: {seed: [0, 1]}\n"
    "baseline: {prior: none}\n";

class Program : public ::testing::Test {
 protected:
  Outcome run(std::vector<std::string> arguments, const std::string& input = "") {
    arguments.insert(arguments.end(), {"--server", server.address()});
    return run_locus(arguments, input);
  }
  TemporaryFolder folder;
  LiveServer server{folder.path() / "data"};
  std::string spec = folder.write("small.yaml", kSpec);
};

TEST(ProgramAlone, ExplainsItselfAndRefusesWhatItDoesNotKnow) {
  const Outcome help = run_locus({"--help"});
  EXPECT_EQ(help.status, 0);
  for (const char* command :
       {"serve",   "worker",    "plan",   "submit", "watch", "list",    "show",       "why",       "leaderboard",
        "compare", "cancel",    "pause",  "resume", "rerun", "delete",  "workers",    "drain",     "catalog",
        "logs",    "artifacts", "export", "backup", "check", "version", "completion", "reference", "claims"}) {
    EXPECT_THAT(help.out, HasSubstr("\n  " + std::string(command) + " "));
  }
  EXPECT_EQ(run_locus({}).status, 2);
  EXPECT_THAT(run_locus({"paln"}).err, HasSubstr("locus has no command 'paln'; did you mean plan?"));
  EXPECT_THAT(run_locus({"plan", "x", "--sevrer", "y"}).err, HasSubstr("did you mean --server?"));
  EXPECT_EQ(run_locus({"paln"}).status, 2);
  EXPECT_EQ(run_locus({"plan"}).status, 2);
  EXPECT_EQ(run_locus({"leaderboard", "x", "--format", "pdf"}).status, 2);
  EXPECT_EQ(run_locus({"worker", "--device", "tpu"}).status, 2);
}

TEST(ProgramAlone, NamesTheServerItCannotReachAndHowToStartOne) {
  // Port 1 of loopback: nobody listens there, and nobody but root could.
  const Outcome outcome = run_locus({"workers", "--server", "127.0.0.1:1"});
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("127.0.0.1:1"), HasSubstr("locus serve")));
  EXPECT_THAT(outcome.out, IsEmpty());
  const Outcome json = run_locus({"workers", "--json", "--server", "127.0.0.1:1"});
  EXPECT_EQ(Json::parse(json.err)["error"]["reason"], "SERVER_UNAVAILABLE");
  EXPECT_EQ(run_locus({"workers", "--server", "nonsense"}).status, 1);
}

TEST(ProgramAlone, TellsTheLineOfAFileItCannotRead) {
  const TemporaryFolder folder;
  const std::string file = folder.write("bad.yaml", "version: 1\nname: x\nname: y\n");
  const Outcome outcome = run_locus({"plan", file, "--server", "127.0.0.1:1"});
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("'name' is given twice"), HasSubstr(file + ":3")));
}

TEST_F(Program, PlansWithoutAWorker) {
  const Outcome outcome = run({"plan", spec});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("small: 3 cells, 6 trials, 12 stages"));
  EXPECT_THAT(outcome.out, HasSubstr("learned-absolute + violin"));
  const Json plan = Json::parse(run({"plan", spec, "--json", "--set", "replicates.seed=[0, 1, 2]"}).out);
  EXPECT_EQ(plan["trials"], 9);
  EXPECT_EQ(plan["stages_to_run"], 18);
  EXPECT_EQ(plan["exists"], false);
}

TEST_F(Program, ReadsStandardInput) {
  EXPECT_EQ(Json::parse(run({"plan", "-", "--json"}, kSpec).out)["trials"], 6);
  const Outcome bad = run({"plan", "-", "--set", "train.lr=.nan"}, kSpec);
  EXPECT_EQ(bad.status, 1);
  EXPECT_THAT(bad.err, AllOf(HasSubstr("finite number"), HasSubstr("--set train.lr=.nan: train.lr")));
}

TEST_F(Program, TellsEveryMistakeInTheOrderOfTheFile) {
  const std::string wrong = folder.write("wrong.yaml",
                                         "version: 1\nname: small\ntrain: {lr: fast}\ndataset: fashion-mnits\n"
                                         "model: {dims: 64}\nmatrix: {prior: [none, violn]}\n");
  const Outcome refused = run({"submit", wrong});
  EXPECT_EQ(refused.status, 1);
  EXPECT_EQ(refused.err.substr(0, refused.err.find('\n')), "error: 4 mistakes");
  std::size_t at = 0;
  for (const char* place : {":3: train.lr: ", ":4: dataset: ", ":5: model.dims: ", ":6: matrix.prior[1]: "}) {
    const std::size_t next = refused.err.find("\n  " + wrong + place);
    EXPECT_GT(next, at) << refused.err;
    at = next;
  }
  const Json error = Json::parse(run({"plan", wrong, "--json"}).err)["error"];
  ASSERT_EQ(error["violations"].size(), 4u);
  EXPECT_EQ(error["violations"][1]["where"], wrong + ":4");
  EXPECT_EQ(error["violations"][1]["reason"], "UNKNOWN_ITEM");
}

TEST_F(Program, TellsFileLineAndFieldOfABadValueAndStoresNothing) {
  struct Bad {
    const char *from, *to, *where, *says;
  };
  const Bad rows[] = {
      {"    - learned-absolute\n", "    - violn\n", ":9: matrix.prior[1]", "did you mean 'violin'"},
      {"lr: 3.0e-3", "lr: .nan", ":5: train.lr", "finite number"},
      {"heads: 4", "heads: 5", ":4: model.heads", "heads = 5 does not divide dim = 64"},
      {"epochs: 2", "epohcs: 2", ":5: train.epohcs", "did you mean 'epochs'"},
      {"epochs: 2", "epochs: two", ":5: train.epochs", "an integer, not the string"},
      {"[learned-absolute, violin]", "[learned-absolute,\n      {violin: {curves: [hilbret]}}]",
       ":11: matrix.prior[2][1].violin.curves[0]", "'hilbert'"},
      {"name: small", "name: Small One", ":2: name", "not allowed"},
  };
  for (const Bad& bad : rows) {
    std::string text = kSpec;
    text.replace(text.find(bad.from), std::string(bad.from).size(), bad.to);
    const std::string file = folder.write("bad.yaml", text);
    for (const char* command : {"plan", "submit"}) {
      const Outcome outcome = run({command, file});
      EXPECT_EQ(outcome.status, 1) << bad.to;
      EXPECT_THAT(outcome.err, AllOf(HasSubstr(bad.says), HasSubstr(file + bad.where))) << bad.to;
    }
  }
  EXPECT_EQ(Json::parse(run({"list", "--json"}).out)["experiments"].size(), 0u);
}

TEST_F(Program, SubmitsExtendsShowsAndCancels) {
  EXPECT_THAT(run({"submit", spec}).out, HasSubstr("small submitted: 3 cells, 6 trials"));
  EXPECT_THAT(run({"submit", spec}).out, HasSubstr("small is here already"));
  EXPECT_THAT(run({"submit", spec, "--set", "replicates.seed=[0, 1, 2]"}).out, HasSubstr("small extended by 3 trials"));
  const Outcome fewer = run({"submit", spec, "--set", "replicates.seed=[0]"});
  EXPECT_EQ(fewer.status, 1);
  EXPECT_THAT(fewer.err, HasSubstr("replace"));

  EXPECT_THAT(run({"list"}).out, AllOf(HasSubstr("small"), HasSubstr("0/9")));
  EXPECT_EQ(run({"list", "--quiet"}).out, "small\n");
  EXPECT_EQ(run({"list", "--state", "completed", "--quiet"}).out, "");
  EXPECT_EQ(Json::parse(run({"list", "small", "--limit", "4", "--json"}).out)["trials"].size(), 4u);
  EXPECT_THAT(run({"pause", "small"}).out, HasSubstr("small paused"));
  EXPECT_EQ(Json::parse(run({"resume", "small", "--json"}).out)["state"], "active");
  EXPECT_THAT(run({"show", "small"}).out, AllOf(HasSubstr("learned-absolute + violin"), HasSubstr("queued")));
  const Json trial = Json::parse(run({"show", "small/0", "--json"}).out);
  EXPECT_EQ(trial["trial"]["name"], "small/0");
  const Outcome board = run({"leaderboard", "small"});
  EXPECT_EQ(board.status, 0) << board.err;
  EXPECT_THAT(board.out, HasSubstr("has no result for seeds 0, 1, 2"));

  EXPECT_EQ(run({"cancel", "small"}).status, 0);
  const Outcome watch = run({"watch", "small"});
  EXPECT_EQ(watch.status, 1);  // it did not complete
  EXPECT_THAT(watch.out, HasSubstr("small cancelled: 0/9 trials"));
}

TEST_F(Program, SaysWhatItDoesNotHave) {
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{{"show", "nothing"},
                                                                                         {"watch", "nothing"},
                                                                                         {"leaderboard", "nothing"},
                                                                                         {"cancel", "nothing"},
                                                                                         {"pause", "nothing"},
                                                                                         {"resume", "nothing"},
                                                                                         {"list", "nothing"},
                                                                                         {"show", "nothing/3"}}) {
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.status, 1) << arguments[0];
    EXPECT_THAT(outcome.err, HasSubstr("nothing")) << arguments[0];
  }
  EXPECT_THAT(run({"catalog", "prior", "violn"}).err, HasSubstr("did you mean 'violin'"));
  EXPECT_THAT(run({"catalog", "priro"}).err, HasSubstr("did you mean 'prior'"));
}

TEST_F(Program, ShowsTheCatalogAndTheWorkers) {
  EXPECT_THAT(run({"catalog"}).out, AllOf(HasSubstr("violin"), HasSubstr("supervised")));
  EXPECT_THAT(run({"catalog", "prior", "violin"}).out, HasSubstr("curves"));
  EXPECT_EQ(Json::parse(run({"catalog", "prior", "violin", "--json"}).out)["id"], "violin");
  EXPECT_THAT(run({"workers"}).out, HasSubstr("no worker"));
  const Json version = Json::parse(run({"version", "--json"}).out);
  EXPECT_EQ(version["server"]["version"], version["version"]);
}

TEST_F(Program, KeepsEverythingOverARestartOfTheServer) {
  EXPECT_EQ(run({"submit", spec}).status, 0);
  EXPECT_EQ(server.stop(), 0);
  const LiveServer again(folder.path() / "data");
  const Outcome outcome = run_locus({"show", "small", "--json", "--server", again.address()});
  EXPECT_EQ(Json::parse(outcome.out)["trials"], 6) << outcome.err;
}

TEST_F(Program, FollowsAnExperimentOverARestartOfTheServer) {
  ASSERT_EQ(run({"submit", spec}).status, 0);
  RunningLocus watch({"watch", "small", "--server", server.address()});
  EXPECT_THAT(watch.first_line(), HasSubstr("small active"));
  ASSERT_EQ(server.stop(), 0);
  const LiveServer again(folder.path() / "data", server.address());
  ASSERT_EQ(run({"cancel", "small"}).status, 0);
  const Outcome outcome = watch.wait();
  EXPECT_EQ(outcome.status, 1) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("small cancelled: 0/6 trials"));
}

TEST_F(Program, EndsFollowingAPausedExperimentAndSaysHowToGoOn) {
  ASSERT_EQ(run({"submit", spec}).status, 0);
  ASSERT_EQ(run({"pause", "small"}).status, 0);
  for (const bool json : {false, true}) {
    std::vector<std::string> arguments = {"watch", "small"};
    if (json) arguments.emplace_back("--json");
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.status, 1);
    EXPECT_THAT(outcome.out, HasSubstr("paused"));
    EXPECT_THAT(outcome.err, HasSubstr("small is paused; go on with: locus resume small && locus watch small"));
  }
  ASSERT_EQ(run({"resume", "small"}).status, 0);
  RunningLocus watch({"watch", "small", "--server", server.address()});
  EXPECT_THAT(watch.first_line(), HasSubstr("small active"));
  ASSERT_EQ(run({"pause", "small"}).status, 0);
  EXPECT_THAT(watch.wait().err, HasSubstr("small is paused"));
}

TEST_F(Program, RefusesASecondServerOnTheSameDataOrPort) {
  const Outcome same_data =
      run_locus({"serve", "--data", (folder.path() / "data").string(), "--grpc-address", "127.0.0.1:0",
                 "--http-address", "127.0.0.1:0", "--catalog", LOCUS_TEST_CATALOG});
  EXPECT_EQ(same_data.status, 1);
  EXPECT_THAT(same_data.err, HasSubstr((folder.path() / "data").string()));
  const Outcome same_port =
      run_locus({"serve", "--data", (folder.path() / "other").string(), "--grpc-address", server.address(),
                 "--http-address", "127.0.0.1:0", "--catalog", LOCUS_TEST_CATALOG});
  EXPECT_EQ(same_port.status, 1);
  EXPECT_THAT(same_port.err, HasSubstr(server.address().substr(server.address().find(':') + 1)));
}

TEST_F(Program, SetsPrintedNumbersBesideMeasuredOnes) {
  EXPECT_THAT(run({"claims"}).out, AllOf(HasSubstr("PAPER"), HasSubstr("\nviolin"), HasSubstr("\npape")));
  const Outcome table = run({"claims", "active-spatial-guidance", "--table", "Table 2"});
  EXPECT_THAT(table.out, AllOf(HasSubstr("dataset: imagenet-100"), HasSubstr("72.26 ± 0.70")));
  const Outcome wrong = run({"claims", "violn"});
  EXPECT_EQ(wrong.status, 1);
  EXPECT_THAT(wrong.err, AllOf(HasSubstr("no paper 'violn'"), HasSubstr("violin")));

  run({"submit", spec});
  const Outcome beside = run({"claims", "active-spatial-guidance", "--experiment", "small", "--table", "Table 2"});
  EXPECT_THAT(beside.out, AllOf(HasSubstr("dataset: imagenet-100 (here fashion-mnist)"),
                                HasSubstr("No-PE, Top-1 Acc. (%) = none"), HasSubstr("nothing measured here yet")));
  const Json claims = Json::parse(run({"claims", "--experiment", "small", "--json"}).out);
  EXPECT_GT(claims["summaries"].size(), 5u);
  const Json every = Json::parse(run({"claims", "--experiment", "small", "--all", "--json"}).out);
  EXPECT_GT(every["tables"].size(), 5u);
}

}  // namespace
}  // namespace locus
