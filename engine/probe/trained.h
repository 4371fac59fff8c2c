// What training made of a model: its priors beside their initialization, and where it looks on images.
#pragma once

#include <filesystem>

#include "engine/data/dataset.h"
#include "engine/probe/host.h"
#include "engine/probe/png.h"

namespace locus::engine {

// Images of a split to look at.
struct ChosenImages {
  Tensor images;                   // as the model takes them, [B, C, H, W]
  Json described = Json::array();  // {"image", "split", "label", "pixels"}: docs/formats/picture.md
};

// Rows `indexes` of a split of the configuration's dataset. Throws DataError when the files are not there or
// not what they should be, std::invalid_argument on a split or row there is not.
ChosenImages choose_images(const Json& configuration, const DataPlace& place, const std::string& split,
                           const std::vector<std::int64_t>& indexes);

struct TrainedRequest {
  Json configuration;                 // of the stage that trained (docs/formats/catalog.md)
  std::filesystem::path weights;      // an exported model or a training checkpoint; empty: the initialization
  std::vector<std::int64_t> layers;   // counted over the network; empty: all of the stage
  std::vector<std::int64_t> queries;  // patches whose rows it holds; empty: as many as fit
  std::int64_t stage = 0;             // of the network, whose grid or window is shown
};

// The document "trained-prior" of docs/formats/picture.md: for each layer what every prior does, at
// initialization and with the weights, and the numbers it declares for its heads. Terms that follow content
// are those of `images`' first image, of tokens without content where there is none. Throws DataError on
// weights that are not this model's, std::invalid_argument on layers or queries there are not.
Json trained_prior(const TrainedRequest& request, const ChosenImages& images);

// The document "attention": for each layer and head the attention of the chosen queries and on average, with
// the priors and, where one of them takes part in the layer's attention, without them; how far it reaches;
// how much of it is position. `images` holds at least one. Throws as above.
Json trained_attention(const TrainedRequest& request, const ChosenImages& images);

// Heat maps of either document: for each layer a row for each state and query, a column for each head. `view`
// of a trained prior; empty: the first. `query` counts patches; -1: the middle one.
Drawing draw_trained(const Json& document, const std::string& view, std::int64_t query);

// Mean over queries i of sum_j p[i, j] |r_i - r_j|_2, in patches, rows of p first made to sum to 1. p [B, H, N, N]
// over patches of a grid; [H]. (Dosovitskiy et al. 2021, arXiv:2010.11929, section 4.5; Raghu et al. 2021,
// arXiv:2108.08810, section 4)
Tensor mean_attention_distance(const Tensor& p, const std::vector<std::int64_t>& extent);

// How much of attention is position and how much content, from the two parts of the logits [B, H, T, T]:
// the mean over queries and their top-attended keys of (e^position - e^content) / sum_j e^(position + content),
// [H]. The top keys are the fewest that together have `share` of a query's attention. ("Where to Attend: A
// Principled Vision-Centric Position Encoding with Parabolas", section 5.6, equations 15 and 16)
Tensor position_score(const Tensor& position, const Tensor& content, double share = 0.8);

}  // namespace locus::engine
