// Why CUDA torch does not load, in words: the linker's own, of a library whose dependency is not there.
#include "engine/base/device.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

namespace locus::engine {
namespace {

// What the dynamic linker says on loading `path`, which must fail.
std::string refusal(const std::string& path) {
  EXPECT_EQ(::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL), nullptr);
  return ::dlerror();
}

TEST(LoadFailure, NamesTheMissingLibraryAndTheCommandThatBringsIt) {
  const std::string why = explain_load_failure(LOCUS_NEEDS_ABSENT, refusal(LOCUS_NEEDS_ABSENT));
  EXPECT_NE(why.find("needs liblocus_absent.so, which is not on this machine: `tools/setup gpu`"), std::string::npos)
      << why;
}

TEST(LoadFailure, TellsATorchWithoutCudaFromOneWithoutItsLibraries) {
  const std::string library = "/nowhere/torch/lib/libtorch_cuda.so";
  const std::string why = explain_load_failure(library, refusal(library));
  EXPECT_NE(why.find("is built for the CPU alone"), std::string::npos) << why;
  EXPECT_NE(why.find("make gpu TORCH=FOLDER"), std::string::npos) << why;
}

TEST(LoadFailure, KeepsWhatTheLinkerSaidOfAnythingElse) {
  const std::string said = "/x/libtorch_cuda.so: undefined symbol: abc";
  const std::string why = explain_load_failure("/x/libtorch_cuda.so", said);
  EXPECT_NE(why.find(said), std::string::npos) << why;
  EXPECT_NE(why.find("make gpu"), std::string::npos) << why;
}

TEST(CudaLibrary, LiesBesideTheTorchThatIsLinked) {
  EXPECT_EQ(cuda_library().filename(), "libtorch_cuda.so");
  EXPECT_TRUE(std::filesystem::exists(cuda_library().parent_path() / "libtorch_cpu.so"));
}

}  // namespace
}  // namespace locus::engine
