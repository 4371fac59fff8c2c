// LookHere: every head looks one way. Patches outside its field of view are hidden, those inside fall off
// with the distance.
//
//   b[l, n, i, j] = -g s_l m_n |r_i - r_j|_2 where head n at i sees j, hidden elsewhere
//
// Paper: Fuller et al. 2024, arXiv:2405.13985, section 3.
//
// s_l falls from 1.5 in the first layer to 0.5 in the last; m_n are slopes per head, g one for all. Heads
// come in groups of four, one for each direction; a field of view names its groups:
//   180  halves, none                 90  corners, triangles, none          45  eighths1, eighths2, none
// as published for 12 heads (g = 2 for 90; the others' is not published, 1 here). With fewer heads the groups
// in front of "none" shrink to one, and with four heads or two "none" goes too; where fours leave two heads
// over, the last group is these two, the first two of its directions. The paper has no such models but that
// of six.
//
// Groups (y grows downwards; a patch always sees itself):
//   halves     up, down, left, right: half planes, the border included
//   corners    two half planes at once
//   triangles  up, down, left, right: |dx| <= -dy and so on
//   eighths1, eighths2  a triangle and one half plane beside it
//   diagonals  either of two neighboring triangles
//   none       everything; zero: everything at distance 0; center: everything, by the key's distance from the
//              middle of the grid
//   zerohalves, zerocorners, zerotriangles  directed, at distance 0
//   none1zero3, none2zero2, none3zero1      of every four heads the first 1, 2, 3 like none, the rest like
//   zero
//
// Heads: a directed group's slopes are 1/2 for its first four heads, 1/4 for the next; the others' 1/4, 1/16,
// 1/64, 1/256, each for a quarter of the group; neighboring groups of one name count as one. Prefix tokens
// see and are seen at bias 0. Any grid is computed anew. The published table is rounded to bfloat16
// ("rounding"); the PaPE paper's code gives every layer the first slope ("layer_slopes").
#include <c10/core/InferenceMode.h>

#include <array>
#include <cmath>

#include "engine/priors/items.h"
#include "engine/priors/offsets.h"

