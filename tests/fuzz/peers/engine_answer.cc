// What the programs of a provisioner's engines print: the bytes are the answer to every question, the first one says how
// many workers are started.
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "provisioner/engine.h"
#include "tests/fuzz/fuzz.h"

namespace locus::fuzz {
namespace {

namespace fs = std::filesystem;

// Programs under the names of the engines' own, which print the file that ANSWER names.
class Programs {
 public:
  Programs() {
    std::string name = (fs::temp_directory_path() / "locus-fuzz-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("there is no folder for programs");
    folder_ = name;
    for (const char* program : {"squeue", "sbatch", "kubectl", "machines"}) {
      std::ofstream(folder_ / program) << "#!/bin/sh\nexec /bin/cat \"$ANSWER\"\n";
      ::chmod((folder_ / program).c_str(), 0700);
    }
    const char* path = std::getenv("PATH");  // where a sanitizer finds what names its frames
    ::setenv("PATH", (folder_.string() + ":" + (path == nullptr ? "" : path)).c_str(), 1);
  }
  ~Programs() {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }
  fs::path answer() const { return folder_ / "answer"; }

 private:
  fs::path folder_;
};

std::map<std::string, std::unique_ptr<Engine>> all_engines() {
  const std::map<std::string, const char*> settings = {
      {"exec", R"({"command": ["machines"]})"},
      {"kubernetes", R"({"job": {"spec": {"template": {"spec": {"containers": [{}]}}}}})"},
      {"slurm", R"({"script": "/worker.sh"})"}};
  std::map<std::string, std::unique_ptr<Engine>> out;
  for (const std::string& name : engine_names())
    out[name] = make_engine(name, {"gpu", "server:7171", Json::parse(settings.at(name))}).value();
  return out;
}

}  // namespace

void engine_answer(std::string_view bytes) {
  static const Programs kPrograms;
  static const auto kEngines = all_engines();
  const int workers = first_of(bytes) % 3;
  std::ofstream(kPrograms.answer(), std::ios::binary | std::ios::trunc) << bytes;
  ::setenv("ANSWER", kPrograms.answer().c_str(), 1);
  const std::vector<NewWorker> started(static_cast<std::size_t>(workers), {"gpu-1", "token"});
  for (const auto& [name, engine] : kEngines) {
    const auto count = engine->count();
    require(!count.ok() || *count >= 0, "no engine counts below nothing");
    (void)engine->start(started);
  }
}

}  // namespace locus::fuzz
