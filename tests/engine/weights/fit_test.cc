// Position tables and patch embeddings of other sizes against plain loops from the formulas.
#include "engine/weights/fit.h"

#include <gmock/gmock.h>

#include <cmath>

#include "engine/base/failure.h"
#include "engine/layers/position_table.h"
#include "engine/weights/load.h"
#include "tests/engine/train/recording.h"
#include "tests/engine/weights/published.h"

namespace locus::engine {
namespace {

using namespace test;
using ::testing::Contains;
using ::testing::HasSubstr;

using Matrix = std::vector<std::vector<double>>;  // rows of columns

// Keys' cubic kernel (Keys 1981, equations 4 and 5), of parameter a.
double cubic(double x, double a) {
  x = std::abs(x);
  if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
  return 0;
}

// Row i: what the new sample i takes of the old ones. `factor`: new samples over old ones, where it is not the ratio.
Matrix interpolation(std::int64_t from, std::int64_t to, double factor) {
  Matrix out(static_cast<std::size_t>(to), std::vector<double>(static_cast<std::size_t>(from)));
  for (std::int64_t i = 0; i < to; ++i) {
    const double center = (static_cast<double>(i) + 0.5) / factor - 0.5;
    const auto first = static_cast<std::int64_t>(std::floor(center)) - 1;
    for (std::int64_t tap = first; tap < first + 4; ++tap) {
      const std::int64_t inside = std::clamp<std::int64_t>(tap, 0, from - 1);
      out[static_cast<std::size_t>(i)][static_cast<std::size_t>(inside)] +=
          cubic(center - static_cast<double>(tap), -0.75);
    }
  }
  return out;
}

Matrix antialiased(std::int64_t from, std::int64_t to) {
  Matrix out(static_cast<std::size_t>(to), std::vector<double>(static_cast<std::size_t>(from)));
  const double scale = static_cast<double>(from) / static_cast<double>(to), widened = std::max(scale, 1.0);
  for (std::int64_t i = 0; i < to; ++i) {
    const double center = (static_cast<double>(i) + 0.5) * scale;
    double sum = 0;
    for (std::int64_t j = 0; j < from; ++j) {
      const double weight = cubic((static_cast<double>(j) + 0.5 - center) / widened, -0.5);
      out[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)] = weight;
      sum += weight;
    }
    for (double& weight : out[static_cast<std::size_t>(i)]) weight /= sum;
  }
  return out;
}

Matrix axis_of(const std::string& manner, std::int64_t from, std::int64_t to) {
  if (manner == "timm") return antialiased(from, to);
  const double offset = manner == "dino" ? 0.1 : 0;
  return interpolation(from, to, (static_cast<double>(to) + offset) / static_cast<double>(from));
}

// Of a raster of the grid `from` that of the grid `to`: [to rows * to columns][from rows * from columns].
Matrix both_axes(const Matrix& rows, const Matrix& columns) {
  Matrix out;
  for (const auto& row : rows) {
    for (const auto& column : columns) {
      out.emplace_back();
      for (const double r : row) {
        for (const double c : column) out.back().push_back(r * c);
      }
    }
  }
  return out;
}

TEST(PositionTables, AreResizedAsTheFormulasSay) {
  const std::pair<std::vector<std::int64_t>, std::vector<std::int64_t>> grids[] = {
      {{4, 4}, {7, 7}}, {{14, 14}, {9, 12}}, {{5, 8}, {3, 11}}, {{7, 7}, {14, 14}}, {{6, 6}, {6, 9}}};
  for (const char* manner : {"deit", "dino", "timm"}) {
    for (const auto& [from, to] : grids) {
      const Tensor table = RandomStreams(1).normal("test", "table", 0, {from[0] * from[1], 3}).to(at::kDouble);
      const Matrix plain = both_axes(axis_of(manner, from[0], to[0]), axis_of(manner, from[1], to[1]));
      const Tensor found = resized_positions(table, from, to, manner);
      ASSERT_EQ(found.sizes(), (std::vector<std::int64_t>{to[0] * to[1], 3}));
      for (std::size_t i = 0; i < plain.size(); ++i) {
        for (std::int64_t d = 0; d < 3; ++d) {
          double sum = 0;
          for (std::size_t j = 0; j < plain[i].size(); ++j)
            sum += plain[i][j] * table[static_cast<std::int64_t>(j)][d].item<double>();
          ASSERT_NEAR(found[static_cast<std::int64_t>(i)][d].item<double>(), sum, 1e-9) << manner << " " << i;
        }
      }
    }
  }
}

TEST(PositionTables, OfOneGridDifferByWhoResizesThem) {
  const Tensor table = RandomStreams(1).normal("test", "table", 0, {196, 4});
  const Tensor deit = resized_positions(table, {14, 14}, {10, 10}, "deit");
  for (const char* other : {"dino", "timm"})
    EXPECT_GT((resized_positions(table, {14, 14}, {10, 10}, other) - deit).abs().max().item<double>(), 1e-2);
  EXPECT_TRUE(at::allclose(resized_positions(table, {14, 14}, {14, 14}, "deit"), table));
  EXPECT_THROW(resized_positions(table, {14, 14}, {7, 7}, "swin"), std::invalid_argument);
  EXPECT_THROW(resized_positions(table, {14, 13}, {7, 7}, "deit"), std::invalid_argument);
}

// Solves square * x = right by elimination with pivots.
std::vector<double> solved(Matrix square, std::vector<double> right) {
  const std::size_t n = right.size();
  for (std::size_t k = 0; k < n; ++k) {
    std::size_t pivot = k;
    for (std::size_t i = k; i < n; ++i) {
      if (std::abs(square[i][k]) > std::abs(square[pivot][k])) pivot = i;
    }
    std::swap(square[k], square[pivot]);
    std::swap(right[k], right[pivot]);
    for (std::size_t i = k + 1; i < n; ++i) {
      const double factor = square[i][k] / square[k][k];
      for (std::size_t j = k; j < n; ++j) square[i][j] -= factor * square[k][j];
      right[i] -= factor * right[k];
    }
  }
  for (std::size_t k = n; k-- > 0;) {
    for (std::size_t j = k + 1; j < n; ++j) right[k] -= square[k][j] * right[j];
    right[k] /= square[k][k];
  }
  return right;
}

// By the normal equations: for larger patches the smallest kernel that gives every enlarged patch its old token, for
// smaller ones that nearest to the old kernel after resizing.
std::vector<double> plain_kernel(const std::vector<double>& old, std::int64_t from, std::int64_t to) {
  const Matrix resize = both_axes(antialiased(from, to), antialiased(from, to));  // [to^2][from^2]
  const std::size_t rows = resize.size(), columns = resize[0].size();
  const bool larger = rows > columns;
  const std::size_t n = larger ? columns : rows;
  Matrix gram(n, std::vector<double>(n));
  std::vector<double> right(n);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      for (std::size_t k = 0; k < (larger ? rows : columns); ++k)
        gram[i][j] += larger ? resize[k][i] * resize[k][j] : resize[i][k] * resize[j][k];
    }
    for (std::size_t k = 0; k < columns; ++k) right[i] += larger ? (k == i ? old[k] : 0) : resize[i][k] * old[k];
  }
  const std::vector<double> x = solved(gram, right);
  if (!larger) return x;
  std::vector<double> out(rows);
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t k = 0; k < columns; ++k) out[i] += resize[i][k] * x[k];
  }
  return out;
}

