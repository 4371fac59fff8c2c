// Tasks of maps begin with the weights of classifiers, and with those of each other.
#include <gmock/gmock.h>

#include <set>

#include "engine/base/failure.h"
#include "engine/layers/position_table.h"
#include "engine/weights/load.h"
#include "tests/engine/support/maps.h"
#include "tests/engine/support/reference.h"
#include "tests/engine/weights/published.h"

namespace locus::engine {
namespace {

using namespace test;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;

constexpr const char* kPositionTable = "priors.learned-absolute.table";
const LoadOptions kKeepsHead = {.layout = "auto", .prefix = "", .keep_head = true, .fit = {}};

// As many blocks as decoders read.
Tiny four_blocks() { return {.model = {{"depth", 4}}}; }

LoadInput images_of(const Tiny& tiny) { return {tiny.channels, {tiny.side, tiny.side}}; }

// The network of `tiny` below a decoder, every number random, running statistics too.
std::shared_ptr<Task> map_task(const Tiny& tiny, const std::string& id, const std::string& decoder,
                               std::uint64_t seed) {
  Json configuration = tiny_configuration(tiny);
  configuration["task"] = {{"id", id}};
  configuration["decoder"] = small_decoder(decoder_item(decoder));
  const Json facts = {{"channels", tiny.channels}, {"extent", {tiny.side, tiny.side}}, {"classes", tiny.classes}};
  const RandomStreams random(seed);
  auto task = make_task({configuration, facts, random});
  const at::NoGradGuard no_gradient;
  for (const Module::Tensors& part : {task->named_parameters(), task->named_buffers()}) {
    for (const auto& entry : part)
      entry.value().copy_(random.uniform("test", entry.key(), 0, entry.value().sizes(), 0.2, 0.8));
  }
  return task;
}

// What an exported model holds, by its own names.
Tensors exported(const Task& task) {
  Tensors out;
  for (const Module::Tensors& part : {task.named_parameters(), task.named_buffers()}) {
    for (const auto& entry : part) {
      if (!task.training_only(entry.key())) out[entry.key()] = entry.value().detach().clone();
    }
  }
  return out;
}

std::string why_not(Task& task, const Tiny& tiny, const Tensors& file, const LoadOptions& options) {
  try {
    load_weights(task, images_of(tiny), file, options);
  } catch (const DataError& error) {
    return error.what();
  }
  return "not refused";
}

TEST(WeightsOfMaps, AreAClassifiersUnderANewDecoderInEveryTask) {
  const Tiny tiny = four_blocks();
  const auto classifier = tiny_task(tiny, 1);
  const Tensors file = below(as_timm(*classifier, tiny.patch), "model."), of_classifier = parameters_of(*classifier);
  for (const std::string& id : tasks_of_maps()) {
    for (const DecoderItem& decoder : decoder_items()) {
      SCOPED_TRACE(id + " " + decoder.id());
      const auto task = map_task(tiny, id, decoder.id(), 2);
      const Tensors before = tensors_of(*task);
      const LoadReport report = load_weights(*task, images_of(tiny), file, {});
      std::set<std::string> as_before;
      for (const auto& [name, tensor] : tensors_of(*task)) {
        const bool of_decoder = name.starts_with("decoder.");
        EXPECT_TRUE(at::equal(tensor, of_decoder ? before.at(name) : of_classifier.at(name))) << name;
        if (of_decoder) as_before.insert(name);
      }
      EXPECT_FALSE(as_before.empty());
      EXPECT_EQ(std::set<std::string>(report.initial.begin(), report.initial.end()), as_before);
      EXPECT_THAT(report.lines(), Contains(HasSubstr("init.head is new: model.head.bias, model.head.weight")));
    }
  }
}

// DeiT's 14 x 14 rows become those of 512 x 512 pixels: here 3 x 3 and 6 x 6.
TEST(WeightsOfMaps, HaveTheirPositionsResizedWhereTold) {
  const Tiny small = four_blocks();
  Tiny large = four_blocks();
  large.side = 2 * small.side;
  const auto classifier = tiny_task(small, 1);
  const Tensors file = below(as_timm(*classifier, small.patch), "model.");
  const auto task = map_task(large, "segmentation", "linear", 2);
  EXPECT_THAT(why_not(*task, large, file, {}),
              AllOf(HasSubstr("of 3 x 3 patches, the model has 6 x 6"), HasSubstr("{position: resize}")));
  const LoadOptions resizing = {.layout = "auto", .prefix = "", .keep_head = false, .fit = {.position = "resize"}};
  const LoadReport report = load_weights(*task, images_of(large), file, resizing);
  EXPECT_THAT(report.lines(), Contains("position table resized from 3 x 3 to 6 x 6 as in deit"));
  const Tensor own = parameters_of(*classifier).at(kPositionTable), found = parameters_of(*task).at(kPositionTable);
  EXPECT_TRUE(at::equal(found[0], own[0])) << "the class token's row";
  EXPECT_LT(largest_difference(found.slice(0, 1), resized_positions(own.slice(0, 1), {3, 3}, {6, 6}, "deit")), 1e-6);
}

TEST(WeightsOfMaps, AreRefusedWhereTheDecoderIsToBeTheFiles) {
  const Tiny tiny = four_blocks();
  const Tensors file = as_timm(*tiny_task(tiny, 1), tiny.patch);
  for (const std::string& id : tasks_of_maps()) {
    const auto task = map_task(tiny, id, "linear", 2);
    const Tensors before = tensors_of(*task);
    EXPECT_THAT(why_not(*task, tiny, file, kKeepsHead),
                AllOf(HasSubstr("it lacks decoder.map.bias, decoder.map.weight"),
                      HasSubstr("the model lacks head.bias, head.weight"), HasSubstr("init: {weights: {head: new}}")));
    for (const auto& [name, tensor] : tensors_of(*task)) EXPECT_TRUE(at::equal(tensor, before.at(name))) << name;
  }
}

TEST(WeightsOfMaps, OfOurOwnTakeTheirDecoderAlongWhereItIsKept) {
  const Tiny tiny = four_blocks();
  for (const DecoderItem& decoder : decoder_items()) {
    SCOPED_TRACE(decoder.id());
    const auto original = map_task(tiny, "segmentation", decoder.id(), 1),
               again = map_task(tiny, "segmentation", decoder.id(), 2);
    const LoadReport report = load_weights(*again, images_of(tiny), exported(*original), kKeepsHead);
    EXPECT_EQ(report.weights.layout->id(), "locus");
    for (const std::string& name : report.initial) EXPECT_TRUE(again->training_only(name)) << name;
    EXPECT_TRUE(at::equal(logits_of(*again, tiny), logits_of(*original, tiny)));
  }
}

TEST(WeightsOfMaps, OfOtherClassesAreRefusedUnlessTheDecoderIsNew) {
  const Tiny tiny = four_blocks();
  Tiny more = four_blocks();
  more.classes = 7;
  const auto original = map_task(tiny, "segmentation", "upernet", 1),
             task = map_task(more, "segmentation", "upernet", 2);
  EXPECT_THAT(why_not(*task, more, exported(*original), kKeepsHead),
              AllOf(HasSubstr("decoder.decode_head.conv_seg.bias [5] where the model has [7]"),
                    HasSubstr("init: {weights: {head: new}}")));
  EXPECT_EQ(why_not(*task, more, exported(*original), {}), "not refused");
}

TEST(WeightsOfMaps, BecomeThoseOfAClassifierWithoutTheirDecoder) {
  const Tiny tiny = four_blocks();
  const auto original = map_task(tiny, "segmentation", "upernet", 1), classifier = tiny_task(tiny, 2);
  const LoadReport report = load_weights(*classifier, images_of(tiny), exported(*original), {});
  EXPECT_THAT(report.initial, ::testing::ElementsAre("head.bias", "head.weight"));
  EXPECT_THAT(report.lines(), Contains(HasSubstr("init.head is new: decoder.")));
  const Tensors expected = parameters_of(*original);
  for (const auto& [name, tensor] : parameters_of(*classifier)) {
    if (name.starts_with("head.")) continue;
    EXPECT_TRUE(at::equal(tensor, expected.at(name))) << name;
  }
}

}  // namespace
}  // namespace locus::engine
