// Pieces of tensors, about as many numbers a thread.
#include "engine/fused/updates.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/fused/kernels.h"
#include "engine/fused/switch.h"

namespace locus::engine::fused {
namespace {

constexpr std::int64_t kPiece = 16 * 1024;   // numbers, at most
constexpr std::int64_t kAtOnce = 32 * 1024;  // of a thread, at least

// Numbers [first, first + count) of tensor `index`, of list `list`.
struct Piece {
  std::size_t list, index;
  std::int64_t first, count;
};

void add_pieces(std::size_t list, std::span<const Tensor> tensors, std::vector<Piece>& out) {
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const std::int64_t all = tensors[i].numel();
    for (std::int64_t first = 0; first < all; first += kPiece)
      out.push_back({list, i, first, std::min(kPiece, all - first)});
  }
}

std::vector<Piece> pieces_of(std::span<const Tensor> tensors) {
  std::vector<Piece> out;
  add_pieces(0, tensors, out);
  return out;
}

// Calls body(piece, its index) for all of them: a thread takes those that begin in its share of the numbers.
template <typename Body>
void each(const std::vector<Piece>& pieces, const Body& body) {
  std::vector<std::int64_t> begins;
  std::int64_t all = 0;
  for (const Piece& piece : pieces) begins.push_back(std::exchange(all, all + piece.count));
  at::parallel_for(0, all, kAtOnce, [&](std::int64_t from, std::int64_t to) {
    auto i = static_cast<std::size_t>(std::lower_bound(begins.begin(), begins.end(), from) - begins.begin());
    for (; i < pieces.size() && begins[i] < to; ++i) body(pieces[i], static_cast<std::int64_t>(i));
  });
}

template <typename T>
const T* read(std::span<const Tensor> tensors, const Piece& piece) {
  return tensors[piece.index].const_data_ptr<T>() + piece.first;
}
template <typename T>
T* written(std::span<const Tensor> tensors, const Piece& piece) {
  return tensors[piece.index].mutable_data_ptr<T>() + piece.first;
}

template <typename T>
AdamNumbers<T> numbers_of(const UpdateList& list, const AdamSettings& settings) {
  const auto t = static_cast<double>(settings.step);
  return {.kept = static_cast<T>(1 - list.rate * list.weight_decay),
          .beta2 = static_cast<T>(settings.beta2),
          .one_beta1 = static_cast<T>(1 - settings.beta1),
          .one_beta2 = static_cast<T>(1 - settings.beta2),
          .root = static_cast<T>(std::sqrt(1 - std::pow(settings.beta2, t))),
          .step = static_cast<T>(list.rate / (1 - std::pow(settings.beta1, t))),
          .epsilon = static_cast<T>(settings.epsilon)};
}

std::vector<Piece> pieces_of(std::span<const UpdateList> lists) {
  std::vector<Piece> out;
  for (std::size_t i = 0; i < lists.size(); ++i) add_pieces(i, lists[i].parameters, out);
  return out;
}

template <typename T>
void adamw_of(std::span<const UpdateList> lists, const AdamSettings& settings) {
  std::vector<AdamNumbers<T>> numbers;
  for (const UpdateList& list : lists) numbers.push_back(numbers_of<T>(list, settings));
  each(pieces_of(lists), [&](const Piece& piece, std::int64_t) {
    const UpdateList& list = lists[piece.list];
    passes<T>().adamw(written<T>(list.parameters, piece), read<T>(list.gradients, piece), written<T>(list.first, piece),
                      written<T>(list.second, piece), numbers[piece.list], piece.count);
  });
}

template <typename T>
void sgd_of(std::span<const UpdateList> lists, double momentum, bool nesterov) {
  each(pieces_of(lists), [&](const Piece& piece, std::int64_t) {
    const UpdateList& list = lists[piece.list];
    const SgdNumbers<T> numbers{static_cast<T>(list.rate), static_cast<T>(list.weight_decay), static_cast<T>(momentum),
                                nesterov};
    passes<T>().sgd(written<T>(list.parameters, piece), read<T>(list.gradients, piece),
                    list.first.empty() ? nullptr : written<T>(list.first, piece), numbers, piece.count);
  });
}

template <typename T>
double squares_of(std::span<const Tensor> tensors) {
  const std::vector<Piece> pieces = pieces_of(tensors);
  std::vector<double> sums(pieces.size());
  each(pieces, [&](const Piece& piece, std::int64_t i) {
    sums[static_cast<std::size_t>(i)] = passes<T>().squares(read<T>(tensors, piece), piece.count);
  });
  double out = 0;
  for (const double one : sums) out += one;
  return out;
}

template <typename T>
void follow_of(std::span<const Tensor> averages, std::span<const Tensor> weights, double keep, bool lerp) {
  each(pieces_of(averages), [&](const Piece& piece, std::int64_t) {
    T* const a = written<T>(averages, piece);
    const T* const x = read<T>(weights, piece);
    if (lerp) {
      passes<T>().lerp(a, x, static_cast<T>(1 - keep), piece.count);
    } else {
      passes<T>().follow(a, x, static_cast<T>(keep), static_cast<T>(1 - keep), piece.count);
    }
  });
}

bool wide(const Tensor& like) { return like.scalar_type() == at::kDouble; }

// Of the first parameter of some lists.
bool wide(std::span<const UpdateList> lists) {
  const auto some = std::find_if(lists.begin(), lists.end(), [](const auto& list) { return !list.parameters.empty(); });
  return some != lists.end() && wide(some->parameters.front());
}

}  // namespace

bool updates(std::span<const Tensor> tensors) {
  if (tensors.empty()) return true;
  const at::ScalarType type = tensors.front().scalar_type();
  return is_enabled() && (type == at::kFloat || type == at::kDouble) &&
         std::all_of(tensors.begin(), tensors.end(), [&](const Tensor& t) {
           return t.is_cpu() && t.scalar_type() == type && t.layout() == at::kStrided && t.is_contiguous();
         });
}

void adamw(std::span<const UpdateList> lists, const AdamSettings& settings) {
  wide(lists) ? adamw_of<double>(lists, settings) : adamw_of<float>(lists, settings);
}

void sgd(std::span<const UpdateList> lists, double momentum, bool nesterov) {
  wide(lists) ? sgd_of<double>(lists, momentum, nesterov) : sgd_of<float>(lists, momentum, nesterov);
}

double joint_norm(std::span<const Tensor> tensors) {
  if (tensors.empty()) return 0;
  return std::sqrt(wide(tensors.front()) ? squares_of<double>(tensors) : squares_of<float>(tensors));
}

void scale(std::span<const Tensor> tensors, double factor) {
  each(pieces_of(tensors), [&](const Piece& piece, std::int64_t) {
    if (wide(tensors.front())) {
      passes<double>().scale(written<double>(tensors, piece), factor, piece.count);
    } else {
      passes<float>().scale(written<float>(tensors, piece), static_cast<float>(factor), piece.count);
    }
  });
}

void follow(std::span<const Tensor> averages, std::span<const Tensor> weights, double keep, bool lerp) {
  if (averages.empty()) return;
  wide(averages.front()) ? follow_of<double>(averages, weights, keep, lerp)
                         : follow_of<float>(averages, weights, keep, lerp);
}

}  // namespace locus::engine::fused
