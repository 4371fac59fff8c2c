// Builds JSON from yaml-cpp's events: nodes would hide duplicate keys and whether a scalar was quoted.
#include "cli/yaml.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <memory>
#include <optional>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <vector>

#include "core/base/error.h"
#include "core/base/utf8.h"

namespace locus {
namespace {

constexpr int kMostNodes = 500'000;  // aliases count by what they stand for
constexpr int kMostDepth = 100;
constexpr char kTagPrefix[] = "tag:yaml.org,2002:";

struct Refused : std::runtime_error {
  Refused(const std::string& message, int at) : std::runtime_error(message), line(at) {}
  int line;
};

// ---- scalars by the core schema of YAML 1.2 ----

std::optional<Json> as_integer(const std::string& text) {
  static const std::regex kDecimal("[-+]?[0-9]+"), kOctal("0o[0-7]+"), kHex("0x[0-9a-fA-F]+");
  const bool octal = std::regex_match(text, kOctal), hex = std::regex_match(text, kHex);
  if (!octal && !hex && !std::regex_match(text, kDecimal)) return std::nullopt;
  errno = 0;
  const long long value =
      octal || hex ? std::strtoll(text.c_str() + 2, nullptr, hex ? 16 : 8) : std::strtoll(text.c_str(), nullptr, 10);
  if (errno == ERANGE) return Json(std::strtod(text.c_str(), nullptr));
  return Json(static_cast<std::int64_t>(value));
}

std::optional<Json> as_number(const std::string& text) {
  static const std::regex kFloat("[-+]?(\\.[0-9]+|[0-9]+(\\.[0-9]*)?)([eE][-+]?[0-9]+)?");
  static const std::regex kInfinity("[-+]?(\\.inf|\\.Inf|\\.INF)"), kNan("\\.nan|\\.NaN|\\.NAN");
  if (std::regex_match(text, kNan)) return number_to_json(std::numeric_limits<double>::quiet_NaN());
  if (std::regex_match(text, kInfinity)) {
    const double infinity = std::numeric_limits<double>::infinity();
    return number_to_json(text[0] == '-' ? -infinity : infinity);
  }
  if (auto integer = as_integer(text)) return integer;
  if (!std::regex_match(text, kFloat)) return std::nullopt;
  return number_to_json(std::strtod(text.c_str(), nullptr));  // too large: an infinity, refused by name later
}

Json plain_scalar(const std::string& text) {
  if (text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL") return nullptr;
  if (text == "true" || text == "True" || text == "TRUE") return true;
  if (text == "false" || text == "False" || text == "FALSE") return false;
  constexpr std::size_t kLongestNumber = 400;  // std::regex recurses once a character
  if (text.size() <= kLongestNumber) {
    if (auto number = as_number(text)) return *number;
  }
  return text;
}

Json tagged_scalar(const std::string& tag, const std::string& text, int line) {
  if (tag == "!" || tag == std::string(kTagPrefix) + "str") return text;
  if (tag == "?" || tag.empty()) return plain_scalar(text);
  const std::string name = tag.starts_with(kTagPrefix) ? "!!" + tag.substr(sizeof kTagPrefix - 1) : tag;
  const Json value = plain_scalar(text);
  if (name == "!!int" && value.is_number_integer()) return value;
  if (name == "!!float" && as_number(text)) return value;
  if (name == "!!bool" && value.is_boolean()) return value;
  if (name == "!!null" && value.is_null()) return value;
  throw Refused("the tag " + name + " does not fit '" + text + "'; a specification needs no tags, take it out", line);
}

// ---- the tree ----

struct Node {
  enum { kScalar, kList, kMap } kind = kScalar;
  Json scalar;
  std::string text;  // of a scalar, as a key
  int line = 0;
  int size = 1;                                 // nodes under and including this one, aliases spelled out
  std::vector<std::shared_ptr<Node>> children;  // of a list
  std::vector<std::pair<std::string, std::shared_ptr<Node>>> members;  // of a map; the value's line is the key's
};

class Builder : public YAML::EventHandler {
 public:
  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++documents_ > 1)
      throw Refused("a second document begins here; a specification is one document", line_of(mark));
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    add_scalar(line_of(mark), anchor, nullptr, "");
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    add_scalar(line_of(mark), anchor, tagged_scalar(tag, value, line_of(mark)), value);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchors_.find(anchor);
    const int line = mark.is_null() ? line_ : line_of(mark);
    if (found == anchors_.end()) throw Refused("an alias stands inside the value it names", line);
    attach(found->second, line);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(Node::kList, mark, tag, anchor);
  }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(Node::kMap, mark, tag, anchor);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapEnd() override { close(); }

