// Tubelets: a rearrangement of pixels.
#include "engine/layers/tubelets.h"

namespace locus::engine {

Layout tubelet_layout(const std::vector<std::int64_t>& video, const Tubelet& tubelet, std::int64_t prefix) {
  bool fits = video.size() == tubelet.size();
  for (std::size_t axis = 0; fits && axis < tubelet.size(); ++axis)
    fits = tubelet[axis] > 0 && video[axis] > 0 && video[axis] % tubelet[axis] == 0;
  if (!fits) {
    throw std::invalid_argument("tubelets of " + c10::str(at::IntArrayRef(tubelet)) +
                                " frames, rows and columns do not tile a video of " + c10::str(at::IntArrayRef(video)));
  }
  return {{video[0] / tubelet[0], video[1] / tubelet[1], video[2] / tubelet[2]}, prefix};
}

Tensor tubelets_of(const Tensor& video, const Tubelet& tubelet) {
  if (video.dim() != 5) {
    throw std::invalid_argument("tubelets are cut from videos [batch, channels, frames, rows, columns], not " +
                                c10::str(video.sizes()));
  }
  tubelet_layout(video.sizes().slice(2).vec(), tubelet, 0);
  const auto [frames, rows, columns] = tubelet;
  const Tensor cells = video.unflatten(4, {-1, columns})
                           .unflatten(3, {-1, rows})
                           .unflatten(2, {-1, frames});  // [B, C, T, t, H, h, W, w]
  return cells.permute({0, 2, 4, 6, 1, 3, 5, 7}).flatten(4).flatten(1, 3);
}

}  // namespace locus::engine
