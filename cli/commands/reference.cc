// locus reference: the generated pages of the documentation.
#include "cli/claims_files.h"
#include "cli/command.h"
#include "cli/render/schema.h"
#include "core/base/error.h"
#include "server/app/paths.h"
#include "server/app/serve.h"

namespace locus {
namespace {

absl::StatusOr<std::string> page(const Program& program, const std::string& name, const std::string& catalog,
                                 const std::string& claims) {
  if (name == "claims") {
    LOCUS_ASSIGN_OR_RETURN(const Json papers, read_claims_folder(claims));
    return claims_document(papers);
  }
  if (name == "openapi") return openapi_text();
  if (name == "command-line") return render_command_reference(describe(program));
  LOCUS_ASSIGN_OR_RETURN(const Catalog items, server::load_catalog(catalog));
  return name == "priors" ? render_prior_reference(items.document()) : render_specification_reference(items.document());
}

}  // namespace

void add_reference(Program& app) {
  Command& command = add_command(
      app, {"reference",
            kLocusGroup,
            "Print a reference page: every command, every key and option of a specification, every prior, the HTTP "
            "side, or the papers' claims",
            "Markdown, of the HTTP side and the claims JSON; with --json the command tree as data. Written from the "
            "commands, the schema, the catalog, the routes and the claims of this program; no server is asked.",
            {{"locus reference command-line", "What docs/command-line.md holds"},
             {"locus reference specification", "What docs/specification.md holds"},
             {"locus reference priors", "What docs/priors.md holds"},
             {"locus reference openapi", "What docs/openapi.json holds, and a server answers at /api/openapi.json"},
             {"locus reference claims --claims claims", "What claims/claims.json holds"}}});
  struct Choice {
    std::string page, catalog, claims = "claims";
    bool json = false;
  };
  auto choice = std::make_shared<Choice>();
  command.add_option("page", choice->page, "Page")
      ->type_name("")
      ->required()
      ->one_of({"command-line", "specification", "priors", "openapi", "claims"});
  command.add_option("--catalog", choice->catalog, "The engine's catalog (default: the one `locus serve` would use)")
      ->type_name("FILE");
  command.add_option("--claims", choice->claims, "Folder of the papers' claims, a YAML file each")
      ->type_name("FOLDER")
      ->show_default();
  add_json_option(command, choice->json);
  command.body = [&app, choice] {
    if (choice->json && choice->page == "command-line") {
      print(manual_json(describe(app)).dump(1) + "\n");
      return kExitDone;
    }
    const auto text = page(app, choice->page, choice->catalog, choice->claims);
    if (!text.ok()) return report_error(text.status(), choice->json);
    print(choice->json ? Json({{"page", choice->page}, {"markdown", *text}}).dump() + "\n" : *text);
    return kExitDone;
  };
}

}  // namespace locus
