// Specification files, with a change as `--set` gives it after the last line that is "%%".
#include "cli/yaml.h"

#include "cli/spec_file.h"
#include "tests/fuzz/fuzz.h"

namespace locus::fuzz {

void yaml(std::string_view bytes) {
  const std::size_t mark = bytes.rfind("\n%%\n");
  auto file = SpecFile::parse(bytes.substr(0, mark), "fuzz.yaml");
  if (!file.ok()) return;
  if (mark != std::string_view::npos) (void)file->set(std::string(bytes.substr(mark + 4)));
  const std::string text = file->text();
  const auto again = parse_yaml(text);
  require(again.ok() && again->json == file->json(), "what travels to the server is read as what was written");
}

}  // namespace locus::fuzz
