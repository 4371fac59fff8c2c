// A stack machine (Python's pickletools names its instructions) over values that live in one place until the end, so
// that neither circles nor deep nesting can hurt.
#include "engine/files/pickle.h"

#include <array>
#include <cstring>
#include <limits>
#include <map>

#include "engine/base/failure.h"

namespace locus::engine {
namespace {

using Kind = PickleValue::Kind;

constexpr std::size_t kMostBytes = 16u << 20, kMostValues = 1'000'000, kMostDimensions = 16;
constexpr std::string_view kOrderedDict = "collections.OrderedDict", kTensor = "torch._utils._rebuild_tensor_v2",
                           kParameter = "torch._utils._rebuild_parameter";

struct StorageType {
  std::string_view name;
  at::ScalarType type;
};
constexpr std::array<StorageType, 10> kStorageTypes{{{"torch.DoubleStorage", at::kDouble},
                                                     {"torch.FloatStorage", at::kFloat},
                                                     {"torch.HalfStorage", at::kHalf},
                                                     {"torch.BFloat16Storage", at::kBFloat16},
                                                     {"torch.LongStorage", at::kLong},
                                                     {"torch.IntStorage", at::kInt},
                                                     {"torch.ShortStorage", at::kShort},
                                                     {"torch.CharStorage", at::kChar},
                                                     {"torch.ByteStorage", at::kByte},
                                                     {"torch.BoolStorage", at::kBool}}};

const StorageType* storage_type(std::string_view name) {
  for (const StorageType& known : kStorageTypes) {
    if (known.name == name) return &known;
  }
  return nullptr;
}

bool known_global(std::string_view name) {
  return name == kOrderedDict || name == kTensor || name == kParameter || storage_type(name) != nullptr;
}

// A name as it is shown: it comes from the file, and may be anything.
std::string shown(std::string_view name) {
  std::string out(name.substr(0, 100));
  for (char& c : out) {
    if (static_cast<unsigned char>(c) < ' ' || static_cast<unsigned char>(c) > '~') c = '?';
  }
  return "'" + out + "'";
}

class Machine {
 public:
  explicit Machine(std::string_view bytes) : bytes_(bytes) {}

  Pickle run() {
    if (bytes_.size() > kMostBytes) throw DataError("its pickle is longer than 16 MB: that is no list of tensors");
    for (;;) {
      const auto op = static_cast<unsigned char>(take(1)[0]);
      if (op == '.') break;
      if (!constant(op) && !text(op) && !container(op) && !memory(op) && !call(op))
        throw DataError("its pickle has the instruction " + std::to_string(op) + ", which plain tensors do not need");
    }
    out_.root = pop();
    return std::move(out_);
  }

 private:
  [[noreturn]] static void damaged(const std::string& what) { throw DataError("its pickle is damaged: " + what); }

  std::string_view take(std::size_t count) {
    if (count > bytes_.size() - at_) damaged("it ends within an instruction");
    at_ += count;
    return bytes_.substr(at_ - count, count);
  }
  std::uint64_t natural(std::size_t count) {  // little endian
    std::uint64_t out = 0;
    const std::string_view raw = take(count);
    for (std::size_t i = 0; i < count; ++i)
      out |= static_cast<std::uint64_t>(static_cast<unsigned char>(raw[i])) << (8 * i);
    return out;
  }
  std::string_view counted(std::size_t count) {  // as many bytes as a number of `count` bytes says
    const std::uint64_t length = natural(count);
    if (length > bytes_.size()) damaged("a string is longer than the pickle");
    return take(length);
  }
  std::string_view line() {
    const std::size_t end = bytes_.find('\n', at_);
    if (end == std::string_view::npos) damaged("a line does not end");
    const std::string_view out = take(end - at_);
    take(1);
    return out;
  }

  PickleValue* make(Kind kind) {
    if (out_.values.size() == kMostValues) throw DataError("its pickle holds more than a million values");
    return &out_.values.emplace_back(PickleValue{.kind = kind});
  }
  PickleValue* push(PickleValue* value) {
    stack_.push_back(value);
    return value;
  }
  PickleValue* push(Kind kind, std::int64_t integer = 0) {
    PickleValue* value = push(make(kind));
    value->integer = integer;
    return value;
  }
  PickleValue* top() {
    if (stack_.size() <= (marks_.empty() ? 0 : marks_.back())) damaged("it takes what is not there");
    return stack_.back();
  }
  PickleValue* pop() {
    PickleValue* value = top();
    stack_.pop_back();
    return value;
  }
  PickleValue* pop(Kind kind, const char* what) {
    PickleValue* value = pop();
    if (value->kind != kind) damaged(std::string("there is no ") + what + " where one is needed");
    return value;
  }
  std::vector<PickleValue*> pop_to_mark() {
    if (marks_.empty()) damaged("it takes what is not there");
    std::vector<PickleValue*> out(stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back()), stack_.end());
    stack_.resize(marks_.back());
    marks_.pop_back();
    return out;
  }

