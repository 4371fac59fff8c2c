// The catalog and the specification that the planning tests start from.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "core/catalog/catalog.h"

namespace locus {

inline Json read_json(const std::string& path) {
  std::ifstream in(path);
  if (!in) throw std::runtime_error("cannot read " + path);
  return Json::parse(in);
}

inline Json test_catalog_document() { return read_json(LOCUS_TEST_CATALOG); }

inline Catalog catalog_of(const Json& document) {
  auto catalog = Catalog::parse(document);
  if (!catalog.ok()) throw std::runtime_error(catalog.status().ToString());
  return *std::move(catalog);
}

inline const Catalog& test_catalog() {
  static const Catalog catalog = catalog_of(test_catalog_document());
  return catalog;
}

// The demonstration: six priors, five seeds, a sweep over resolutions.
inline Json demo_specification() {
  return Json::parse(R"({
    "version": 1, "name": "fashion-mnist-priors", "dataset": "fashion-mnist",
    "model": {"backbone": "vit", "dim": 64, "depth": 3, "heads": 4, "patch": 7, "pool": "mean"},
    "train": {"epochs": 2, "batch": 32, "lr": 0.003, "limit": 16000},
    "matrix": {"prior": ["none", "learned-absolute", "rope-axial", "alibi-2d", ["learned-absolute", "violin"], "guidance"]},
    "replicates": {"seed": [0, 1, 2, 3, 4]},
    "stages": [{"evaluate": {"resolution": [28, 42, 56]}}],
    "baseline": {"prior": "learned-absolute"},
    "metric": {"name": "top1", "reports": "test", "selects_on": "validation", "direction": "max", "reduce": "last"}})");
}

}  // namespace locus
