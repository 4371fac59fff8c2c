// Inputs: how the images of a dataset become what a model takes where nothing augments them: decoded, resized and cropped
// as bytes, then divided by 255 and normalized in float32.
#pragma once

#include "engine/base/item.h"
#include "engine/base/registry.h"
#include "engine/data/loader.h"

namespace locus::engine {

// What an input works for.
struct InputContext {
  const Json& facts;            // of the dataset: "channels", and "extent" where all its images have one
  Normalization normalization;  // the dataset's own
};

// How an evaluation asks for images.
struct ViewRequest {
  std::int64_t resolution = 0;  // shorter side; 0: that of training
  std::string resize = "plain";
  std::string interpolation = "bilinear";  // of `resize`
};

// How it then sees them: `transforms` are of bytes and may be none; `view` is what EvaluationSet takes.
struct InputView {
  EvaluationView view = {};
  Transforms transforms = {};
};

// Immutable; thread-safe.
class Input {
 public:
  virtual ~Input() = default;
  virtual Extent extent() const = 0;  // of training images, and what a model is built for
  virtual const Normalization& normalization() const = 0;
  virtual std::string interpolation() const { return "bicubic"; }  // of a crop that training resizes
  // uint8 images of any extent into such of `extent`; none where the images of files have that already.
  virtual Transforms preparation(const Extent& extent) const = 0;
  // Throws std::invalid_argument where the request asks for what this input does in its own way.
  virtual InputView view(const ViewRequest& request) const = 0;
  // Sides of the images that batches of training take in turn; none: all are of extent().
  virtual std::vector<std::int64_t> sizes() const { return {}; }
};

struct InputItem {
  Item item;  // kind "input"; fact "extent" where it gives one: {"option": NAME}, rows and columns alike
  std::shared_ptr<const Input> (*make)(const InputContext& context, const Options& options);
  std::string id() const { return item.json().at("id"); }
};
Registry<InputItem>& input_registry();  // first, every line of inputs.def
inline const std::deque<InputItem>& input_items() { return input_registry().all(); }
inline const InputItem& input_item(std::string_view id) { return input_registry().find(id); }

// Of a stage configuration's "input"; where it has none, the images as the files have them. `own`: the dataset's
// normalization. Throws std::invalid_argument naming what is wrong.
std::shared_ptr<const Input> make_input(const Json& configuration, const Normalization& own);

// What tasks are built for: the facts of a stage configuration's dataset, "extent" being that of its input. Throws as above.
Json input_facts(const Json& configuration);

}  // namespace locus::engine
