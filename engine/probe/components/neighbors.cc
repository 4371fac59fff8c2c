// Classification by nearest neighbors: the votes.
#include "engine/train/neighbors.h"

#include "engine/probe/components/components.h"

namespace locus::engine::components {
namespace {

NamedTensors run_neighbors(const ComponentSpecification& specification, const NamedTensors& given) {
  const Options& options = specification.options;
  const Tensor& queries = given.at("queries");
  const Tensor &references = given.at("references"), labels = given.at("labels").to(at::kLong);
  const std::int64_t k = options.integer("k"), classes = options.integer("classes");
  if (queries.dim() != 2 || references.dim() != 2 || queries.size(1) != references.size(1) || labels.dim() != 1 ||
      labels.size(0) != references.size(0)) {
    throw std::invalid_argument(
        "queries [Q, D], references [R, D] and labels [R] do not fit: " + c10::str(queries.sizes()) + ", " +
        c10::str(references.sizes()) + ", " + c10::str(labels.sizes()));
  }
  if (labels.lt(0).logical_or(labels.ge(classes)).any().item<bool>())
    throw std::invalid_argument("labels must be from 0 to " + std::to_string(classes - 1) + ", as classes says");
  Neighbors neighbors(queries, k);
  neighbors.add(references.to(queries.scalar_type()), labels);
  const Tensor votes = neighbors.votes(k, options.number("temperature"), classes);
  NamedTensors out = {{"votes", votes},
                      {"order", std::get<1>(at::sort(votes, /*stable=*/true, 1, /*descending=*/true))}};
  const auto own = given.find("query_labels");
  if (own == given.end()) return out;
  const auto right = neighbors.right({k}, options.number("temperature"), classes, own->second.to(at::kLong)).at(0);
  const double share = 100 / static_cast<double>(queries.size(0));
  out["top1"] = at::scalar_tensor(share * static_cast<double>(right.top1), at::kDouble);
  out["top5"] = at::scalar_tensor(share * static_cast<double>(right.top5), at::kDouble);
  return out;
}

}  // namespace

std::vector<Component> neighbors() {
  Item item("neighbors", "votes", 1, "Votes of the nearest neighbors in features of length 1");
  item.option(Option::integer("k", 20, "how many of the nearest vote").minimum(1));
  item.option(Option::number("temperature", 0.07, "T: one votes by exp(product / T)").above(0.0));
  item.option(Option::integer("classes", 1000, "labels are from 0 to this").minimum(1));
  return {{.item = std::move(item),
           .inputs = {{"queries", "float [Q, D]: features to classify, of any length"},
                      {"references", "float [R, D]: features that vote"},
                      {"labels", "int64 [R]: their classes"},
                      {"query_labels", "int64 [Q]; absent: no scores", /*optional=*/true}},
           .draws = {},
           .outputs = {{"votes", "float64 [Q, classes]"},
                       {"order", "int64 [Q, classes]: classes by vote, the largest first, of equal ones the lower"},
                       {"top1", "float64 []: % of queries whose label is first"},
                       {"top5", "float64 []: % whose label is among the first min(5, k)"}},
           .run = run_neighbors}};
}

}  // namespace locus::engine::components
