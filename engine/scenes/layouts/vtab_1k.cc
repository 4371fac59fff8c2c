// Three tasks of VTAB-1K, one of each group: what is shown (caltech101), before what (eurosat), and where along the width
// (dsprites_loc). <task>/images/<part>/<6 digits>.jpg, quality 75, and a list of paths and labels for each part.
#include "engine/images/encode.h"
#include "engine/scenes/class_files.h"

namespace locus::engine::scenes::layouts {
namespace {

struct Task {
  const char* folder;
  bool varies;  // the sizes; else 64 x 64
  int (*label)(const Scene& scene);
  void (*ask)(SceneWish& wish);
};

constexpr int kVtabSide = 64;

const Task kTasks[] = {
    {"caltech101", true, [](const Scene& scene) { return scene.main().kind; }, [](SceneWish&) {}},
    {"eurosat", false, [](const Scene& scene) { return static_cast<int>(scene.background.kind); },
     [](SceneWish& wish) { wish.main_most = 0.6; }},
    {"dsprites_loc", false, [](const Scene& scene) { return scene.column(); },
     [](SceneWish& wish) {
       wish.objects_most = 1;
       wish.main_least = 0.3;
       wish.main_most = 0.5;
       wish.column = static_cast<int>(wish.number * 7 % kColumns);  // each as often
     }},
};

struct Part {
  const char* name;
  int count;
};

// Writes a part and returns its lines; `copy_to` gets the files and lines again, under numbers from `copied`.
std::string make_part(ScenesWork& work, const Task& task, const Part& part, bool copy, int copied,
                      std::string& copies) {
  const std::filesystem::path folder = std::filesystem::path("vtab-1k") / task.folder;
  const bool training = copy;  // validation images are of the training garments, too
  std::string lines;
  for (int i = 0; i < part.count; ++i) {
    SceneWish wish;
    wish.set = std::string("vtab-1k.") + task.folder + "." + part.name;
    wish.number = i;
    wish.shorter_least = task.varies ? work.settings().shorter_least : kVtabSide;
    wish.shorter_most = task.varies ? work.settings().shorter_most : kVtabSide;
    if (!task.varies) wish.aspect_most = 1;
    task.ask(wish);
    const Scene scene = work.scene(wish, training);
    const std::vector<std::byte> bytes = encode_jpeg(work.painted(scene, training));
    const auto put = [&](const std::string& name, int number) {
      const std::string file = "images/" + name + "/" + padded(number, 6) + ".jpg";
      work.write(folder / file, bytes);
      return file + " " + std::to_string(task.label(scene)) + "\n";
    };
    lines += put(part.name, i);
    if (copy) copies += put("train800val200", copied + i);
  }
  return lines;
}

void make_vtab(ScenesWork& work) {
  const ScenesSettings& settings = work.settings();
  for (const Task& task : kTasks) {
    const std::filesystem::path folder = std::filesystem::path("vtab-1k") / task.folder;
    std::string both;
    work.write(folder / "train800.txt", make_part(work, task, {"train800", settings.vtab_train}, true, 0, both));
    work.write(folder / "val200.txt",
               make_part(work, task, {"val200", settings.vtab_validation}, true, settings.vtab_train, both));
    work.write(folder / "train800val200.txt", both);
    std::string none;
    work.write(folder / "test.txt", make_part(work, task, {"test", settings.vtab_test}, false, 0, none));
  }
}

std::int64_t count_vtab_files(const ScenesSettings& settings) {
  constexpr std::int64_t kLists = 4;
  return static_cast<std::int64_t>(std::size(kTasks)) *
         (2 * (settings.vtab_train + settings.vtab_validation) + settings.vtab_test + kLists);
}

}  // namespace

ScenesLayout vtab_1k() {
  return {"vtab-1k", "three tasks of VTAB-1K: caltech101 (10 kinds), eurosat (5 backgrounds), dsprites_loc (16 places)",
          count_vtab_files, make_vtab};
}

}  // namespace locus::engine::scenes::layouts