namespace locus::engine::priors {
namespace {

constexpr double kHidden = -3.3895313892515355e38;  // the largest finite bfloat16: published, and summable
constexpr std::int64_t kMostKept = 1025;            // tokens up to which a layer keeps its table

// What one head may see: one direction, or two at once, or either of two.
enum Direction { kUp, kDown, kLeft, kRight, kUpTriangle, kDownTriangle, kLeftTriangle, kRightTriangle, kAll };
struct View {
  Direction first = kAll, second = kAll;
  bool either = false;
};
struct Group {
  const char* name;
  std::array<View, 4> views;
  bool directed = false;     // slopes of a directed group
  int at_distance = 4;       // of every four heads the first so many use the distance, the rest zero
  bool from_center = false;  // the key's distance from the middle instead
};
constexpr std::array<View, 4> kHalves = {{{kUp}, {kDown}, {kLeft}, {kRight}}};
constexpr std::array<View, 4> kCorners = {{{kUp, kLeft}, {kUp, kRight}, {kDown, kLeft}, {kDown, kRight}}};
constexpr std::array<View, 4> kTriangles = {{{kUpTriangle}, {kDownTriangle}, {kLeftTriangle}, {kRightTriangle}}};
constexpr std::array<View, 4> kEighths1 = {
    {{kUpTriangle, kLeft}, {kDownTriangle, kLeft}, {kLeftTriangle, kUp}, {kRightTriangle, kUp}}};
constexpr std::array<View, 4> kEighths2 = {
    {{kUpTriangle, kRight}, {kDownTriangle, kRight}, {kLeftTriangle, kDown}, {kRightTriangle, kDown}}};
constexpr std::array<View, 4> kDiagonals = {{{kUpTriangle, kRightTriangle, true},
                                             {kUpTriangle, kLeftTriangle, true},
                                             {kDownTriangle, kRightTriangle, true},
                                             {kDownTriangle, kLeftTriangle, true}}};
constexpr Group kGroups[] = {
    {"halves", kHalves, true},
    {"corners", kCorners, true},
    {"triangles", kTriangles, true},
    {"eighths1", kEighths1, true},
    {"eighths2", kEighths2, true},
    {"diagonals", kDiagonals, true},
    {"none", {}},
    {"zero", {}, false, 0},
    {"center", {}, false, 4, true},
    {"zerohalves", kHalves, false, 0},
    {"zerocorners", kCorners, false, 0},
    {"zerotriangles", kTriangles, false, 0},
    {"none1zero3", {}, false, 1},
    {"none2zero2", {}, false, 2},
    {"none3zero1", {}, false, 3},
};

const Group& group_of(const std::string& name) {
  for (const Group& group : kGroups) {
    if (name == group.name) return group;
  }
  throw std::invalid_argument("prior lookhere: no group of heads is called '" + name + "'");
}

struct LookhereSettings {
  std::string fov;
  std::vector<std::string> layer_fov;  // in turn, instead of fov; empty: fov everywhere
  std::vector<std::string> groups;     // empty: by fov
  double global_slope;                 // 0: by fov
  std::string distance, hidden;
  bool constant_slopes, bfloat16;
};

struct Head {
  View view;
  bool at_distance = true, from_center = false;
  double slope = 0;
};

[[noreturn]] void cannot_split(std::int64_t heads, std::size_t groups) {
  throw std::invalid_argument("prior lookhere: " + std::to_string(heads) + " heads cannot be split into " +
                              std::to_string(groups) +
                              " groups; a group takes four heads or a multiple, the last one may take two");
}

std::vector<std::string> group_names(const LookhereSettings& settings, std::int64_t heads) {
  if (!settings.groups.empty()) return settings.groups;
  const std::string directed = settings.fov == "180" ? "halves" : settings.fov == "90" ? "triangles" : "eighths1";
  if (heads <= 4) return {directed};
  if (heads < 12 || settings.fov == "180") return {directed, "none"};
  if (settings.fov == "90") return {"corners", "triangles", "none"};
  return {"eighths1", "eighths2", "none"};
}

// Heads of each group: fours, the earlier groups one more where they do not divide; two that are left over
// are the last group.
std::vector<std::int64_t> group_sizes(std::int64_t heads, std::size_t groups) {
  const auto pair = static_cast<std::size_t>(heads % 4 == 2);
  const auto fours = heads / 4, count = static_cast<std::int64_t>(groups - pair);
  if (heads % 2 != 0 || fours < count || (count == 0 && fours > 0)) cannot_split(heads, groups);
  std::vector<std::int64_t> sizes;
  for (std::int64_t g = 0; g < count; ++g) sizes.push_back(4 * (fours / count + (g < fours % count ? 1 : 0)));
  if (pair != 0) sizes.push_back(2);
  return sizes;
}

double head_slope(bool directed, std::int64_t head, std::int64_t size) {
  if (directed) return std::exp2(-1.0 - static_cast<double>(head / 4));
  return std::exp2(-2.0 * (1.0 + static_cast<double>(head / std::max<std::int64_t>(size / 4, 1))));
}

std::vector<Head> heads_of(const LookhereSettings& settings, std::int64_t count) {
  const std::vector<std::string> names = group_names(settings, count);
  const std::vector<std::int64_t> sizes = group_sizes(count, names.size());
  std::vector<Head> heads;
  for (std::size_t g = 0; g < names.size();) {
    const Group& group = group_of(names[g]);
    std::int64_t size = 0;  // of all neighbors of that name
    for (; g < names.size() && names[g] == group.name; ++g) size += sizes[g];
    for (std::int64_t n = 0; n < size; ++n) {
      heads.push_back({.view = group.views[static_cast<std::size_t>(n % 4)],
                       .at_distance = n % 4 < group.at_distance,
                       .from_center = group.from_center,
                       .slope = head_slope(group.directed, n, size)});
    }
  }
  return heads;
}

// What the heads of any layer are made from, for one grid; double.
struct Grid {
  std::vector<Tensor> seen;  // by Direction and offset, bool [R]
  Tensor distance;           // by offset, [R]
  Tensor from_center;        // of the key, [N]
  PairIndex by_offset;       // entries of the above
  PairIndex by_key;          // 0 for patches, 1 where a prefix token is involved
};

Grid grid_of(const Layout& layout, const std::string& power, at::Device device) {
  const Tensor offset = -offsets(layout, at::TensorOptions(at::kDouble).device(device));  // key minus query
  const Tensor dy = offset.select(1, 0), dx = offset.select(1, 1), across = dx.abs(), along = dy.abs();
  const Tensor at_patch = grid_positions(layout, offset.options());
  PairIndex::Rule none{.code = at::zeros({layout.patches()}, offset.options().dtype(at::kInt))};
  none.prefix = layout.prefix;
  none.from_prefix = none.to_prefix = none.among_prefix = 1;
  Grid grid{.seen = {dy.le(0), dy.ge(0), dx.le(0), dx.ge(0), dy.le(across.neg()), dy.ge(across), dx.le(along.neg()),
                     dx.ge(along), at::ones_like(dy, at::kBool)},
            .distance = offset.square().sum(1).sqrt(),
            .from_center = (at_patch - at_patch.slice(0, -1) / 2).square().sum(1).sqrt(),
            .by_offset = offset_rule(layout, device),
            .by_key = std::move(none)};
  if (power == "sqrt") grid.distance = grid.distance.sqrt();
  if (power == "square") grid.distance = grid.distance.square();
  return grid;
}

// Shared by the layers: each power of the distance has its own.
using Grids = std::map<std::string, PerLayout<Grid>>;

class LookhereLayer final : public PriorLayer {
 public:
  LookhereLayer(const LookhereSettings& settings, const LayerInfo& info, std::shared_ptr<Grids> grids)
      : settings_(settings), grids_(std::move(grids)), heads_(heads_of(settings, info.heads)) {
    const bool last_falls = !settings.constant_slopes && info.layers > 1;
    const double layer_slope =
        last_falls ? 1.5 - static_cast<double>(info.layer) / static_cast<double>(info.layers - 1) : 1.5;
    const double own = settings.fov == "90" && settings.groups.empty() ? 2 : 1;
    slope_ = layer_slope * (settings.global_slope > 0 ? settings.global_slope : own);
  }

