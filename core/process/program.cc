// Of variables an allow-list: what nobody thought of is not passed on.
#include "core/process/program.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "core/base/data_copies.h"
#include "core/process/spawn.h"

namespace locus {
namespace fs = std::filesystem;
namespace {

constexpr std::array<std::string_view, 12> kNames = {
    "ASAN_OPTIONS", "LANG", "LANGUAGE",     "LOCUS_CALLER", "LOCUS_DATA_CACHE", "LOCUS_DECODED_BYTES", "LOCUS_KERNELS",
    "LSAN_OPTIONS", "PATH", "TSAN_OPTIONS", "TZ",           "UBSAN_OPTIONS"};
constexpr std::array<std::string_view, 14> kFamilies = {"ATEN_",   "CUDA_",     "CUBLAS_", "DNNL_",   "GOMP_",
                                                        "KMP_",    "LC_",       "MKL_",    "NCCL_",   "NVIDIA_",
                                                        "ONEDNN_", "OPENBLAS_", "OMP_",    "PYTORCH_"};
// Even in a family: what is called so may be one.
constexpr std::array<std::string_view, 4> kSecrets = {"KEY", "PASSWORD", "SECRET", "TOKEN"};

constexpr int kDepth = 2;            // below the data root: its datasets, and their parts
constexpr std::size_t kMost = 4096;  // entries looked at

// Where links below `folder` lead: a rule for a folder holds for what lies in it, not for what it points to.
void add_linked(const fs::path& folder, int depth, std::size_t& looked, std::vector<fs::path>& out) {
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    if (++looked > kMost) return;
    std::error_code broken;
    if (entry->is_symlink(broken)) {
      const fs::path to = fs::canonical(entry->path(), broken);
      if (!broken) out.push_back(to);
    }
    if (depth > 1 && entry->is_directory(broken)) add_linked(entry->path(), depth - 1, looked, out);
  }
}

bool may_be_told(std::string_view name) {
  if (std::ranges::find(kNames, name) != kNames.end()) return true;
  if (std::ranges::any_of(kSecrets, [&](std::string_view word) { return name.find(word) != name.npos; })) return false;
  return std::ranges::any_of(kFamilies, [&](std::string_view family) { return name.starts_with(family); });
}

}  // namespace

IsolationRules program_rules(const fs::path& program, const Json& devices) {
  IsolationRules rules = basic_isolation();
  rules.read.push_back(program.parent_path());
  const auto folders = devices.find("libraries");
  if (folders == devices.end() || !folders->is_array()) return rules;
  for (const Json& folder : *folders) {
    if (folder.is_string()) rules.read.emplace_back(folder.get<std::string>());
  }
  return rules;
}

void let_read_data(IsolationRules& rules, const fs::path& root) {
  rules.read.push_back(root);
  std::size_t looked = 0;
  add_linked(root, kDepth, looked, rules.read);
}

std::vector<std::string> program_environment(const std::vector<std::string>& base) {
  std::vector<std::string> out;
  for (const std::string& line : base) {
    if (may_be_told(std::string_view(line).substr(0, line.find('=')))) out.push_back(line);
  }
  if (const fs::path cache = data_cache_folder(); !cache.empty())
    set_variable(out, "LOCUS_DATA_CACHE", fs::absolute(cache).string());
  return out;
}

}  // namespace locus