  bool constant(unsigned char op) {
    switch (op) {
      case 0x80:  // PROTO
        if (const std::uint64_t protocol = natural(1); protocol < 2 || protocol > 5)
          throw DataError("its pickle has protocol " + std::to_string(protocol) + "; 2 to 5 are read");
        return true;
      case 0x95:
        return take(8), true;  // FRAME
      case 'N':
        return push(Kind::kNone), true;
      case 0x88:
        return push(Kind::kBoolean, 1), true;
      case 0x89:
        return push(Kind::kBoolean, 0), true;
      case 'K':
        return push(Kind::kInteger, static_cast<std::int64_t>(natural(1))), true;
      case 'M':
        return push(Kind::kInteger, static_cast<std::int64_t>(natural(2))), true;
      case 'J':
        return push(Kind::kInteger, static_cast<std::int32_t>(natural(4))), true;
      case 0x8a:
        return push(Kind::kInteger, wide(counted(1))), true;  // LONG1
      case 'G':
        return take(8), push(Kind::kNumber), true;  // BINFLOAT, of no use here
      default:
        return false;
    }
  }
  static std::int64_t wide(std::string_view raw) {
    if (raw.size() > 8) damaged("an integer has more than 64 bits");
    std::uint64_t out = !raw.empty() && (raw.back() & 0x80) ? ~std::uint64_t{0} : 0;
    for (std::size_t i = 0; i < raw.size(); ++i) {
      out &= ~(std::uint64_t{0xff} << (8 * i));
      out |= static_cast<std::uint64_t>(static_cast<unsigned char>(raw[i])) << (8 * i);
    }
    return static_cast<std::int64_t>(out);
  }

  // Python 2 wrote its strings as bytes.
  bool text(unsigned char op) {
    const std::size_t width = op == 0x8c || op == 'U' || op == 'C'  ? 1
                              : op == 'X' || op == 'T' || op == 'B' ? 4
                              : op == 0x8d                          ? 8
                                                                    : 0;
    if (width == 0) return false;
    const std::string_view value = counted(width);
    push(Kind::kText)->text = value;
    return true;
  }

  bool container(unsigned char op) {
    switch (op) {
      case '(':
        return marks_.push_back(stack_.size()), true;
      case '0':
        return pop(), true;
      case '1':
        return pop_to_mark(), true;
      case '}':
        return push(Kind::kDictionary), true;
      case ']':
        return push(Kind::kList), true;
      case ')':
        return push(Kind::kTuple), true;
      case 'd':
        return collect(Kind::kDictionary, pop_to_mark());
      case 'l':
        return collect(Kind::kList, pop_to_mark());
      case 't':
        return collect(Kind::kTuple, pop_to_mark());
      case 0x85:
        return collect(Kind::kTuple, last(1));
      case 0x86:
        return collect(Kind::kTuple, last(2));
      case 0x87:
        return collect(Kind::kTuple, last(3));
      case 'a':
        return extend(Kind::kList, last(1));
      case 'e':
        return extend(Kind::kList, pop_to_mark());
      case 's':
        return extend(Kind::kDictionary, last(2));
      case 'u':
        return extend(Kind::kDictionary, pop_to_mark());
      default:
        return false;
    }
  }
  std::vector<PickleValue*> last(std::size_t count) {
    std::vector<PickleValue*> out(count);
    for (std::size_t i = count; i-- > 0;) out[i] = pop();
    return out;
  }
  bool collect(Kind kind, std::vector<PickleValue*> items) {
    push(kind);
    return extend(kind, items);
  }
  bool extend(Kind kind, const std::vector<PickleValue*>& items) {
    PickleValue* value = top();
    if (value->kind != kind) damaged("it fills something else than a list or dictionary");
    if (kind == Kind::kDictionary && items.size() % 2 != 0) damaged("a dictionary has a key without a value");
    value->items.insert(value->items.end(), items.begin(), items.end());
    return true;
  }

  bool memory(unsigned char op) {
    switch (op) {
      case 'q':
        return remember(natural(1));
      case 'r':
        return remember(natural(4));
      case 0x94:
        return remember(memo_.size());
      case 'h':
        return recall(natural(1));
      case 'j':
        return recall(natural(4));
      default:
        return false;
    }
  }
  bool remember(std::uint64_t place) {
    memo_[place] = top();
    return true;
  }
  bool recall(std::uint64_t place) {
    const auto found = memo_.find(place);
    if (found == memo_.end()) damaged("it recalls what it never kept");
    push(found->second);
    return true;
  }

