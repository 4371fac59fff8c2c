// What may come with the image of a component: mask, depth and objects, which change with it.
#pragma once

#include "engine/data/joint.h"
#include "engine/probe/component.h"

namespace locus::engine::components {

inline constexpr const char* kBesideImage[] = {kMask, kDepth, kBoxes, kBoxClasses, kInstances};

// Those of the tensors that belong to an image.
inline NamedTensors beside_image(const NamedTensors& tensors) {
  NamedTensors out;
  for (const char* name : kBesideImage) {
    if (const auto found = tensors.find(name); found != tensors.end()) out.emplace(*found);
  }
  return out;
}

// As inputs and outputs, all optional.
inline void add_beside_image(Component& component) {
  const ComponentTensor all[] = {{kMask, "uint8 [H, W]: the class of each pixel, 255 where none counts", true},
                                 {kDepth, "float32 [H, W]: meters, 0 where unknown", true},
                                 {kBoxes, "float64 [n, 4]: corners x1, y1, x2, y2 in pixels", true},
                                 {kBoxClasses, "int64 [n]: of the boxes", true},
                                 {kInstances, "uint8 [n, H, W]: 1 at the pixels of each box's object", true}};
  for (const ComponentTensor& one : all) {
    component.inputs.push_back(one);
    component.outputs.push_back(one);
  }
}

}  // namespace locus::engine::components
