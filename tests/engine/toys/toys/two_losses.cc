// A task of two models and two losses, with a sampler and batches of its own: a student learns the labels and to see what its teacher sees; the teacher is
// an average of the student that no gradient reaches. Only the student is scored and exported.
//
//   L = CE(head(s), y) + 0.5 mean b (normalize(s) - normalize(t))^2      t <- 0.9 t + 0.1 s, after every step
//
// where b is the brightness of the image.
#include "engine/tasks/task.h"

namespace locus::engine::toys {
namespace {

constexpr double kFollow = 0.9, kConsistency = 0.5;
constexpr std::string_view kStudent = "student.";

class Right : public Accumulator {
 public:
  std::vector<Score> scores() const override {
    if (count == 0) return {};
    return {{"top1", 100 * static_cast<double>(right.item<std::int64_t>()) / static_cast<double>(count)}};
  }
  Tensor right = at::zeros({}, at::kLong);
  std::int64_t count = 0;
};

// Every sample of the usual order twice in a row: half of the set an epoch.
class Twice final : public Sampler {
 public:
  explicit Twice(TrainingOrder order) : order_(std::move(order)) {}
  std::int64_t samples() const override { return order_.samples() / 2 * 2; }
  Tensor rows(std::int64_t epoch) const override {
    return order_.rows(epoch).slice(0, 0, order_.samples() / 2).repeat_interleave(2);
  }

 private:
  TrainingOrder order_;
};

class TwoLosses final : public Task {
 public:
  explicit TwoLosses(const TaskContext& context) : channels_(context.dataset_facts.at("channels")) {
    const InputFacts input{channels_, context.dataset_facts.at("extent")};
    student_ = register_module("student", make_backbone(context.configuration, input, context.random, context.path));
    teacher_ = register_module("teacher", make_backbone(context.configuration, input, context.random, context.path));
    for (const Tensor& weight : teacher_->parameters()) weight.requires_grad_(false);
    head_ = register_module("head", std::make_shared<Linear>(student_->pooled_width(),
                                                             context.dataset_facts.at("classes").get<std::int64_t>()));
    Initializer(context.random, "head.").truncated_normal(head_->weight, "weight", 0.02);
    const at::NoGradGuard no_gradient;
    head_->bias.zero_();
  }

  Batch example_batch(std::int64_t size, const Extent& extent, const RandomStreams& random) const override {
    return {{"image", random.normal("example", "image", 0, {size, channels_, extent[0], extent[1]})},
            {"label", at::arange(size).remainder(head_->weight.size(0))},
            {"brightness", at::full({size}, 0.5)}};
  }

  std::shared_ptr<const Sampler> sampler(std::string_view dataset, std::int64_t size, std::int64_t limit,
                                         const RandomStreams& random) const override {
    return std::make_shared<Twice>(TrainingOrder(dataset, size, limit, random));
  }
  // Says of each sample how bright it is, which nobody but a task could know to ask for.
  Collate collate() const override {
    return [](std::span<const Sample> samples) {
      Batch out = stack_samples(samples);
      out.emplace("brightness", out.at(kImage).to(at::kFloat).mean({1, 2, 3}) / 255);
      return out;
    };
  }

  Tensor predict(const Batch& batch, const ForwardContext& context) override {
    return head_->forward(student_->pooled(student_->forward(batch.at("image"), context)));
  }
  std::int64_t flops(std::int64_t height, std::int64_t width) const override {
    return student_->flops(height, width) + 2 * head_->weight.numel();
  }

  StepLosses train_step(const Batch& batch, const ForwardContext& context) override {
    const Features features = student_->forward(batch.at("image"), context);
    const Tensor seen = student_->pooled(features);
    const Tensor label_loss = at::cross_entropy_loss(head_->forward(seen), batch.at("label"));
    Tensor taught;
    {
      const at::NoGradGuard no_gradient;
      taught = unit(teacher_->pooled(teacher_->forward(batch.at("image"), context)));
    }
    const Tensor apart = (unit(seen) - taught).square().mean(1);
    const Tensor consistency = kConsistency * (apart * batch.at("brightness")).mean();
    StepLosses out;
    out.add(label_loss, {{"loss", label_loss}});
    out.add(consistency, {{"consistency", consistency}});
    for (const AuxLoss& auxiliary : student_->auxiliary_losses(features, context))
      out.add(auxiliary.value, auxiliary.fields);
    return out;
  }

  void after_step(const ForwardContext&) override {
    const auto from = student_->parameters(), to = teacher_->parameters();
    for (std::size_t i = 0; i < to.size(); ++i) to[i].mul_(kFollow).add_(from[i], 1 - kFollow);
  }

  std::unique_ptr<Accumulator> accumulator() const override { return std::make_unique<Right>(); }
  void evaluate(const Batch& batch, const ForwardContext& context, Accumulator& accumulator) override {
    auto& sums = dynamic_cast<Right&>(accumulator);
    sums.right = sums.right + predict(batch, context).argmax(1).eq(batch.at("label")).sum();
    sums.count += batch.at("label").size(0);
  }

  Decay decay(std::string_view name, const Tensor& parameter) const override {
    return name.starts_with(kStudent) ? student_->decay(name.substr(kStudent.size()), parameter)
                                      : default_decay(name, parameter);
  }
  bool training_only(std::string_view name) const override {
    return name.starts_with("teacher.") ||
           (name.starts_with(kStudent) && student_->training_only(name.substr(kStudent.size())));
  }
  std::string path() const override { return student_->path(); }

 private:
  static Tensor unit(const Tensor& x) { return x / x.norm(2, -1, /*keepdim=*/true); }

  std::int64_t channels_;
  std::shared_ptr<Backbone> student_, teacher_;
  std::shared_ptr<Linear> head_;
};

}  // namespace

TaskItem two_losses() {
  Item item("task", "two-losses", 1, "Labels, and agreement with a teacher that follows");
  item.facts({{"metrics", {{{"name", "top1"}, {"unit", "%"}, {"direction", "max"}, {"help", "right ones"}}}},
              {"default_metric", "top1"}});
  return {std::move(item), [](const TaskContext& context, const Options&) -> std::shared_ptr<Task> {
            return std::make_shared<TwoLosses>(context);
          }};
}

}  // namespace locus::engine::toys