  BiasTerm bias(const AttentionInputs& inputs, const ForwardContext&) override {
    const Layout& layout = inputs.layout;
    const c10::InferenceMode normal_tensors(false);  // what is kept may meet a training forward later
    const at::NoGradGuard no_grad;
    const at::Device device = inputs.q.device();
    const Grid& grid = (*grids_)[settings_.distance].get(layout, device, at::kDouble,
                                                         [&] { return grid_of(layout, settings_.distance, device); });
    const at::ScalarType type = inputs.q.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
    std::vector<Tensor> tables, by_key;
    bool centered = false;
    for (const Head& head : heads_) {
      tables.push_back(table(head, grid));
      by_key.push_back(grid.from_center * (head.from_center && head.at_distance ? -slope_ * head.slope : 0.0));
      centered = centered || head.from_center;
    }
    RelativeTable offset = offset_bias(rounded(at::stack(tables), type), grid.by_offset);
    // Large tables of every layer together would not fit beside a model, should a path make them: those are made each
    // time.
    const Depends on = layout.tokens() <= kMostKept ? Depends::kLayout : Depends::kContent;
    if (!centered) return {on, std::move(offset)};
    Tensor keys = rounded(at::stack(by_key), type).unsqueeze(-1);  // [H, N, 1]
    if (layout.prefix > 0) keys = at::constant_pad_nd(keys, {0, 1, layout.prefix, 0});
    return {on,
            Bucketed{{{offset.table.unsqueeze(2), offset.index}, {keys.unsqueeze(0), grid.by_key, /*by_key=*/true}}}};
  }

 private:
  Tensor rounded(const Tensor& values, at::ScalarType type) const {
    return (settings_.bfloat16 ? values.to(at::kBFloat16) : values).to(type);
  }

  // One head's bias by the offset, [R] double; 0 of what it has by the key.
  Tensor table(const Head& head, const Grid& grid) const {
    const auto seen = [&](Direction d) { return grid.seen[static_cast<std::size_t>(d)]; };
    const Tensor &first = seen(head.view.first), &second = seen(head.view.second);
    const Tensor visible = head.view.either ? first.logical_or(second) : first.logical_and(second);
    Tensor distance = grid.distance;
    if (!head.at_distance || head.from_center) distance = at::zeros_like(distance);
    if (settings_.hidden == "max") distance = at::where(visible, distance, distance.max());
    const Tensor sloped = distance * (-slope_ * head.slope);
    if (settings_.hidden == "max") return sloped;
    return sloped.masked_fill(visible.logical_not(), settings_.hidden == "zero" ? 0.0 : kHidden);
  }

