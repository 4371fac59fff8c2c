// One place for the options of copies.
#include "engine/data/stored/item.h"

#include "core/base/sha256.h"

namespace locus::engine {
namespace {

constexpr const char* kHelpManifest =
    "SHA-256 of the manifest of the copy in use (locus data verify prints it); empty: the published version, known by "
    "its classes and counts";

Option counted(const char* name, std::int64_t published, std::int64_t least, bool demanded, const char* fact,
               const char* help) {
  Option out = Option::integer(name, published, help);
  out.minimum(least).unit(std::string(name) == "classes" ? "classes" : "images").fact(fact);
  return demanded ? out.required() : out.neutral(published);
}

void add_options(Item& item, const PublishedSizes& published, const CopyOptions& which) {
  const bool demanded = which.demanded;
  if (which.classes)
    item.option(counted("classes", published.classes, 1, demanded, "classes", "classes of the copy in use"));
  if (which.train) {
    item.option(counted("train", published.train, 1, demanded, "splits.train",
                        "training images of the copy in use, without those held out for validation"));
    item.option(counted("validation", published.validation, 0, demanded && !which.holdout, "splits.validation",
                        which.holdout ? "images of the training part that are held out for validation"
                                      : "validation images of the copy in use"));
  }
  if (which.train && which.holdout) {
    item.option(Option::text("holdout", "permutation",
                             "which: the last of a fixed permutation, or every n-th row from the first on")
                    .choices({"permutation", "stride"})
                    .neutral("permutation"));
  }
  item.option(counted("test", published.test, 1, demanded, "splits.test", "test images of the copy in use"));
  Option manifest = Option::text("manifest", "", kHelpManifest);
  item.option(demanded ? manifest.required() : manifest.neutral(""));
  item.option(Option::text("corrupt", "refuse",
                           "files that are no sound images: refuse the dataset, or leave them out (the counts are then "
                           "those of the rest)")
                  .choices({"refuse", "skip"})
                  .neutral("refuse"));
  if (which.order) {
    item.option(
        Option::text("order", "bytes",
                     "how names of classes and files are sorted: by bytes, or with runs of digits as numbers (timm)")
            .choices({"bytes", "natural"})
            .neutral("bytes"));
  }
}

}  // namespace

DatasetItem stored_item(Item item, const StoredLayout& layout, const PublishedSizes& published,
                        const CopyOptions& which, Json further_facts, const Completed& complete) {
  add_options(item, published, which);
  Json facts = {
      {"rank", 2},
      {"channels", 3},
      {"classes", published.classes},
      {"splits", {{"train", published.train}, {"validation", published.validation}, {"test", published.test}}},
      {"stored", {{"folder", layout.folder}, {"places", layout.places}, {"get", layout.get}}}};
  if (layout.extent) {
    facts["extent"] = *layout.extent;
  } else {
    facts["defaults"] = {{"input", "resized"}};  // a model takes images of one size
  }
  facts.update(further_facts);
  facts["digest"] = sha256_hex(
      canonical_json({{"dataset", layout.dataset}, {"classes", facts["classes"]}, {"splits", facts["splits"]}}));
  item.facts(std::move(facts));
  return {std::move(item), [layout, which, complete](const DataPlace& place, const Options& options) {
            StoredLayout here = layout;
            here.said = options.json();
            if (which.classes) here.classes = options.integer("classes");
            if (which.train) {
              here.sizes.train = options.integer("train");
              here.sizes.validation = options.integer("validation");
              if (which.holdout)
                here.holdout = options.text("holdout") == "stride" ? Holdout::kStride : Holdout::kPermutation;
            }
            here.sizes.test = options.integer("test");
            here.manifest = options.text("manifest");
            here.skip = options.text("corrupt") == "skip";
            complete(here, options);
            return open_stored_dataset(std::move(here), place);
          }};
}

}  // namespace locus::engine
