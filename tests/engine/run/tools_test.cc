// The trainer's tools as they are called: files in, files out, errors on the terminal.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "engine/files/safetensors.h"

extern char** environ;

namespace locus::engine {
namespace {

namespace fs = std::filesystem;

struct Ended {
  int status;
  std::string out, err;
};

std::string content(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

class TrainerTools : public testing::Test {
 protected:
  TrainerTools() {
    std::string name = (fs::temp_directory_path() / "locus-tools-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
    std::ofstream(folder_ / "spec.json")
        << R"({"model": {"options": {"dim": 16, "heads": 4}}, "priors": [{"id": "relative-bias"}]})";
  }
  ~TrainerTools() override { fs::remove_all(folder_); }

  std::string file(const char* name) const { return (folder_ / name).string(); }

  Ended run(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), LOCUS_TRAINER);
    std::vector<char*> raw;
    for (std::string& argument : arguments) raw.push_back(argument.data());
    raw.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    const std::string out = file("out.txt"), err = file("err.txt");
    ::posix_spawn_file_actions_addopen(&actions, 1, out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ::posix_spawn_file_actions_addopen(&actions, 2, err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    pid_t child = 0;
    const int failed = ::posix_spawn(&child, LOCUS_TRAINER, &actions, nullptr, raw.data(), environ);
    ::posix_spawn_file_actions_destroy(&actions);
    if (failed != 0) throw std::runtime_error("cannot start the trainer");
    int status = 0;
    ::waitpid(child, &status, 0);
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, content(out), content(err)};
  }

  fs::path folder_;
};

TEST_F(TrainerTools, ProbeRunsOnTheParametersItWroteItself) {
  const std::vector<std::string> where = {"probe", "--spec", file("spec.json"), "--grid", "2x3", "--prefix", "1"};
  auto init = where;
  init.insert(init.end(), {"--init", "--out", file("in.safetensors")});
  const Ended wrote = run(init);
  ASSERT_EQ(wrote.status, 0) << wrote.err;
  TensorFile given = read_safetensors(file("in.safetensors"));
  EXPECT_EQ(given.tensors.at("priors.relative-bias.layers.0.table").sizes(), (at::IntArrayRef{15, 4}));
  given.tensors["x"] = at::randn({2, 7, 16});
  given.tensors["cotangent"] = at::randn({2, 7, 16});
  write_safetensors(file("in.safetensors"), given);
  auto compute = where;
  compute.insert(compute.end(),
                 {"--path", "explicit", "--in", file("in.safetensors"), "--out", file("out.safetensors")});
  const Ended computed = run(compute);
  ASSERT_EQ(computed.status, 0) << computed.err;
  const TensorFile out = read_safetensors(file("out.safetensors"));
  EXPECT_EQ(out.metadata.at("path"), "explicit");
  EXPECT_EQ(out.tensors.at("probabilities").sizes(), (at::IntArrayRef{2, 4, 7, 7}));
  EXPECT_EQ(out.tensors.at("output").scalar_type(), at::kDouble);
  EXPECT_GT(out.tensors.at("grad.priors.relative-bias.layers.0.table").abs().max().item<double>(), 0);
}

TEST_F(TrainerTools, ProbeNamesWhatIsWrong) {
  const Ended no_grid = run({"probe", "--spec", file("spec.json"), "--init", "--out", file("x")});
  EXPECT_EQ(no_grid.status, 2);
  EXPECT_NE(no_grid.err.find("--grid is required"), std::string::npos) << no_grid.err;
  write_safetensors(file("in.safetensors"), {{{"x", at::zeros({1, 6, 16})}}, {}});
  const Ended missing = run({"probe", "--spec", file("spec.json"), "--grid", "2x3", "--in", file("in.safetensors"),
                             "--out", file("out.safetensors")});
  EXPECT_EQ(missing.status, 2);
  EXPECT_NE(missing.err.find("missing priors.relative-bias.layers.0.table, proj.bias"), std::string::npos)
      << missing.err;
  EXPECT_FALSE(fs::exists(file("out.safetensors")));
}

TEST_F(TrainerTools, ProbeListsTheSpecificationsPrior) {
  const Ended listed = run({"probe", "--list", "--spec", file("spec.json")});
  ASSERT_EQ(listed.status, 0) << listed.err;
  EXPECT_EQ(Json::parse(listed.out).at("priors").at(0).at("id"), "relative-bias");
}

TEST_F(TrainerTools, PictureWritesTheDocumentAndThePicture) {
  const Ended drawn = run({"picture", "violin", "--grid", "4x6", "--options", R"({"curves": ["snake"]})", "--json",
                           file("p.json"), "--png", file("p.png"), "--query", "1,2"});
  ASSERT_EQ(drawn.status, 0) << drawn.err;
  EXPECT_TRUE(drawn.out.empty());
  const Json document = Json::parse(content(file("p.json")));
  EXPECT_EQ(document.at("curves").size(), 1u);
  EXPECT_EQ(document.at("parameters_added"), 8);
  EXPECT_TRUE(content(file("p.png")).starts_with("\x89PNG"));
}

TEST_F(TrainerTools, PictureShowsWhatACheckpointHolds) {
  Tensor table = at::zeros({9 * 7, 4});
  table.select(1, 2).fill_(3);
  write_safetensors(file("c.safetensors"), {{{"model.backbone.priors.relative-bias.layers.0.table", table}}, {}});
  const Ended drawn = run({"picture", "relative-bias", "--grid", "5x4", "--checkpoint", file("c.safetensors")});
  ASSERT_EQ(drawn.status, 0) << drawn.err;
  const Json bias = Json::parse(drawn.out).at("views").at(0).at("values");
  EXPECT_EQ(bias[2][7][3], 3.0);
  EXPECT_EQ(bias[1][7][3], 0.0);
  const Ended misfit = run({"picture", "relative-bias", "--grid", "4x4", "--checkpoint", file("c.safetensors")});
  EXPECT_EQ(misfit.status, 2);
  EXPECT_NE(misfit.err.find("has the shape [63,4], not [49,4]"), std::string::npos) << misfit.err;
}

// Both answers are right: a machine set up for a GPU loads, another says what it lacks and how to get it.
TEST_F(TrainerTools, DevicesLoadsWhatAGpuTrainingLoadsOrNamesTheCommandThatBringsIt) {
  const Ended plain = run({"devices"});
  ASSERT_EQ(plain.status, 0) << plain.err;
  const Json devices = Json::parse(plain.out);
  EXPECT_EQ(devices.at("cuda").empty(), devices.contains("cuda_unusable")) << plain.out;
  const Ended loaded = run({"devices", "--load"});
  const Json found = Json::parse(loaded.out);
  EXPECT_EQ(found.at("cuda"), devices.at("cuda"));
  if (loaded.status == 0) {
    EXPECT_TRUE(fs::exists(found.at("torch").get<std::string>())) << loaded.out;
    EXPECT_TRUE(fs::exists(found.at("kernels").get<std::string>())) << loaded.out;
    EXPECT_TRUE(found.at("graphs").get<bool>()) << loaded.out;
  } else {
    EXPECT_EQ(loaded.status, 1);
    EXPECT_TRUE(loaded.err.find("tools/setup gpu") != std::string::npos ||
                loaded.err.find("make gpu") != std::string::npos)
        << loaded.err;
  }
}

TEST_F(TrainerTools, PictureRefusesUnknownPriors) {
  const Ended unknown = run({"picture", "astrology"});
  EXPECT_EQ(unknown.status, 2);
  EXPECT_NE(unknown.err.find("there is no prior 'astrology'"), std::string::npos) << unknown.err;
}

// A request of a model as it is initialized.
void write_request(const std::string& path, const std::string& kind, const std::string& rest) {
  std::ofstream(path) << R"({"kind": ")" << kind << R"(", "configuration": {"kind": "train", "seed": 0,
    "task": {"id": "classification"}, "dataset": {"id": "fashion-mnist"},
    "model": {"id": "vit", "options": {"dim": 16, "heads": 4, "depth": 2, "patch": 7}},
    "priors": [{"id": "violin"}]})"
                      << rest << "}";
}

TEST_F(TrainerTools, PictureOfATrialNeedsNothingButItsRequest) {
  write_request(file("request.json"), "trained-prior", R"(, "layers": [1])");
  const Ended printed = run({"picture", "--trained", file("request.json"), "--memory", "8192", "--seconds", "60"});
  ASSERT_EQ(printed.status, 0) << printed.err;
  const Json document = Json::parse(printed.out);
  EXPECT_EQ(document.at("kind"), "trained-prior");
  EXPECT_EQ(document.at("grid"), (Json{4, 4}));
  EXPECT_EQ(document.at("layers").size(), 1u);
  const Ended drawn =
      run({"picture", "--trained", file("request.json"), "--png", file("trained.png"), "--query", "0,3"});
  ASSERT_EQ(drawn.status, 0) << drawn.err;
  EXPECT_EQ(content(file("trained.png")).substr(1, 3), "PNG");
  EXPECT_EQ(drawn.out, "");
}

TEST_F(TrainerTools, PictureTellsAWrongRequestFromMissingData) {
  write_request(file("request.json"), "portrait", "");
  EXPECT_EQ(run({"picture", "--trained", file("request.json")}).status, 2);
  write_request(file("request.json"), "attention", R"(, "images": [0], "data_root": "/nowhere")");
  const Ended missing = run({"picture", "--trained", file("request.json")});
  EXPECT_EQ(missing.status, 3);
  EXPECT_NE(missing.err.find("/nowhere"), std::string::npos) << missing.err;
  std::ofstream(file("weights.safetensors")) << "no weights";
  write_request(file("request.json"), "trained-prior", R"(, "weights": ")" + file("weights.safetensors") + "\"");
  const Ended damaged = run({"picture", "--trained", file("request.json")});
  EXPECT_EQ(damaged.status, 3);
  EXPECT_NE(damaged.err.find("weights.safetensors"), std::string::npos) << damaged.err;
}

}  // namespace
}  // namespace locus::engine