  std::shared_ptr<Node> root() const { return root_; }

 private:
  struct Open {
    std::shared_ptr<Node> node;
    YAML::anchor_t anchor;
    std::optional<std::string> key;
    int key_line = 0;
  };

  int line_of(const YAML::Mark& mark) { return line_ = mark.line + 1; }

  void add_scalar(int line, YAML::anchor_t anchor, Json value, const std::string& text) {
    auto node = std::make_shared<Node>();
    node->scalar = std::move(value);
    node->text = text;
    node->line = line;
    if (anchor != 0) anchors_[anchor] = node;
    attach(node, line);
  }

  void open(decltype(Node::kList) kind, const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) {
    const int line = line_of(mark);
    const bool plain = tag == "?" || tag.empty() || tag == "!" ||
                       tag == std::string(kTagPrefix) + (kind == Node::kMap ? "map" : "seq");
    if (!plain) throw Refused("unknown tag " + tag + "; a specification needs no tags, take it out", line);
    if (stack_.size() >= kMostDepth)
      throw Refused("nested deeper than " + std::to_string(kMostDepth) + " levels", line);
    auto node = std::make_shared<Node>();
    node->kind = kind;
    node->line = line;
    stack_.push_back({node, anchor, std::nullopt, 0});
  }

  void close() {
    const Open done = std::move(stack_.back());
    stack_.pop_back();
    if (done.anchor != 0) anchors_[done.anchor] = done.node;
    attach(done.node, done.node->line);
  }

  // Puts a finished node where it belongs; in a map, the first of two is the key.
  void attach(const std::shared_ptr<Node>& node, int line) {
    if (stack_.empty()) {
      root_ = node;
      return;
    }
    Open& open = stack_.back();
    Node& parent = *open.node;
    if (parent.kind == Node::kMap && !open.key) {
      if (node->kind != Node::kScalar) throw Refused("a key must be a word, not a list or mapping", line);
      if (node->text == "<<") {
        throw Refused(
            "merge keys (<<) are not supported; write the keys out, or repeat a whole value with "
            "&name and *name",
            line);
      }
      if (node->text.size() > kYamlKeyBytes)
        throw Refused("a key of " + std::to_string(node->text.size()) + " bytes, where at most " +
                          std::to_string(kYamlKeyBytes) + " are allowed; is a quote missing above?",
                      line);
      if (key_lines_.contains({&parent, node->text}))
        throw Refused("the key '" + node->text + "' is given twice; keep one", line);
      open.key = node->text;
      open.key_line = line;
      return;
    }
    parent.size += node->size;
    if (parent.size > kMostNodes)
      throw Refused("the document stands for more than " + std::to_string(kMostNodes) + " values", line);
    if (parent.kind == Node::kList) {
      parent.children.push_back(node);
    } else {
      parent.members.emplace_back(*open.key, node);
      key_lines_[{&parent, *open.key}] = open.key_line;
      open.key.reset();
    }
  }

 public:
  int key_line(const Node& parent, const std::string& key) const { return key_lines_.at({&parent, key}); }

