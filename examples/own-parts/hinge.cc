// Classification by margins: the right class shall stand above every other one by 1 (Crammer and Singer 2001, JMLR 2).
//
//   L = mean_b max(0, 1 + max_{c != y} z_bc - z_by)
//
// `margin` is the mean over samples of z_y - max_{c != y} z_c.
#include "engine/plugin/plugin.h"
#include "engine/tasks/parts.h"

namespace {

using namespace locus::engine;

constexpr std::string_view kHingeBackbone = "backbone.";

// z_y - max_{c != y} z_c, [B].
Tensor margins(const Tensor& logits, const Tensor& labels) {
  const Tensor index = labels.unsqueeze(1);
  const Tensor others = logits.scatter(1, index, -std::numeric_limits<double>::infinity());
  return (logits.gather(1, index).squeeze(1) - others.amax(1)).to(at::kFloat);
}

class HingeScores final : public Accumulator, public SummedScores {
 public:
  void add(const Tensor& margin) {
    const Tensor now = at::stack(
        {at::full({}, static_cast<double>(margin.numel()), margin.options().dtype(at::kDouble)),
         margin.gt(0).sum().to(at::kDouble), margin.sum(at::kDouble), (1 - margin).clamp_min(0).sum(at::kDouble)});
    sums_ = sums_.defined() ? sums_ + now : now;
  }
  std::vector<Score> scores() const override {
    if (!sums_.defined()) return {};
    const Tensor all = totals();
    const double* sums = all.const_data_ptr<double>();
    return {{"top1", 100 * sums[1] / sums[0]}, {"margin", sums[2] / sums[0]}, {"loss", sums[3] / sums[0]}};
  }
  // Samples, right ones, margins, losses.
  Tensor totals() const override { return sums_.defined() ? sums_.cpu() : at::zeros({4}, at::kDouble); }
  void load_totals(const Tensor& totals) override { sums_ = totals; }

 private:
  Tensor sums_;
};

class Hinge final : public Task, public DividesBatches {
 public:
  explicit Hinge(const TaskContext& context) : channels_(context.dataset_facts.at("channels")) {
    const InputFacts input{channels_, context.dataset_facts.at("extent")};
    backbone_ = register_module("backbone", make_backbone(context.configuration, input, context.random, context.path));
    head_ = register_module("head", std::make_shared<Linear>(backbone_->pooled_width(),
                                                             context.dataset_facts.at("classes").get<std::int64_t>()));
    Initializer(context.random, "head.").truncated_normal(head_->weight, "weight", 0.02);
    const at::NoGradGuard no_gradient;
    head_->bias.zero_();
  }

  Batch example_batch(std::int64_t size, const Extent& extent, const RandomStreams& random) const override {
    return {{kImage, random.normal("example", "image", 0, {size, channels_, extent[0], extent[1]})},
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
    const Tensor logits = head_->forward(backbone_->pooled(features));
    const Tensor loss = (1 - margins(logits, batch.at(kLabel))).clamp_min(0).mean();
    StepLosses out;
    out.add(loss, {{"loss", loss}});
    for (const AuxLoss& auxiliary : backbone_->auxiliary_losses(features, context))
      out.add(auxiliary.value, auxiliary.fields);
    return out;
  }

  std::unique_ptr<Accumulator> accumulator() const override { return std::make_unique<HingeScores>(); }
  void evaluate(const Batch& batch, const ForwardContext& context, Accumulator& accumulator) override {
    dynamic_cast<HingeScores&>(accumulator).add(margins(predict(batch, context), batch.at(kLabel)));
  }

  Decay decay(std::string_view name, const Tensor& parameter) const override {
    return name.starts_with(kHingeBackbone) ? backbone_->decay(name.substr(kHingeBackbone.size()), parameter)
                                            : default_decay(name, parameter);
  }
  bool training_only(std::string_view name) const override {
    return name.starts_with(kHingeBackbone) && backbone_->training_only(name.substr(kHingeBackbone.size()));
  }
  std::string path() const override { return backbone_->path(); }

 private:
  std::int64_t channels_;
  std::shared_ptr<Backbone> backbone_;
  std::shared_ptr<Linear> head_;
};

TaskItem hinge() {
  Item item("task", "hinge", 1, "Classification: the right class shall stand above every other by 1");
  item.facts({{"metrics",
               {{{"name", "top1"}, {"unit", "%"}, {"direction", "max"}, {"help", "right ones"}},
                {{"name", "margin"}, {"unit", ""}, {"direction", "max"}, {"help", "by which the right class leads"}},
                {{"name", "loss"}, {"unit", ""}, {"direction", "min"}, {"help", "hinge loss"}}}},
              {"default_metric", "top1"}});
  return {std::move(item), [](const TaskContext& context, const Options&) -> std::shared_ptr<Task> {
            return std::make_shared<Hinge>(context);
          }};
}

}  // namespace

LOCUS_PLUGIN("own-parts")
LOCUS_TASK(hinge)