  LookhereSettings settings_;
  std::shared_ptr<Grids> grids_;
  std::vector<Head> heads_;
  double slope_ = 0;  // of the layer, times the global one
};

class Lookhere final : public Prior {
 public:
  explicit Lookhere(LookhereSettings settings) : settings_(std::move(settings)), grids_(std::make_shared<Grids>()) {}
  std::shared_ptr<PriorLayer> layer(const LayerInfo& info) override {
    LookhereSettings own = settings_;
    if (!own.layer_fov.empty()) own.fov = own.layer_fov[static_cast<std::size_t>(info.layer) % own.layer_fov.size()];
    return std::make_shared<LookhereLayer>(own, info, grids_);
  }

 private:
  LookhereSettings settings_;
  std::shared_ptr<Grids> grids_;
};

}  // namespace

PriorItem lookhere() {
  Item item = prior_entry("lookhere", 1, "Heads look one way each; what they see falls off with the distance",
                          "Fuller et al. 2024, arXiv:2405.13985",
                          "L = c q k^T - g s_l m_n |r_i - r_j| in the field of view, hidden outside", {"bias"}, {2});
  weigh(item, {.parameters = "none",
               .counts = {{"parameters", "0"},
                          {"fours", "floor(heads / 4)"},
                          {"pair", "heads / 2 - 2 * floor(heads / 4)"},
                          {"crowded", "max(groups - pair - fours, 0) + zero(groups - pair) * fours"}},
               .base = 0,
               .paths = {"flash", "sdpa", "explicit"},
               .cost = "a lookup by the offset in every pair a layer; no T x T tensor"});
  std::vector<std::string> names;
  for (const Group& group : kGroups) names.emplace_back(group.name);
  item.set("requires", Json::array({{{"rule", "multiple-of"},
                                     {"value", "heads"},
                                     {"factor", 2},
                                     {"help", "heads come in fours, and two may be left over"}}}));
  item.refuse(
      "(1 - zero(groups)) * crowded",
      "{heads} heads cannot be split into {groups} groups; a group takes four heads or a multiple, the last one "
      "may take two",
      "groups");
  item.option(Option::text("fov", "90", "field of view of the directed heads, in degrees, as published")
                  .choices({"90", "45", "180"}));
  item.option(Option::list("groups", "string", Json::array(), "groups of heads instead of those of fov")
                  .choices(names)
                  .neutral(Json::array()));
  item.option(Option::list("layer_fov", "string", Json::array(),
                           "fields of view of the first, second, ... layer, over again where there are more layers; "
                           "instead of fov")
                  .choices({"90", "45", "180"})
                  .neutral(Json::array()));
  item.option(Option::number("global_slope", 0.0, "slope of all heads; 0: 2 for fov 90 as published, 1 otherwise")
                  .minimum(0.0)
                  .maximum(1e6)
                  .neutral(0.0));
  item.option(Option::text("layer_slopes", "linspace",
                           "from 1.5 in the first layer to 0.5 in the last, or 1.5 in all (constant-first)")
                  .choices({"linspace", "constant-first"})
                  .neutral("linspace"));
  item.option(Option::text("distance", "linear", "the distance as it is, its root, or its square")
                  .choices({"linear", "sqrt", "square"})
                  .neutral("linear"));
  item.option(Option::text("hidden", "inf",
                           "bias outside the field of view: never seen (inf), 0 (zero), or as at "
                           "the head's largest distance (max)")
                  .choices({"inf", "zero", "max"})
                  .neutral("inf"));
  item.option(Option::text("rounding", "none", "bfloat16 rounds the table as the published code does")
                  .choices({"none", "bfloat16"})
                  .neutral("none"));
  return {item, [](const PriorContext&, const Options& o) -> std::shared_ptr<Prior> {
            return std::make_shared<Lookhere>(LookhereSettings{
                o.text("fov"), o.texts("layer_fov"), o.texts("groups"), o.number("global_slope"), o.text("distance"),
                o.text("hidden"), o.text("layer_slopes") == "constant-first", o.text("rounding") == "bfloat16"});
          }};
}

}  // namespace locus::engine::priors
