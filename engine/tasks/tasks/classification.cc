// Classification: one label an image, or a distribution over the labels where images are mixed; cross-entropy on a linear
// head over the backbone's pooled features.
#include <cmath>

#include "engine/tasks/conditions.h"
#include "engine/tasks/losses.h"
#include "engine/tasks/parts.h"
#include "engine/tasks/readout.h"
#include "engine/tasks/task.h"

namespace locus::engine::tasks {
namespace {

constexpr std::string_view kExample = "measure";  // purpose of the draws of example_batch()
constexpr const char *kBinary = "binary-cross-entropy", *kUniform = "uniform";
constexpr std::int64_t kDistillation = 1;        // the place of the distillation token, behind the class token
constexpr std::int64_t kTop = 5, kTopFrom = 20;  // of fewer classes the best five say little

class ClassificationScores : public Accumulator, public SummedScores {
 public:
  void add(const Tensor& logits, const Tensor& labels) {
    const Tensor right = logits.argmax(1).eq(labels).sum();
    const Tensor loss = soft_cross_entropy(logits, labels, 0).to(at::kDouble) * static_cast<double>(labels.size(0));
    if (logits.size(1) >= kTopFrom) {
      const Tensor near = engine::ranks(logits, labels).lt(kTop).sum();
      near_ = near_.defined() ? near_ + near : near;
    }
    right_ = count_ == 0 ? right : right_ + right;
    loss_ = count_ == 0 ? loss : loss_ + loss;
    count_ += labels.size(0);
  }

  std::vector<Score> scores() const override {
    if (count_ == 0) return {};
    const auto count = static_cast<double>(count_);
    std::vector<Score> out = {{"top1", 100.0 * static_cast<double>(right_.item<std::int64_t>()) / count},
                              {"loss", loss_.item<double>() / count}};
    if (near_.defined()) out.push_back({"top5", 100.0 * static_cast<double>(near_.item<std::int64_t>()) / count});
    return out;
  }

  // Images, then right ones, loss, and near ones with whether these are counted.
  Tensor totals() const override {
    const Tensor out = at::zeros({5}, at::kDouble);
    out[0] = count_;
    if (right_.defined()) out[1].copy_(right_);
    if (loss_.defined()) out[2].copy_(loss_);
    if (near_.defined()) out[3].copy_(near_);
    out[4] = near_.defined() ? 1 : 0;
    return out;
  }

  void load_totals(const Tensor& totals) override {
    const double* sums = totals.const_data_ptr<double>();
    count_ = std::llround(sums[0]);
    right_ = at::scalar_tensor(std::llround(sums[1]), at::kLong);
    loss_ = at::scalar_tensor(sums[2], at::kDouble);
    near_ = sums[4] > 0 ? at::scalar_tensor(std::llround(sums[3]), at::kLong) : Tensor();
  }

 private:
  Tensor right_, loss_, near_;
  std::int64_t count_ = 0;
};

class Classification : public Task, public DividesBatches {
 public:
  Classification(const TaskContext& context, const Options& options)
      : channels_(context.dataset_facts.at("channels")),
        label_smoothing_(options.number("label_smoothing")),
        binary_(options.text("loss") == kBinary) {
    if (binary_ && label_smoothing_ > 0) {
      throw std::invalid_argument(
          "task classification: binary-cross-entropy makes every target above 0 a 1, so label_smoothing would make all "
          "of them ones; set it to 0");
    }
    const Json& facts = context.dataset_facts;
    const InputFacts input{channels_, facts.at("extent")};
    backbone_ = make_backbone(context.configuration, input, context.random, context.path);
    check_unconditioned(*backbone_);
    readout_.emplace(*backbone_, options);
    register_module("backbone", backbone_);
    const auto classes = facts.at("classes").get<std::int64_t>();
    head_ = register_module("head", std::make_shared<Linear>(readout_->width(), classes));
    start(*head_, "head.", context, options);
    if (!options.boolean("distilled_head")) return;
    const std::int64_t prefix = backbone_->layouts(input.extent.at(0), input.extent.at(1)).back().prefix;
    if (prefix <= kDistillation) {
      throw std::invalid_argument(
          "task classification: distilled_head reads the token behind the class token, and the "
          "model has prefix tokens: " +
          std::to_string(prefix) + "; say model: {pool: cls, registers: 1}");
    }
    distilled_ = register_module("head_distilled", std::make_shared<Linear>(backbone_->width(), classes));
    start(*distilled_, "head_distilled.", context, options);
  }

  Batch example_batch(std::int64_t size, const Extent& extent, const RandomStreams& random) const override {
    return {{kImage, random.normal(kExample, "images", 0, {size, channels_, extent[0], extent[1]})},
            {kLabel, at::arange(size).remainder(head_->weight.size(0))}};
  }

  Tensor predict(const Batch& batch, const ForwardContext& context) override {
    return logits(backbone_->forward(seen(batch), context));
  }

  Tensor features(const Batch& batch, const ForwardContext& context) override {
    return (*readout_)(backbone_->forward(seen(batch), context));
  }

  std::int64_t flops(std::int64_t height, std::int64_t width) const override {
    return backbone_->flops(height, width) +
           2 * (head_->weight.numel() + (distilled_ ? distilled_->weight.numel() : 0));
  }

  StepLosses train_step(const Batch& batch, const ForwardContext& context) override {
    const bool frozen = !backbone_learns();
    const Features features = frozen ? frozen_features(batch, context) : backbone_->forward(seen(batch), context);
    const Tensor logits = this->logits(features);
    const auto target = batch.find(kTarget);
    const Tensor& wanted = target == batch.end() ? batch.at(kLabel) : target->second;
    const Tensor loss =
        binary_ ? binarized_cross_entropy(logits, wanted) : soft_cross_entropy(logits, wanted, label_smoothing_);
    StepLosses out;
    out.add(loss, {{"loss", loss}});
    if (frozen) return out;
    for (const AuxLoss& auxiliary : backbone_->auxiliary_losses(features, context))
      out.add(auxiliary.value, auxiliary.fields);
    return out;
  }