  bool call(unsigned char op) {
    switch (op) {
      case 'c': {
        const std::string module(line()), name(line());
        return global(module + "." + name);
      }
      case 0x93: {
        const std::string name = pop(Kind::kText, "name")->text;
        return global(pop(Kind::kText, "module")->text + "." + name);
      }
      case 'Q':
        return storage(*pop(Kind::kTuple, "storage"));
      case 'R': {
        const PickleValue& arguments = *pop(Kind::kTuple, "arguments");
        return reduce(*pop(Kind::kGlobal, "function"), arguments);
      }
      case 'b':  // state of an ordered dictionary: its `_metadata`, versions of modules
        pop();
        if (top()->kind != Kind::kDictionary) damaged("it sets the state of something that has none");
        return true;
      default:
        return false;
    }
  }
  bool global(const std::string& name) {
    if (!known_global(name)) throw DataError("it asks Python for " + shown(name) + ", and is no plain list of tensors");
    push(Kind::kGlobal)->text = name;
    return true;
  }

  static const PickleValue& argument(const PickleValue& tuple, std::size_t i, Kind kind, const char* what) {
    if (i >= tuple.items.size() || tuple.items[i]->kind != kind) damaged(std::string(what) + " is not what it must be");
    return *tuple.items[i];
  }

  // ("storage", type, name of the entry, device, elements)
  bool storage(const PickleValue& id) {
    const StorageType* type = storage_type(argument(id, 1, Kind::kGlobal, "a storage's type").text);
    if (type == nullptr || argument(id, 0, Kind::kText, "a storage").text != "storage")
      damaged("a storage's type is not what it must be");
    const std::string& name = argument(id, 2, Kind::kText, "a storage's name").text;
    const std::int64_t elements = argument(id, 4, Kind::kInteger, "a storage's length").integer;
    if (elements < 0 || name.empty() || name.find_first_not_of("0123456789") != std::string::npos)
      damaged("a storage is named " + shown(name) + " and has " + std::to_string(elements) + " elements");
    PickleValue* value = push(Kind::kStorage, elements);
    value->text = name;
    value->type = type->type;
    return true;
  }

  bool reduce(const PickleValue& function, const PickleValue& arguments) {
    if (function.text == kTensor) return tensor(arguments);
    if (function.text == kParameter) return push(parameter(arguments)), true;
    if (function.text != kOrderedDict) damaged("it calls " + shown(function.text));
    PickleValue* dictionary = push(Kind::kDictionary);
    if (arguments.items.empty()) return true;
    for (const PickleValue* pair : argument(arguments, 0, Kind::kList, "a dictionary").items) {
      if (pair->items.size() != 2) damaged("a dictionary has a key without a value");
      dictionary->items.insert(dictionary->items.end(), pair->items.begin(), pair->items.end());
    }
    return true;
  }
  static PickleValue* parameter(const PickleValue& arguments) {
    argument(arguments, 0, Kind::kTensor, "a parameter");
    return arguments.items[0];
  }

  // (storage, offset, sizes, strides, ...): the rest speaks of gradients.
  bool tensor(const PickleValue& arguments) {
    PickleValue* value = push(Kind::kTensor, argument(arguments, 1, Kind::kInteger, "a tensor's offset").integer);
    value->storage = &argument(arguments, 0, Kind::kStorage, "a tensor's storage");
    value->sizes = naturals(argument(arguments, 2, Kind::kTuple, "a tensor's shape"));
    value->strides = naturals(argument(arguments, 3, Kind::kTuple, "a tensor's strides"));
    if (value->sizes.size() != value->strides.size() || value->integer < 0)
      damaged("a tensor has other strides than extents");
    std::int64_t reach = value->integer, count = 1;
    for (std::size_t i = 0; i < value->sizes.size(); ++i) {
      std::int64_t step = 0;
      if (__builtin_mul_overflow(count, value->sizes[i], &count) ||
          __builtin_mul_overflow(std::max<std::int64_t>(value->sizes[i] - 1, 0), value->strides[i], &step) ||
          __builtin_add_overflow(reach, step, &reach))
        damaged("a tensor has extents too large");
    }
    const std::int64_t elements = value->storage->integer;
    if (count > elements || value->integer > elements || (count > 0 && reach >= elements))
      damaged("a tensor of " + std::to_string(count) + " elements reaches beyond its storage of " +
              std::to_string(elements));
    return true;
  }
  static std::vector<std::int64_t> naturals(const PickleValue& tuple) {
    if (tuple.items.size() > kMostDimensions) damaged("a tensor has more than 16 dimensions");
    std::vector<std::int64_t> out;
    for (const PickleValue* item : tuple.items) {
      if (item->kind != Kind::kInteger || item->integer < 0) damaged("an extent is no natural number");
      out.push_back(item->integer);
    }
    return out;
  }

  std::string_view bytes_;
  std::size_t at_ = 0;
  Pickle out_;
  std::vector<PickleValue*> stack_;
  std::vector<std::size_t> marks_;
  std::map<std::uint64_t, PickleValue*> memo_;
};

}  // namespace

Pickle read_pickle(std::string_view bytes) { return Machine(bytes).run(); }

}  // namespace locus::engine