TEST(PatchKernels, AreThePseudoInverseOfResizing) {
  for (const auto& [from, to] : {std::pair<std::int64_t, std::int64_t>{4, 6}, {4, 3}, {3, 8}, {6, 2}}) {
    const Tensor kernel = RandomStreams(2).normal("test", "kernel", 0, {2, 3, from, from}).to(at::kDouble);
    const Tensor found = resampled_kernel(kernel, to);
    ASSERT_EQ(found.sizes(), (std::vector<std::int64_t>{2, 3, to, to}));
    for (std::int64_t d = 0; d < 2; ++d) {
      for (std::int64_t c = 0; c < 3; ++c) {
        const Tensor one = kernel[d][c].reshape(-1).contiguous(), resampled = found[d][c].reshape(-1);
        const std::vector<double> old(one.data_ptr<double>(), one.data_ptr<double>() + one.numel());
        const std::vector<double> plain = plain_kernel(old, from, to);
        for (std::size_t i = 0; i < plain.size(); ++i)
          ASSERT_NEAR(resampled[static_cast<std::int64_t>(i)].item<double>(), plain[i], 1e-7) << from << " to " << to;
      }
    }
  }
}

LoadReport load(Task& task, const Tiny& tiny, const Tensors& file, Fit fit, const std::string& layout = "auto") {
  return load_weights(task, {tiny.channels, {tiny.side, tiny.side}}, file,
                      {.layout = layout, .prefix = "", .keep_head = true, .fit = std::move(fit)});
}

std::string refused(const Tiny& tiny, const Tensors& file, Fit fit, const std::string& layout = "auto") {
  try {
    load(*tiny_task(tiny, 2), tiny, file, std::move(fit), layout);
  } catch (const DataError& error) {
    return error.what();
  }
  return "not refused";
}

const std::string kTable = "priors.learned-absolute.table";

TEST(FittedWeights, ResizeTheirTableOnlyWhenAskedAndByTheirLayoutsManner) {
  const Tiny small, large{.side = 20};
  const Tensors file = as_timm(*tiny_task(small, 1), 4);
  EXPECT_THAT(refused(large, file, {}), HasSubstr("position table is of 3 x 3 patches, the model has 5 x 5"));
  const Tensor rows = file.at("pos_embed")[0];
  for (const auto& [layout, manner] :
       {std::pair{"timm", "timm"}, {"deit", "deit"}, {"dino", "dino"}, {"mae", "deit"}}) {
    const auto task = tiny_task(large, 2);
    const LoadReport report = load(*task, large, file, {.position = "resize"}, layout);
    const Tensor wanted = at::cat({rows.slice(0, 0, 1), resized_positions(rows.slice(0, 1), {3, 3}, {5, 5}, manner)});
    EXPECT_TRUE(at::equal(parameters_of(*task).at(kTable), wanted)) << layout;
    EXPECT_THAT(report.notes, Contains(std::string("position table resized from 3 x 3 to 5 x 5 as in ") + manner));
  }
  const auto task = tiny_task(large, 2);
  load(*task, large, file, {.position = "resize", .resize = "dino"}, "timm");
  EXPECT_TRUE(at::equal(parameters_of(*task).at(kTable).slice(0, 1),
                        resized_positions(rows.slice(0, 1), {3, 3}, {5, 5}, "dino")));
}

