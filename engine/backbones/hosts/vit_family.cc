// Sizes and starts of published Vision Transformers, as tables.
//
// Sources: DeiT (Touvron et al. 2021, arXiv:2012.12877), DeiT III (Touvron et al. 2022, arXiv:2204.07118), DINOv2 (Oquab et
// al. 2023, arXiv:2304.07193), DINOv3 (Siméoni et al. 2025, arXiv:2508.10104), timm 1.0's vision_transformer.py and eva.py,
// ConViT (d'Ascoli et al. 2021, arXiv:2103.10697), LocalViT (Li et al. 2021, arXiv:2104.05707), PaPE (DTU-PAS's
// parabolic-position-encoding).
#include "engine/backbones/hosts/vit_family.h"

namespace locus::engine::backbones {
namespace {

constexpr std::int64_t kPatch = 16;

struct VitSize {
  std::string name;
  std::int64_t dim, depth, heads;
  Json further = Json::object();  // options that are not the family's
};

struct Family {
  std::vector<VitSize> sizes;
  Json common = Json::object();     // options of all its sizes
  Json own_priors = Json::array();  // of the published networks
};

Json merged(Json base, const Json& more) {
  base.update(more);
  return base;
}

// The table of learned positions, with the rows it has beside those of the patches.
Json table(const char* rows) { return {{"learned-absolute", {{"rows", rows}}}}; }

Family deit() {
  return {.sizes = {{"deit-tiny", 192, 12, 3}, {"deit-small", 384, 12, 6}, {"deit-base", 768, 12, 12}},
          .common = {{"pool", "cls"}},
          .own_priors = Json::array({table("with-class")})};
}

Family distilled_deit() {
  return {.sizes = {{"deit-tiny-distilled", 192, 12, 3},
                    {"deit-small-distilled", 384, 12, 6},
                    {"deit-base-distilled", 768, 12, 12}},
          .common = {{"pool", "cls"}, {"registers", 1}},
          .own_priors = Json::array({table("with-prefix")})};
}

Family vit_of_timm() {
  return {.sizes = {{"vit-tiny", 192, 12, 3},
                    {"vit-small", 384, 12, 6},
                    {"vit-base", 768, 12, 12},
                    {"vit-large", 1024, 24, 16}},
          .common = {{"pool", "cls"}},
          .own_priors = Json::array({table("with-class")})};
}

Family deit_iii() {
  return {.sizes = {{"deit-iii-small", 384, 12, 6},
                    {"deit-iii-base", 768, 12, 12},
                    {"deit-iii-large", 1024, 24, 16},
                    {"deit-iii-huge", 1280, 32, 16, {{"patch", 14}}}},
          .common = {{"pool", "cls"}, {"layer_scale", 1e-4}, {"drop_path_rule", "constant"}},
          .own_priors = Json::array({table("patches")})};
}

Family dinov2() {
  return {.sizes = {{"dinov2-small", 384, 12, 6},
                    {"dinov2-base", 768, 12, 12},
                    {"dinov2-large", 1024, 24, 16},
                    {"dinov2-giant", 1536, 40, 24, {{"mlp", "swiglu"}}}},
          .common = {{"pool", "cls"},
                     {"patch", 14},
                     {"layer_scale", 1e-5},
                     {"mask_token", true},
                     {"drop_path_rule", "constant"},
                     {"drop_path_draw", "exactly"}},
          .own_priors = Json::array({table("with-class")})};
}

// Sizes of DINOv3, which timm has with other biases, pooling and starts.
std::vector<VitSize> sizes_of_dinov3(const std::string& start) {
  const Json gated = {{"mlp", "swiglu"}, {"mlp_ratio", 6.0}};
  return {{start + "small", 384, 12, 6},
          {start + "small-plus", 384, 12, 6, gated},
          {start + "base", 768, 12, 12},
          {start + "large", 1024, 24, 16},
          {start + "huge-plus", 1280, 32, 20, gated}};
}

Json rotations() { return {{"rope-axial", {{"flavor", "dinov3"}}}}; }

Family dinov3() {
  return {.sizes = sizes_of_dinov3("dinov3-"),
          .common = {{"pool", "cls"},
                     {"registers", 4},
                     {"norm_eps", 1e-5},
                     {"layer_scale", 1e-5},
                     {"key_bias", "masked"},
                     {"mask_token", true},
                     {"init", "dinov3"},
                     {"drop_path_rule", "constant"},
                     {"drop_path_draw", "exactly"}},
          .own_priors = Json::array({rotations()})};
}

Family dinov3_of_timm() {
  return {.sizes = sizes_of_dinov3("timm-dinov3-"),
          .common = {{"pool", "mean"},
                     {"class_token", "always"},
                     {"registers", 4},
                     {"norm_eps", 1e-5},
                     {"layer_scale", 1e-5},
                     {"qkv_bias", false},
                     {"init", "eva"}},
          .own_priors = Json::array({rotations()})};
}

Family pape() {
  return {.sizes = {{"pape-nano", 128, 4, 4, {{"mlp_ratio", 2.0}}},
                    {"pape-tiny", 256, 7, 4, {{"mlp_ratio", 2.0}}},
                    {"pape-small", 512, 10, 8},
                    {"pape-base", 768, 12, 12}},
          .common = {{"pool", "cls"},
                     {"norm_eps", 1e-5},
                     {"pre_norm", true},
                     {"init", "pape"},
                     {"drop_path_rule", "constant"}},
          .own_priors = Json::array({{{"pape", Json::object()}}})};
}

Family convit() {
  return {.sizes = {{"convit-tiny", 192, 12, 4}, {"convit-small", 432, 12, 9}, {"convit-base", 768, 12, 16}},
          .common = {{"pool", "cls"}, {"qkv_bias", false}},
          .own_priors = Json::array({table("patches"), {{"gpsa", {{"prefix", "late"}, {"values", "identity"}}}}})};
}

// LocalViT's MLP is a prior; its published widths differ by what is inside it.
Family localvit(const VitSize& size, const Json& inside) {
  Json mlp = {{"mode", "original"}};
  mlp.update(inside);
  return {.sizes = {size},
          .common = {{"pool", "cls"}},
          .own_priors = Json::array({table("with-class"), {{"local-ffn", mlp}}})};
}

std::vector<Family> families() {
  return {vit_of_timm(),
          deit(),
          distilled_deit(),
          deit_iii(),
          dinov2(),
          dinov3(),
          dinov3_of_timm(),
          pape(),
          convit(),
          localvit({"localvit-tiny", 192, 12, 4}, {{"act", "hs-se"}, {"reduction", 4}}),
          localvit({"localvit-tiny-narrow", 192, 12, 4}, {{"act", "hs-se"}, {"reduction", 192}}),
          localvit({"localvit-tiny-relu6", 192, 12, 4, {{"mlp_ratio", 6.0}}}, {{"act", "relu6"}}),
          localvit({"localvit-small", 384, 12, 8}, {{"act", "hs-se"}, {"reduction", 384}})};
}

}  // namespace

const std::vector<VitStart>& vit_starts() {
  static const std::vector<VitStart> list = {
      {"deit", /*uniform=*/false, /*damped=*/false, /*cut=*/true, 0.02, "DeiT, DeiT III, DINO"},
      {"eva", /*uniform=*/false, /*damped=*/true, /*cut=*/true, 0.02, "timm's eva.py"},
      {"dinov3", /*uniform=*/false, /*damped=*/false, /*cut=*/false, 0.02, "facebookresearch/dinov3"},
      {"pape", /*uniform=*/true, /*damped=*/false, /*cut=*/false, 0.02, "DTU-PAS/parabolic-position-encoding"}};
  return list;
}

const VitStart& vit_start(std::string_view name) {
  std::string known;
  for (const VitStart& start : vit_starts()) {
    if (start.name == name) return start;
    known += (known.empty() ? "" : ", ") + std::string(start.name);
  }
  throw std::invalid_argument("backbone vit: there is no init '" + std::string(name) + "'; choose one of: " + known);
}

void add_vit_sizes(Item& item) {
  for (const Family& family : families()) {
    for (const VitSize& size : family.sizes) {
      const Json numbers = {{"dim", size.dim}, {"depth", size.depth}, {"heads", size.heads}, {"patch", kPatch}};
      item.preset(size.name, merged(merged(numbers, family.common), size.further));
    }
  }
  item.preset("mini",
              {{"dim", 64}, {"depth", 4}, {"heads", 4}, {"init_std", 0.075}});  // patches as the dataset has them
}

Json vit_own_priors() {
  Json out = Json::object();
  for (const Family& family : families()) {
    for (const VitSize& size : family.sizes) out[size.name] = family.own_priors;
  }
  out["mini"] = Json::array({"learned-absolute"});
  return out;
}

}  // namespace locus::engine::backbones
