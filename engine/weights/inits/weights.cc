// `init: {weights: {sha256: ...}}`: the weights of a file, published ones or those of another trial. The file is known by
// its content alone: the same stage may find it under another name on another machine.
#include "engine/base/failure.h"
#include "engine/files/tensor_file.h"
#include "engine/weights/inits.h"
#include "engine/weights/locate.h"

namespace locus::engine::inits {
namespace {

std::vector<std::string> start(Module& model, const InitContext& context, const Options& options) {
  const std::string sha256 = options.text("sha256");
  std::filesystem::path file = context.file;
  if (file.empty()) {
    file = find_weights(context.folder, sha256);
  } else {
    check_weights_digest(file, sha256);
  }
  const TensorFile tensors = read_tensor_file(file);
  try {
    return load_weights(model, context.input, tensors.tensors, load_options(options)).lines();
  } catch (const DataError& error) {
    throw DataError(file.string() + ": " + error.what());
  }
}

Item entry() {
  Item item("init", "weights", 1, "The weights of a file, published ones or those of another trial");
  std::vector<std::string> layouts = {"auto"};
  for (const WeightsLayout& layout : weights_layouts()) layouts.push_back(layout.id());
  item.option(Option::required_text(
      "sha256",
      "SHA-256 of the file, which lies in the folder weights of the worker's data or is an "
      "artifact of the server; `locus weights inspect FILE` prints it, and on the command line from: "
      "FILE stands for it"));
  item.option(Option::text("layout", "auto", "whose names its tensors have; auto goes by names that only one has")
                  .choices(layouts)
                  .neutral("auto"));
  item.option(
      Option::text("prefix", "",
                   "beginning of the names that hold the model, as in teacher.; empty: none, or model, teacher, "
                   "state_dict or student, the first that holds one")
          .neutral(""));
  item.option(
      Option::text("head", "new", "the file's head, of a task of maps its decoder, or one as if there were no file")
          .choices({"keep", "new"}));
  item.option(Option::text("position", "refuse",
                           "a position table of another grid: refuse it, resize it, or drop the file's and, of a model "
                           "trained here, priors that this one has not")
                  .choices({"refuse", "resize", "drop"})
                  .neutral("refuse"));
  item.option(
      Option::text("resize", "layout",
                   "how it is resized, bicubically: to the exact size (deit; also MAE, Hugging Face), with DINO's "
                   "sampling factor (dino; also DINOv2), antialiased (timm; also DINOv2 with registers), or as "
                   "the layout's own code does")
          .choices({"layout", "deit", "dino", "timm"})
          .when("position", {"resize"})
          .neutral("layout"));
  item.option(Option::list("grid", "integer", Json::array(),
                           "rows and columns of the file's position table; empty: a square, or as here")
                  .minimum(1)
                  .neutral(Json::array()));
  item.option(
      Option::text("patch", "refuse",
                   "a patch embedding of other patches or of color: refuse it, or resample it by the pseudo-inverse "
                   "of resizing, colors summed where images have one channel")
          .choices({"refuse", "resample"})
          .neutral("refuse"));
  return item;
}

}  // namespace

InitItem weights() { return {entry(), start}; }

}  // namespace locus::engine::inits