TEST(FittedWeights, TellThePrefixFromTheGridByTheSquare) {
  const Tiny large{.side = 20, .registers = 4, .rows = "with-prefix"};
  Tensors file = as_timm(*tiny_task({.side = 16, .registers = 4, .rows = "with-prefix"}, 1), 4);
  const auto task = tiny_task(large, 2);
  load(*task, large, file, {.position = "resize"}, "timm");
  EXPECT_TRUE(at::equal(parameters_of(*task).at(kTable).slice(0, 0, 5), file.at("pos_embed")[0].slice(0, 0, 5)));
}

TEST(FittedWeights, TakeATableOfAnotherShapeByItsGrid) {
  const Tiny tiny{.side = 16};
  Tensors file = as_timm(*tiny_task({.side = 12}, 1), 4);
  file["pos_embed"] = RandomStreams(4).normal("test", "table", 0, {1, 1 + 10, 8});
  EXPECT_THAT(refused(tiny, file, {.position = "resize"}), HasSubstr("grid: [ROWS, COLUMNS]"));
  EXPECT_THAT(refused(tiny, file, {.position = "resize", .grid = {3, 4}}), HasSubstr("correct init.grid"));
  const auto task = tiny_task(tiny, 2);
  load(*task, tiny, file, {.position = "resize", .grid = {2, 5}}, "deit");
  EXPECT_TRUE(at::equal(parameters_of(*task).at(kTable).slice(0, 1),
                        resized_positions(file.at("pos_embed")[0].slice(0, 1), {2, 5}, {4, 4}, "deit")));
}

TEST(FittedWeights, GiveRegistersNoPositionWhereTheFileHasNone) {
  const Tiny with{.registers = 2, .rows = "with-prefix"}, classes{.registers = 2};
  const auto made = tiny_task(classes, 1), task = tiny_task(with, 2);
  load(*task, with, as_timm(*made, 4), {}, "timm");
  EXPECT_TRUE(at::equal(parameters_of(*task).at(kTable).slice(0, 1, 3), at::zeros({2, 8})));
  EXPECT_TRUE(same_bits(logits_of(*task, with), logits_of(*made, classes)));
}

TEST(FittedWeights, DropATableWhenTold) {
  const Tiny none{.rows = ""}, table;
  const Tensors file = as_timm(*tiny_task(table, 1), 4);
  EXPECT_THAT(refused(none, file, {}), HasSubstr("position: drop"));
  EXPECT_EQ(refused(none, file, {.position = "drop"}), "not refused");
  const auto task = tiny_task(table, 2);
  const Tensor before = parameters_of(*task).at(kTable);
  const LoadReport report = load(*task, table, file, {.position = "drop"});
  EXPECT_TRUE(same_bits(parameters_of(*task).at(kTable), before));
  EXPECT_THAT(report.initial, Contains("backbone." + kTable));
}

TEST(FittedWeights, ResamplePatchesAndSumColorsOnlyWhenAsked) {
  const Tiny color, gray{.side = 18, .patch = 6, .channels = 1};
  const Tensors file = as_timm(*tiny_task(color, 1), 4);
  EXPECT_THAT(refused(gray, file, {}), HasSubstr("patches are of 3 channels and 4 pixels, the model's of 1 and 6"));
  const auto task = tiny_task(gray, 2);
  load(*task, gray, file, {.patch = "resample"});
  const Tensor wanted =
      resampled_kernel(file.at("patch_embed.proj.weight").sum(1, true, at::kDouble).to(at::kFloat), 6);
  EXPECT_TRUE(at::equal(parameters_of(*task).at("embed.weight"), wanted.flatten(1)));
  const Tiny many{.channels = 4};
  EXPECT_THAT(refused(many, file, {.patch = "resample"}), HasSubstr("channels are only ever summed"));
}

// An enlarged image through the resampled embedding is the image through the old one.
TEST(FittedWeights, SeeInAnEnlargedPatchWhatTheySawInTheOldOne) {
  const Tensor kernel = RandomStreams(5).normal("test", "kernel", 0, {8, 3, 4, 4}).to(at::kDouble);
  const Tensor image = RandomStreams(5).normal("test", "image", 0, {1, 3, 4, 4}).to(at::kDouble);
  const Tensor larger = at::_upsample_bicubic2d_aa(image, {7, 7}, false);
  EXPECT_TRUE(at::allclose((resampled_kernel(kernel, 7) * larger).sum({1, 2, 3}), (kernel * image).sum({1, 2, 3})));
}

}  // namespace
}  // namespace locus::engine
