// Classification: one label an image, cross-entropy on a linear head over the backbone's pooled features.
#include "engine/tasks/task.h"

namespace locus::engine::tasks {
namespace {

constexpr std::string_view kExample = "measure";  // purpose of the draws of example_batch()

class ClassificationScores : public Accumulator {
 public:
  void add(const Tensor& logits, const Tensor& labels) {
    const Tensor right = logits.argmax(1).eq(labels).sum();
    const Tensor loss = at::cross_entropy_loss(logits, labels, {}, at::Reduction::Sum).to(at::kDouble);
    right_ = count_ == 0 ? right : right_ + right;
    loss_ = count_ == 0 ? loss : loss_ + loss;
    count_ += labels.size(0);
  }

  std::vector<Score> scores() const override {
    if (count_ == 0) return {};
    const auto count = static_cast<double>(count_);
    return {{"top1", 100.0 * static_cast<double>(right_.item<std::int64_t>()) / count},
            {"loss", loss_.item<double>() / count}};
  }

 private:
  Tensor right_, loss_;
  std::int64_t count_ = 0;
};

class Classification : public Task {
 public:
  Classification(const TaskContext& context, const Options& options)
      : channels_(context.dataset_facts.at("channels")), label_smoothing_(options.number("label_smoothing")) {
    const Json& facts = context.dataset_facts;
    const InputFacts input{channels_, facts.at("extent")};
    backbone_ = make_backbone(context.configuration, input, context.random, context.path);
    head_ = std::make_shared<Linear>(backbone_->pooled_width(), facts.at("classes").get<std::int64_t>());
    Initializer(context.random, "head.").truncated_normal(head_->weight, "weight", 0.02);
    at::NoGradGuard no_gradient;
    head_->bias.zero_();
    register_module("backbone", backbone_);
    register_module("head", head_);
  }

  Batch example_batch(std::int64_t size, const Extent& extent, const RandomStreams& random) const override {
    return {{kImage, random.normal(kExample, "images", 0, {size, channels_, extent[0], extent[1]})},
            {kLabel, at::arange(size).remainder(head_->weight.size(0))}};
  }

  Tensor predict(const Batch& batch, const ForwardContext& context) override {
    return head_->forward(backbone_->pooled(backbone_->forward(batch.at(kImage), context)));
  }

  std::int64_t flops(std::int64_t height, std::int64_t width) const override {
    return backbone_->flops(height, width) + 2 * head_->weight.numel();
  }

  StepLosses train_step(const Batch& batch, const ForwardContext& context) override {
    const Features features = backbone_->forward(batch.at(kImage), context);
    const Tensor loss =
        at::cross_entropy_loss(head_->forward(backbone_->pooled(features)), batch.at(kLabel), {}, at::Reduction::Mean,
                               /*ignore_index=*/-100, label_smoothing_);
    StepLosses out;
    out.add(loss, {{"loss", loss}});
    for (const AuxLoss& auxiliary : backbone_->auxiliary_losses(features, context))
      out.add(auxiliary.value, auxiliary.fields);
    return out;
  }

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

  std::int64_t channels_;
  double label_smoothing_;
  std::shared_ptr<Backbone> backbone_;
  std::shared_ptr<Linear> head_;
};

}  // namespace

TaskItem classification() {
  Item item("task", "classification", 1, "One label an image: cross-entropy on a linear head over the pooled features");
  item.option(Option::number("label_smoothing", 0.0, "share of the target spread evenly over all classes")
                  .minimum(0.0)
                  .maximum(1.0)
                  .neutral(0.0));
  item.facts(
      {{"metrics",
        {{{"name", "top1"}, {"unit", "%"}, {"direction", "max"}, {"help", "images whose best class is the label"}},
         {{"name", "loss"}, {"unit", "nat"}, {"direction", "min"}, {"help", "mean cross-entropy, without smoothing"}}}},
       {"default_metric", "top1"}});
  return {std::move(item), [](const TaskContext& context, const Options& options) -> std::shared_ptr<Task> {
            return std::make_shared<Classification>(context, options);
          }};
}

}  // namespace locus::engine::tasks
