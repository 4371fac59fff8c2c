// The maps that a decoder reads, taken from the features of a backbone.
//
// A network of several stages gives the last tokens of each, through a layer norm of their own as Swin's dense networks have it
// (Liu et al. 2021, arXiv:2103.14030); one of a single stage gives the tokens after some of its blocks, without the final norm,
// all on one grid, by default after the last block of each quarter (blocks 2, 5, 8 and 11 of twelve). Prefix tokens are left
// out.
#pragma once

#include "engine/decoders/decoder.h"

namespace locus::engine {

// Parts "norms.<i>" of networks of several stages. Not thread-safe.
class HostMaps final : public Module {
 public:
  // `taps`: blocks counted from 0; empty: as above. Asks the backbone for them. Throws std::invalid_argument where its tokens
  // lie on no grid of rows and columns, or it has too few blocks, or none of that number. The backbone must outlive it.
  HostMaps(Backbone& backbone, DecoderInput input, const std::vector<std::int64_t>& taps, const MapExtent& image);

  const std::vector<std::int64_t>& widths() const { return widths_; }
  bool hierarchical() const { return stages_; }
  std::vector<Tensor> operator()(const Features& features) const;  // [B, width, rows, columns] each
  // Their grids for images of that extent. Throws as Backbone::layouts.
  std::vector<MapExtent> grids(const MapExtent& image) const;
  // What the sides of images must be multiples of: 1 where the backbone fills up those it cannot divide.
  std::int64_t multiple() const { return multiple_; }
  void start();  // the norms

 private:
  void read_stages(const std::vector<Layout>& layouts);
  void read_blocks(std::vector<std::int64_t> taps);

  const Backbone& backbone_;
  bool last_, stages_;
  std::vector<std::string> taps_;
  std::vector<std::int64_t> widths_;
  std::vector<std::shared_ptr<Norm>> norms_;
  std::int64_t multiple_ = 1;
};

}  // namespace locus::engine
