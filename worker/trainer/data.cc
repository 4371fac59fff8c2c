// Tables and JSON of what is on disk.
#include "worker/trainer/data.h"

#include <unistd.h>

#include <iostream>

#include "core/base/data_copies.h"
#include "engine/base/failure.h"
#include "engine/data/copies.h"
#include "engine/scenes/scenes.h"
#include "engine/stage/stage.h"
#include "worker/trainer/arguments.h"

namespace locus {
using namespace engine;
namespace {

DataPlace place_of(const NamedArguments& arguments) {
  return {arguments.text("--data-root", Execution().data_root.string()), data_cache_folder()};
}

std::string images_text(const Json& images) {
  std::string out;
  for (const auto& [part, count] : images.items())
    out += (out.empty() ? "" : ", ") + part + " " + std::to_string(count.get<std::int64_t>());
  return out;
}

int list(const NamedArguments& arguments) {
  const Json found = copies_under(place_of(arguments));
  if (arguments.has("--json")) {
    std::cout << Json({{"datasets", found}}).dump(2) << "\n";
    return 0;
  }
  for (const Json& one : found) {
    std::cout << one.at("id").get<std::string>() << "  " << (one.at("held").get<bool>() ? "held" : "missing") << "  "
              << one.value("lacks", one.at("folder").get<std::string>()) << "\n";
    for (const Json& copy : one.at("copies")) {
      std::cout << "  " << copy.at("folder").get<std::string>() << ": " << copy.at("classes").get<std::int64_t>()
                << " classes, " << images_text(copy.at("images")) << ", manifest "
                << copy.at("digest").get<std::string>() << "\n";
    }
  }
  return 0;
}

Json dataset_options_of(const NamedArguments& arguments) {
  const Json out = Json::parse(arguments.text("--options", "{}"), nullptr, /*allow_exceptions=*/false);
  if (!out.is_object()) throw std::invalid_argument("--options must be a JSON object of the dataset's options");
  return out;
}

// In place on a terminal, so that a log has no thousand lines.
DataProgress progress_line(const char* what) {
  return [what](std::int64_t done, std::int64_t all) {
    if (::isatty(STDERR_FILENO) != 0) std::cerr << "\r" << done << " of " << all << " " << what << std::flush;
  };
}

void print(const Json& found) {
  if (::isatty(STDERR_FILENO) != 0) std::cerr << "\n";
  std::cout << found.at("id").get<std::string>() << " in " << found.at("folder").get<std::string>() << "\n"
            << found.at("classes").get<std::int64_t>() << " classes, images: " << images_text(found.at("images"))
            << "\n"
            << "manifest " << found.at("digest").get<std::string>() << "\n";
  const auto count = [&](const char* name) { return found.at(name).get<std::int64_t>(); };
  const auto names = [&](const char* key) {
    for (const Json& one : found.at(key)) std::cout << "  " << one.get<std::string>() << "\n";
  };
  if (count("problem_count") > 0) std::cout << count("problem_count") << " files are no sound images of a class:\n";
  names("problems");
  if (count("passed_over_count") > 0) std::cout << count("passed_over_count") << " files were passed over:\n";
  names("passed_over");
  if (count("turned") > 0) std::cout << count("turned") << " images have an EXIF orientation, which is not applied\n";
  if (const auto differs = found.at("differs").get<std::string>(); !differs.empty()) std::cout << differs << "\n";
}

int verify(const std::string& id, const NamedArguments& arguments) {
  const Json found = examine_copy(id, dataset_options_of(arguments), place_of(arguments),
                                  arguments.has("--json") ? DataProgress() : progress_line("images"));
  if (arguments.has("--json")) {
    std::cout << found.dump(2, ' ', false, Json::error_handler_t::replace) << "\n";
  } else {
    print(found);
  }
  return found.at("problem_count").get<std::int64_t>() == 0 ? 0 : 1;
}

int make(const std::string& name, const NamedArguments& arguments) {
  if (name != "fashion-scenes") throw std::invalid_argument("what can be made is fashion-scenes, not '" + name + "'");
  const std::filesystem::path to = arguments.required("--to");
  const std::filesystem::path from = place_of(arguments).root / "fashion-mnist";
  std::int64_t written = 0;
  const DataProgress line = arguments.has("--json") ? DataProgress() : progress_line("files");
  make_fashion_scenes(from, to, {}, [&](std::int64_t files, std::int64_t of) {
    written = files;
    if (line && (files % 100 == 0 || files == of)) line(files, of);
  });
  if (arguments.has("--json")) {
    std::cout << Json({{"folder", to.string()}, {"files", written}}).dump() << "\n";
  } else {
    std::cout << written << " files in " << to.string() << ", a folder of datasets: give it as --data-root\n";
  }
  return 0;
}

int run(std::span<const std::string> arguments) {
  const std::string action = arguments.empty() ? "" : arguments[0];
  const bool named = arguments.size() > 1 && !arguments[1].starts_with("--");
  const auto rest = arguments.subspan(std::min<std::size_t>(arguments.size(), named ? 2 : 1));
  const NamedArguments options(rest, {"--data-root", "--options", "--to"}, {"--json"});
  if (action == "list" && !named) return list(options);
  if (action == "verify") {
    if (!named) throw std::invalid_argument("verify needs the id of a dataset; `data list` lists them");
    return verify(arguments[1], options);
  }
  if (action == "make") {
    if (!named) throw std::invalid_argument("make needs to know what: fashion-scenes");
    return make(arguments[1], options);
  }
  throw std::invalid_argument("'" + action + "' is not list, verify or make");
}

}  // namespace

int run_data(std::span<const std::string> arguments) {
  try {
    return run(arguments);
  } catch (const DataError& error) {
    std::cerr << "error: " << error.what() << "\n";
    return 1;
  } catch (const std::invalid_argument& error) {
    return refuse_arguments("data", error.what(), kDataUsage);
  } catch (const std::exception& error) {
    std::cerr << "error: " << error.what() << "\n";
    return 1;
  }
}

}  // namespace locus
