// Plugins: what is read of a file before it is loaded, what is refused, what a loaded one brings.
#include "engine/plugin/load.h"

#include <gmock/gmock.h>

#include <cstring>
#include <fstream>

#include "core/base/sha256.h"
#include "engine/catalog/catalog.h"
#include "engine/run/run.h"
#include "tests/engine/support/models.h"

namespace locus::engine {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string bytes_of(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

const std::string& own_prior() {
  static const std::string bytes = bytes_of(LOCUS_OWN_PRIOR);
  return bytes;
}

LocusPluginNote own_note() {
  const auto note = plugin_note(own_prior());
  if (!note) throw std::runtime_error("the example has no note");
  return *note;
}

// The example's file with its note changed, as if it had been compiled elsewhere.
std::filesystem::path changed(const std::string& name, void (*change)(LocusPluginNote&)) {
  LocusPluginNote note = own_note();
  const std::string before(reinterpret_cast<const char*>(&note), sizeof(note));
  change(note);
  std::string bytes = own_prior();
  const std::size_t at = bytes.find(before);
  if (at == bytes.npos) throw std::runtime_error("the note is not in the file as it is read");
  bytes.replace(at, sizeof(note), reinterpret_cast<const char*>(&note), sizeof(note));
  const auto file = std::filesystem::path(::testing::TempDir()) / name;
  std::ofstream(file, std::ios::binary) << bytes;
  return file;
}

std::string refusal(const std::filesystem::path& file) {
  try {
    load_plugin(file);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

TEST(PluginNote, SaysWhatTheFileIsCalledAndWasCompiledAgainst) {
  const LocusPluginNote note = own_note();
  EXPECT_STREQ(note.name, "own-prior");
  EXPECT_STREQ(note.version, LOCUS_VERSION);
  EXPECT_EQ(plugin_misfit(note), "");
}

TEST(PluginNote, IsFoundInNothingThatIsCutOff) {
  const std::string& whole = own_prior();
  ASSERT_GT(whole.size(), 8192U);
  // Every length within the first and the last page, whatever order the linker wrote the sections in.
  for (std::size_t size = 0; size < whole.size(); size += size < 4096 || whole.size() - size <= 4096 ? 1 : 997)
    EXPECT_FALSE(plugin_note(std::string_view(whole).substr(0, size)).has_value()) << size;
}

TEST(PluginNote, IsReadFromDamagedFilesWithoutLeavingThem) {
  for (std::size_t at = 0; at < 64; ++at) {
    for (const int value : {0x00, 0x7f, 0xff}) {
      std::string bytes = own_prior();
      bytes[at] = static_cast<char>(value);
      if (const auto note = plugin_note(bytes)) EXPECT_STREQ(note->name, "own-prior") << at;
    }
  }
  EXPECT_FALSE(plugin_note("no library at all").has_value());
  EXPECT_FALSE(plugin_note(bytes_of("/proc/self/exe")).has_value()) << "a program has no note";
}

TEST(Plugins, OfAnotherVersionAreRefusedWithBothNamed) {
  const auto version = changed("version.so", [](LocusPluginNote& note) { std::strcpy(note.version, "0.0.9"); });
  EXPECT_THAT(refusal(version), AllOf(HasSubstr("against Locus 0.0.9, and this build has Locus " LOCUS_VERSION),
                                      HasSubstr(version.string()), HasSubstr("compile it again")));
  const auto torch = changed("torch.so", [](LocusPluginNote& note) { std::strcpy(note.torch, "1.13.0"); });
  EXPECT_THAT(refusal(torch),
              HasSubstr("against torch 1.13.0, and this build has torch " + std::string(own_note().torch)));
  const auto headers = changed("headers.so", [](LocusPluginNote& note) { std::strcpy(note.interface, "0123"); });
  EXPECT_THAT(refusal(headers),
              HasSubstr("digest 0123, and this build has headers of digest " + std::string(own_note().interface)));
  const auto layout = changed("layout.so", [](LocusPluginNote& note) { std::strcpy(note.toolchain, "cxx11-abi 0"); });
  EXPECT_THAT(refusal(layout), AllOf(HasSubstr("cxx11-abi 0, and"), HasSubstr("cxx11-abi 1")));
  EXPECT_TRUE(loaded_plugins().empty());
}

TEST(Plugins, ThatAreNoneAreRefusedWithWhatToWrite) {
  EXPECT_THAT(refusal("/nowhere/own.so"), HasSubstr("/nowhere/own.so cannot be read"));
  const auto text = std::filesystem::path(::testing::TempDir()) / "text.so";
  std::ofstream(text) << "not a library";
  EXPECT_THAT(refusal(text), HasSubstr("LOCUS_PLUGIN("));
}

TEST(Plugins, BringTheirItemsWithTheDigestOfTheirFile) {
  const Json before = catalog_json();
  const LoadedPlugin& plugin = load_plugin(LOCUS_OWN_PRIOR);
  EXPECT_EQ(plugin.name, "own-prior");
  EXPECT_EQ(plugin.digest, sha256_hex(own_prior()));
  Json after = catalog_json();
  const Json item = after["items"].back();
  EXPECT_EQ(item["id"], "ring-bias");
  EXPECT_EQ(item["origin"], Json({{"name", "own-prior"}, {"by", "plugin"}, {"digest", plugin.digest}}));
  after["items"].erase(after["items"].size() - 1);
  EXPECT_EQ(after, before) << "what was there stays as it was";
  EXPECT_THAT(refusal(LOCUS_OWN_PRIOR), HasSubstr("load one of them"));
}

TEST(Plugins, RunAsPartsOfModels) {
  if (loaded_plugins().empty()) load_plugin(LOCUS_OWN_PRIOR);
  const auto model = test::small_model({{"ring-bias", {{"slope", 0.5}}}});
  const Tensor images = test::test_images(2, {8, 10});
  EXPECT_TRUE(model->forward(images, test::test_context(true)).tokens.isfinite().all().item<bool>());
}

TEST(Plugins, ThatAStageNamesMustBeTheOnesLoaded) {
  if (loaded_plugins().empty()) load_plugin(LOCUS_OWN_PRIOR);
  class Nobody final : public StageObserver {
    void started(const Json&, std::int64_t, std::int64_t) override {}
    void point(const SeriesKey&, const Place&, double) override {}
    void progress(std::int64_t, std::int64_t, std::string_view) override {}
    void checkpoint(std::int64_t, const std::filesystem::path&, bool) override {}
    Wish wish() override { return Wish::kContinue; }
    void say(const std::string&) override {}
  } nobody;
  StageRequest request;
  request.configuration = {{"kind", "train"}, {"extensions", {{"own-prior", std::string(64, '0')}}}};
  EXPECT_THAT(run_stage(request, nobody).reason, HasSubstr("is asked for with digest"));
  request.configuration["extensions"] = {{"another", "0"}};
  const StageReport report = run_stage(request, nobody);
  EXPECT_EQ(report.failure_class, "code");
  EXPECT_THAT(report.reason, HasSubstr("the plugin another is not loaded"));
}

}  // namespace
}  // namespace locus::engine
