// Where things lie when nobody says: data, catalog, claims, dashboard.
#pragma once

#include <filesystem>
#include <vector>

#include "absl/status/statusor.h"
#include "core/catalog/catalog.h"
#include "core/catalog/pictures.h"
#include "core/claims/claims.h"

namespace locus::server {

// $XDG_DATA_HOME/locus, else ~/.local/share/locus. FAILED_PRECONDITION (DATA_FOLDER_UNUSABLE) without either.
absl::StatusOr<std::filesystem::path> default_data_folder();

// The catalog at `given`, else $LOCUS_CATALOG, else <executable>/../share/locus/catalog.json, which a build folder has
// as well. NOT_FOUND naming the place looked at; INVALID_ARGUMENT when the file is none.
absl::StatusOr<Catalog> load_catalog(const std::filesystem::path& given);

// The pictures of priors (docs/formats/picture.md) by prior: the files PRIOR.json of the folder `pictures`
// beside the catalog that load_catalog takes. One of another revision than the catalog's, or that is no
// picture, is left out with a warning: an old picture would mislead. Empty without the folder.
Pictures load_pictures(const std::filesystem::path& given, const Catalog& catalog);
// The papers' claims at $LOCUS_CLAIMS, else <executable>/../share/locus/claims.json.
// None where there is no such file: a server compares without them. INVALID_ARGUMENT when the file is none.
absl::StatusOr<std::vector<PaperClaims>> load_claims();

// The dashboard at `given`, else <executable>/../share/locus/web; empty when there is none.
std::filesystem::path find_dashboard(const std::filesystem::path& given);

}  // namespace locus::server