  bool takes_bytes() const override { return backbone_->takes_bytes(); }
  std::int64_t classes() const override { return head_->weight.size(0); }

  std::unique_ptr<Accumulator> accumulator() const override { return std::make_unique<ClassificationScores>(); }

  void evaluate(const Batch& batch, const ForwardContext& context, Accumulator& accumulator) override {
    dynamic_cast<ClassificationScores&>(accumulator).add(predict(batch, context), batch.at(kLabel));
  }

  Decay decay(std::string_view name, const Tensor& parameter) const override {
    return within_backbone(name) ? backbone_->decay(name.substr(kBackbone.size()), parameter)
                                 : default_decay(name, parameter);
  }
  bool training_only(std::string_view name) const override {
    return within_backbone(name) && backbone_->training_only(name.substr(kBackbone.size()));
  }
  std::string path() const override { return backbone_->path(); }

 private:
  static constexpr std::string_view kBackbone = "backbone.";
  static bool within_backbone(std::string_view name) { return name.starts_with(kBackbone); }

  static Inputs seen(const Batch& batch) {
    const auto values = batch.find(kByteValues);
    return values == batch.end() ? Inputs(batch.at(kImage)) : Inputs(batch.at(kImage), values->second);
  }

  static void start(Linear& head, const std::string& name, const TaskContext& context, const Options& options) {
    const at::NoGradGuard no_gradient;
    if (options.text("head_init") == kUniform) {
      head.weight.zero_();
      head.bias.fill_(-std::log(static_cast<double>(head.bias.size(0))));
      return;
    }
    Initializer(context.random, name).truncated_normal(head.weight, "weight", options.number("head_std"));
    head.bias.zero_();
  }

  Tensor logits(const Features& features) const {
    const Tensor out = head_->forward((*readout_)(features));
    return distilled_ ? (out + distilled_->forward(features.tokens.select(1, kDistillation))) / 2 : out;
  }

  bool backbone_learns() const {
    const std::vector<Tensor> parameters = backbone_->parameters();
    return std::any_of(parameters.begin(), parameters.end(), [](const Tensor& p) { return p.requires_grad(); });
  }
  // A backbone of which nothing learns runs as when it is scored, and without gradients.
  Features frozen_features(const Batch& batch, const ForwardContext& context) {
    const at::NoGradGuard no_gradient;
    return backbone_->forward(seen(batch), {context.step, context.steps, false, context.random});
  }

  std::int64_t channels_;
  double label_smoothing_;
  bool binary_;
  std::shared_ptr<Backbone> backbone_;
  std::optional<Readout> readout_;
  std::shared_ptr<Linear> head_, distilled_;  // the second null where there is one head
};

}  // namespace

TaskItem classification() {
  Item item("task", "classification", 1, "One label an image: cross-entropy on a linear head over the pooled features");
  item.option(Option::number("label_smoothing", 0.0, "share of the target spread evenly over all classes")
                  .minimum(0.0)
                  .maximum(1.0)
                  .neutral(0.0));
  item.option(
      Option::text("loss", "cross-entropy",
                   "what is learned from the labels; binary: of every class by itself, targets above 0 as 1 (DeiT-III)")
          .choices({"cross-entropy", kBinary})
          .neutral("cross-entropy"));
  item.option(Option::number("head_std", 0.02,
                             "deviation of the head's initial weights, normal and cut at -2 and 2; its biases start at "
                             "0. Fine-tuning on VTAB-1K has 2e-5, DINO's linear probe 0.01")
                  .above(0.0)
                  .maximum(1.0)
                  .neutral(0.02)
                  .when("head_init", {"normal"}));
  item.option(
      Option::text("head_init", "normal",
                   "how the head starts: normal, or uniform over the classes, its weights 0 and its biases minus "
                   "the logarithm of their number (PaPE)")
          .choices({"normal", kUniform})
          .neutral("normal"));
  item.option(Option::boolean("distilled_head", false,
                              "a second head reads the token behind the class token, and the mean of both is what is "
                              "said, as of a distilled DeiT once it is trained")
                  .neutral(false));
  add_readout_options(item);
  refuse_conditions(item);
  item.refuse(
      "loss.binary-cross-entropy * (1 - zero(label_smoothing))",
      "binary-cross-entropy makes every target above 0 a 1, so label_smoothing would make all of them ones; set it "
      "to 0",
      "label_smoothing");
  item.refuse("distilled_head * zero(max(prefix - 1, 0))",
              "distilled_head reads the token behind the class token, and the model has prefix tokens: {prefix}; say "
              "model: {pool: cls, registers: 1}",
              "distilled_head");
  item.facts(
      {{"metrics",
        {{{"name", "top1"}, {"unit", "%"}, {"direction", "max"}, {"help", "images whose best class is the label"}},
         {{"name", "loss"}, {"unit", "nat"}, {"direction", "min"}, {"help", "mean cross-entropy, without smoothing"}},
         {{"name", "top5"},
          {"unit", "%"},
          {"direction", "max"},
          {"help", "images whose label is among the five best classes; of datasets of 20 classes and more"}}}},
       {"default_metric", "top1"}});
  return {std::move(item), [](const TaskContext& context, const Options& options) -> std::shared_ptr<Task> {
            return std::make_shared<Classification>(context, options);
          }};
}

}  // namespace locus::engine::tasks
