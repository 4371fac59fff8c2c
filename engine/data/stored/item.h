// Catalog entries of datasets that lie on disk as image files.
#pragma once

#include "engine/data/dataset.h"
#include "engine/data/stored/stored_dataset.h"

namespace locus::engine {

// The published version: what a specification means that says nothing of its copy.
struct PublishedSizes {
  std::int64_t classes = 0, train = 0, test = 0;  // images; train: without those of `validation`
  std::int64_t validation = 0;
};

// What the options of one stage make of a layout.
using Completed = std::function<void(StoredLayout& layout, const Options& options)>;

// Options that nearly every such dataset has.
struct CopyOptions {
  bool train = true;  // `train` and `validation`; otherwise the layout's parts are fixed
  bool holdout =
      true;  // the choice of what is carved for validation; otherwise the layout says it, or has a part for it
  bool classes = true;    // images are of classes, and a copy may have another number of them
  bool order = false;     // how names are sorted
  bool demanded = false;  // classes, images and manifest have no published values: a specification says them
};

// A dataset of `layout` under its id: adds the options by which a specification says which copy it means (classes, train, validation, test,
// manifest: docs/formats/catalog.md), the facts that follow from `published` and the layout, and how it is opened; `complete` comes last. The digest of
// the facts is that of the layout and the published numbers, since the files are known by the manifest alone.
DatasetItem stored_item(Item item, const StoredLayout& layout, const PublishedSizes& published,
                        const CopyOptions& which, Json further_facts, const Completed& complete);

}  // namespace locus::engine
