// The part of Python's pickle format that plain tensors need, read without running any of it.
#pragma once

#include <deque>

#include "engine/base/torch.h"

namespace locus::engine {

// A value of a pickle. Values refer to one another as the file says, in circles even: they live in their Pickle.
struct PickleValue {
  enum class Kind { kNone, kBoolean, kInteger, kNumber, kText, kTuple, kList, kDictionary, kGlobal, kStorage, kTensor };
  Kind kind = Kind::kNone;
  std::int64_t integer = 0;  // of kInteger and kBoolean; of kStorage: its elements; of kTensor: its offset
  std::string text = {};     // of kText; of kGlobal: "torch.FloatStorage"; of kStorage: the name of its entry
  std::vector<PickleValue*> items = {};  // of tuples and lists; of dictionaries key, value, key, value, ...
  at::ScalarType type = at::kFloat;      // of kStorage
  const PickleValue* storage = nullptr;  // of kTensor
  std::vector<std::int64_t> sizes = {}, strides = {};  // of kTensor, in elements
};

struct Pickle {
  std::deque<PickleValue> values;
  const PickleValue* root = nullptr;  // one of them
};

// Reads a pickle of protocol 2 to 5 of None, booleans, numbers, strings, tuples, lists, dictionaries and torch's tensors,
// whose storages are named only. What would be a call is one of three that are known here: collections.OrderedDict,
// torch._utils._rebuild_tensor_v2 and torch._utils._rebuild_parameter; nothing is imported or called. Memory is bounded by
// the bytes given, which are at most 16 MB. Throws DataError, without a file's name, on any other instruction, on a global
// that is not known (by its name), and on tensors that reach beyond their storage.
Pickle read_pickle(std::string_view bytes);

}  // namespace locus::engine
