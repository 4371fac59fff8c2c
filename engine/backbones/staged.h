// Networks of several stages: what Swin and RMT have in common.
#pragma once

#include "engine/backbones/backbone.h"

namespace locus::engine {

// What leads from a stage to the next one. Not thread-safe.
class StageEntry : public Module {
 public:
  // tokens [B, N, D] of the former stage, laid out like this -> [B, N', D'] of the next.
  virtual Tensor forward(const Tensor& tokens, const Layout& layout, const ForwardContext& context) = 0;
  // Of a forward pass over one sample: Backbone::flops. `layout` is that of the tokens that come in.
  virtual std::int64_t flops(const Layout& layout) const = 0;
};

// A stem, stages of blocks, an entry before every stage but the first, a final norm. No prefix tokens. Not thread-safe.
//
// Modules "stages.<s>.entry" and "stages.<s>.blocks.<i>", i counted within the stage.
class StagedBackbone : public Backbone {
 public:
  Features forward(const Inputs& inputs, const ForwardContext& context) override;
  std::int64_t width() const override { return stages().back().width; }
  Tensor pooled(const Features& features) const override { return features.tokens.mean(1); }
  std::int64_t flops(std::int64_t height, std::int64_t width) const override;

 protected:
  // Images to the tokens of the first stage, [B, N, D], before the priors embed.
  virtual Tensor stem(const Tensor& image, const ForwardContext& context) = 0;
  virtual std::int64_t stem_flops(std::int64_t height, std::int64_t width) const = 0;
  // Of what pooled() does with the tokens of the last stage.
  virtual std::int64_t pool_flops(const Layout& /*last*/) const { return 0; }

  // The entry of a stage by its full name, "stages.1.entry".
  using MakeEntry =
      std::function<std::shared_ptr<StageEntry>(const StageInfo& from, const StageInfo& to, const std::string& name)>;
  // The block at a place in its stage.
  using MakeBlock = std::function<BlockOptions(const StageInfo& stage, std::int64_t place)>;
  // Builds the priors, then the stages in order. Call after the stem is registered.
  void build_stages(const BackboneContext& context, std::vector<StageInfo> stages, const MakeEntry& entry,
                    const MakeBlock& block);

 private:
  std::vector<std::shared_ptr<StageEntry>> entries_;  // of the stages from the second on
};

// What a network of stages is made from: lists of one entry for each stage.
struct StageSizes {
  std::vector<std::int64_t> dims, depths, heads, hidden;

  // Throws std::invalid_argument, naming the backbone, where the lists differ in length or heads do not divide dims.
  void check(const std::string& backbone) const;
  // The stages on these grids, all attending to all; the layers counted through.
  std::vector<StageInfo> describe(const std::vector<Layout>& grids) const;
};

}  // namespace locus::engine