 private:
  int documents_ = 0, line_ = 1;
  std::vector<Open> stack_;
  std::map<YAML::anchor_t, std::shared_ptr<Node>> anchors_;
  std::map<std::pair<const Node*, std::string>, int> key_lines_;
  std::shared_ptr<Node> root_;
};

Json convert(const Node& node, const std::string& path, int line, const Builder& builder,
             std::map<std::string, int>& lines) {
  if (!path.empty()) lines[path] = line;
  if (node.kind == Node::kScalar) return node.scalar;
  if (node.kind == Node::kList) {
    Json out = Json::array();
    for (std::size_t i = 0; i < node.children.size(); ++i) {
      const Node& child = *node.children[i];
      out.push_back(convert(child, path + "[" + std::to_string(i) + "]", child.line, builder, lines));
    }
    return out;
  }
  Json out = Json::object();
  for (const auto& [key, child] : node.members) {
    out[key] = convert(*child, path.empty() ? key : path + "." + key, builder.key_line(node, key), builder, lines);
  }
  return out;
}

int line_at(std::string_view text, std::size_t offset) {
  return 1 + static_cast<int>(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(offset), '\n'));
}

// Bytes that are no text, before anything is made of them.
std::optional<Refused> not_text(std::string_view text) {
  if (text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff"))
    return Refused("the text is UTF-16; save it as UTF-8", 1);
  const std::size_t nul = text.find('\0'), wrong = first_not_utf8(text).value_or(std::string_view::npos);
  const std::size_t at = std::min(nul, wrong);
  if (at == std::string_view::npos) return std::nullopt;
  const auto byte = static_cast<unsigned char>(text[at]);
  char shown[8];
  std::snprintf(shown, sizeof shown, "0x%02X", byte);
  return Refused("the byte " + std::string(shown) + " at offset " + std::to_string(at) +
                     (byte == 0 ? " is no text; is this the right file?" : " is not UTF-8; save the text as UTF-8"),
                 line_at(text, at));
}

// The first line up to `last` that is indented with a tab, or 0: what a parser says of it is hard to read.
int line_with_tab(std::string_view text, int last) {
  for (int line = 1; line <= last && !text.empty(); ++line) {
    const std::size_t first = text.find_first_not_of(" ");
    if (first != std::string_view::npos && text[first] == '\t') return line;
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return 0;
}

// JSON writes characters beyond the basic plane as two escapes; YAML knows one of eight digits.
std::string join_surrogates(std::string_view text) {
  static const std::regex kPair("\\\\u([dD][89abAB][0-9a-fA-F]{2})\\\\u([dD][c-fC-F][0-9a-fA-F]{2})");
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 >= text.size()) {
      out += text[i];
      continue;
    }
    std::cmatch match;
    const std::string_view rest = text.substr(i, 12);
    if (rest.size() == 12 && std::regex_match(rest.data(), rest.data() + rest.size(), match, kPair)) {
      const unsigned long high = std::stoul(match[1].str(), nullptr, 16), low = std::stoul(match[2].str(), nullptr, 16);
      char escape[16];
      std::snprintf(escape, sizeof escape, "\\U%08lX", 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00));
      out += escape;
      i += 11;
    } else {
      out.append(text, i, 2);  // an escaped backslash begins no pair
      ++i;
    }
  }
  return out;
}

absl::Status malformed(const std::string& message, int line) {
  return make_error(absl::StatusCode::kInvalidArgument, ErrorReason::kInvalidSpecification, message, "",
                    {{"line", std::to_string(line)}});
}

}  // namespace

absl::StatusOr<YamlDocument> parse_yaml(std::string_view text) {
  if (const auto refused = not_text(text)) return malformed(refused->what(), refused->line);
  std::istringstream in(text.find("\\u") == std::string_view::npos ? std::string(text) : join_surrogates(text));
  Builder builder;
  try {
    YAML::Parser parser(in);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const Refused& refused) {
    return malformed(refused.what(), refused.line);
  } catch (const YAML::Exception& error) {
    const int line = error.mark.is_null() ? 1 : error.mark.line + 1;
    if (const int tab = line_with_tab(text, line); tab > 0)
      return malformed("the line is indented with a tab; YAML takes spaces only", tab);
    return malformed("not readable as YAML or JSON: " + error.msg, line);
  }
  YamlDocument out;
  if (builder.root()) out.json = convert(*builder.root(), "", builder.root()->line, builder, out.lines);
  return out;
}

}  // namespace locus
