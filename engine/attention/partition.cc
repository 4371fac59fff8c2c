// Windows as lists of tokens.
#include "engine/attention/partition.h"

#include <algorithm>

namespace locus::engine {
namespace {

constexpr std::int64_t kNone = -1;

// One axis of the grid under its windows: for each place along it, in order, the token's coordinate and whether the
// place lies on the far side of the border between opposite ends.
struct Axis {
  Axis(std::int64_t length, std::int64_t window, std::int64_t shift, bool pad_first)
      : size(length), side(window), windows((length + window - 1) / window) {
    const std::int64_t padded = windows * window;
    for (std::int64_t place = 0; place < padded; ++place) {
      std::int64_t at = pad_first ? (place + shift) % padded : place;
      if (!pad_first && at < length) at = (at + shift) % length;
      coordinate.push_back(at < length ? at : kNone);
      beyond.push_back(shift > 0 && place / window == windows - 1 && place % window >= window - shift);
    }
  }

  std::int64_t size, side, windows;
  std::vector<std::int64_t> coordinate;
  std::vector<bool> beyond;
};

std::vector<Axis> axes_of(const Partition& partition, const Layout& layout) {
  std::vector<Axis> axes;
  for (std::size_t a = 0; a < layout.extent.size(); ++a)
    axes.emplace_back(layout.extent[a], partition.window[a], partition.shift.at(a), partition.pad_first);
  return axes;
}

// Steps a number of several digits, the last one fastest; false when it is back at zero.
bool next(std::vector<std::int64_t>& digits, const std::vector<std::int64_t>& bases) {
  for (std::size_t d = digits.size(); d-- > 0;) {
    if (++digits[d] < bases[d]) return true;
    digits[d] = 0;
  }
  return false;
}

}  // namespace

bool Partition::masks() const {
  return divides() && std::any_of(shift.begin(), shift.end(), [](std::int64_t by) { return by > 0; });
}

std::int64_t Partition::places() const {
  std::int64_t product = 1;
  for (const std::int64_t side : window) product *= side;
  return product;
}

std::int64_t Partition::count(const Layout& layout) const {
  if (layout.prefix != 0) {
    throw std::invalid_argument("attention within windows has no place for prefix tokens, and there are " +
                                std::to_string(layout.prefix));
  }
  if (layout.extent.size() != window.size()) {
    throw std::invalid_argument("windows of " + std::to_string(window.size()) + " axes do not tile a grid of " +
                                std::to_string(layout.extent.size()));
  }
  std::int64_t product = 1;
  for (std::size_t a = 0; a < window.size(); ++a) product *= (layout.extent[a] + window[a] - 1) / window[a];
  return product;
}

Parts parts_of(const Partition& partition, const Layout& layout) {
  const std::int64_t count = partition.count(layout);
  Parts parts{.part = {partition.window, 0}, .count = count};
  const std::vector<Axis> axes = axes_of(partition, layout);
  const std::int64_t tokens = layout.patches();
  std::vector<std::int64_t> take, back(static_cast<std::size_t>(tokens)), bases;
  std::vector<std::int8_t> region;
  for (const Axis& axis : axes) bases.push_back(axis.windows);
  for (const Axis& axis : axes) bases.push_back(axis.side);
  std::vector<std::int64_t> digits(bases.size(), 0);  // the window, then the place in it
  do {
    std::int64_t token = 0;
    std::int8_t side = 0;
    for (std::size_t a = 0; a < axes.size(); ++a) {
      const auto at = static_cast<std::size_t>(digits[a] * axes[a].side + digits[axes.size() + a]);
      const std::int64_t coordinate = axes[a].coordinate[at];
      token = coordinate == kNone || token == kNone ? kNone : token * axes[a].size + coordinate;
      side = static_cast<std::int8_t>(2 * side + (axes[a].beyond[at] ? 1 : 0));
    }
    if (token == kNone) token = tokens + parts.padding++;
    if (token < tokens) back[static_cast<std::size_t>(token)] = static_cast<std::int64_t>(take.size());
    take.push_back(token);
    region.push_back(side);
  } while (next(digits, bases));
  parts.take = at::tensor(take, at::kLong);
  parts.back = at::tensor(back, at::kLong);
  if (partition.masks()) {
    parts.region = at::empty({count, partition.places()}, at::kChar);
    std::copy(region.begin(), region.end(), parts.region.mutable_data_ptr<std::int8_t>());
  }
  return parts;
}

Parts to_device(Parts parts, at::Device device) {
  for (Tensor* tensor : {&parts.take, &parts.back, &parts.region}) {
    if (tensor->defined()) *tensor = tensor->to(device);
  }
  return parts;
}

Tensor Parts::apart(const Tensor& tokens, const Tensor& fill) const {
  const Tensor all = padding == 0 ? tokens : at::cat({tokens, fill.expand({tokens.size(0), padding, -1})}, 1);
  return all.index_select(1, take).view({tokens.size(0) * count, -1, tokens.size(2)});
}

Tensor Parts::together(const Tensor& placed) const {
  return placed.reshape({-1, take.size(0), placed.size(-1)}).index_select(1, back);
}

}  // namespace locus::engine
