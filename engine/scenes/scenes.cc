// Makes all layouts in a folder that then takes its name.
#include "engine/scenes/scenes.h"

#include <algorithm>
#include <fstream>
#include <stdexcept>

#include "engine/scenes/layout.h"

namespace locus::engine::scenes {
namespace {

namespace fs = std::filesystem;

void check(const ScenesSettings& s) {
  const auto refuse = [](const std::string& what) { throw std::invalid_argument("fashion-scenes: " + what); };
  if (std::min(
          {s.train, s.validation, s.vtab_train, s.vtab_validation, s.vtab_test, s.dense_train, s.dense_validation}) < 1)
    refuse("every part has at least one scene");
  if (s.cifar < kKinds || s.cifar % kKinds != 0)
    refuse("a file of CIFAR holds as many of each of the " + std::to_string(kKinds) + " classes, so not " +
           std::to_string(s.cifar) + " in all");
  if (s.shards < 1 || s.shards > s.train * kKinds)
    refuse(std::to_string(s.train * kKinds) + " scenes do not fill " + std::to_string(s.shards) + " tar files");
  if (s.shorter_least < 16 || s.shorter_most < s.shorter_least)
    refuse("a shorter side of " + std::to_string(s.shorter_least) + " to " + std::to_string(s.shorter_most) +
           " pixels: at least 16, and not from more to less");
}

Json summary_of(const ScenesSettings& s, std::int64_t files) {
  Json layouts = Json::array();
  for (const ScenesLayout& layout : scenes_layouts())
    layouts.push_back({{"folder", layout.folder}, {"summary", layout.summary}, {"files", layout.files(s)}});
  return {{"what", "scenes composed of Fashion-MNIST, written in the formats of other data sets; no photographs"},
          {"settings",
           {{"seed", s.seed},
            {"train", s.train},
            {"validation", s.validation},
            {"vtab_train", s.vtab_train},
            {"vtab_validation", s.vtab_validation},
            {"vtab_test", s.vtab_test},
            {"cifar", s.cifar},
            {"shards", s.shards},
            {"dense_train", s.dense_train},
            {"dense_validation", s.dense_validation},
            {"shorter_least", s.shorter_least},
            {"shorter_most", s.shorter_most}}},
          {"kinds", kKindNames},
          {"files", files},
          {"layouts", layouts}};
}

}  // namespace

ScenesWork::ScenesWork(const Wardrobe& wardrobe, fs::path to, const ScenesSettings& settings, std::int64_t files,
                       const ScenesProgress& progress)
    : wardrobe_(wardrobe),
      to_(std::move(to)),
      settings_(settings),
      random_(settings.seed),
      files_(files),
      progress_(progress) {}

Scene ScenesWork::scene(const SceneWish& wish, bool training) const {
  return describe(wish, training ? wardrobe_.train : wardrobe_.test, random_);
}

Rendered ScenesWork::rendered(const Scene& scene, bool training) const {
  return render(scene, training ? wardrobe_.train : wardrobe_.test);
}

fs::path ScenesWork::place(const fs::path& name) const {
  const fs::path path = to_ / name;
  fs::create_directories(path.parent_path());
  return path;
}

void ScenesWork::write(const fs::path& name, std::span<const std::byte> bytes) {
  const fs::path path = place(name);
  std::ofstream out(path, std::ios::binary);
  out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  out.close();
  if (!out) throw std::runtime_error(path.string() + " cannot be written: look at its permissions and the disk");
  count_file();
}

void ScenesWork::write(const fs::path& name, std::string_view text) { write(name, std::as_bytes(std::span(text))); }

std::vector<std::byte> ScenesWork::read(const fs::path& name) const {
  std::ifstream in(to_ / name, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  if (!in || text.empty()) throw std::runtime_error((to_ / name).string() + " cannot be read back");
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

void ScenesWork::count_file() {
  ++written_;
  if (progress_) progress_(written_, files_);
}

const std::vector<ScenesLayout>& scenes_layouts() {
  static const std::vector<ScenesLayout> all = {
#define LOCUS_SCENES_LAYOUT(name) layouts::name(),
#include "engine/scenes/layouts.def"
#undef LOCUS_SCENES_LAYOUT
  };
  return all;
}

void make_scenes(const Wardrobe& wardrobe, const fs::path& to, const ScenesSettings& settings,
                 const ScenesProgress& progress) {
  check(settings);
  if (fs::exists(to) && !(fs::is_directory(to) && fs::is_empty(to)))
    throw std::invalid_argument(to.string() + " is there already: name a folder that is not, or remove it");
  const fs::path partial = (to.has_filename() ? to : to.parent_path()).string() + ".partial";
  fs::remove_all(partial);
  std::int64_t files = 1;  // scenes.json
  for (const ScenesLayout& layout : scenes_layouts()) files += layout.files(settings);
  ScenesWork work(wardrobe, partial, settings, files, progress);
  for (const ScenesLayout& layout : scenes_layouts()) layout.make(work);
  work.write("scenes.json", summary_of(settings, files).dump(2) + "\n");
  if (work.written() != files)
    throw std::logic_error("the layouts wrote " + std::to_string(work.written()) + " files and announced " +
                           std::to_string(files));
  fs::rename(partial, to);
}

void make_fashion_scenes(const fs::path& from_fashion_mnist, const fs::path& to, const ScenesSettings& settings,
                         const ScenesProgress& progress) {
  make_scenes(read_wardrobe(from_fashion_mnist), to, settings, progress);
}

}  // namespace locus::engine::scenes
