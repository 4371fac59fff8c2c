// Writes the reference page of the priors.
#include <vector>

#include "cli/render/numbers.h"
#include "cli/render/schema.h"

namespace locus {
namespace {

constexpr char kPriorsIntroduction[] =
    R"(# The priors

Written by `tools/docs` from `engine/catalog.json`, where each entry comes from the prior's own file in
`engine/priors`: edit that, not this page.

A model carries an ordered list of priors; each fills some hooks of one fixed algebra (`engine/priors/prior.h`):

    L = prod(scale) * (c q' k'^T) + sum(bias)        q', k' = transform-qk;  c = 1 / sqrt(d)
    P = prod(probabilities)(softmax L)
    O = (P V + sum(from-probabilities) + sum(add-output)) * prod(gate-output), then the output projection

A scale can take the biases in as well, L = scale * (the right side above), where an option of its prior says so.

Letters: B images, T tokens (prefix, then N = rows x columns patches), D width, H heads, d = D / H. What a prior
costs in time is measured by `bench/priors.cc`; what the priors reach on one protocol is what `make priors` finds.

- **ViT-B adds**: parameters that the defaults add to ViT-B/16 at 224 x 224 (85.6 million without, and without a
  head). A test counts them.
- **Paths**: the ways to compute attention that some setting of the prior can take. All agree with an explicit
  float64 reference, in value and gradient; a test checks the list.
)";

std::string cell(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '|' ? "\\|" : std::string(1, c);
  return out;
}

std::string joined(const Json& list, const std::string& none) {
  std::string out;
  for (const Json& one : list) out += (out.empty() ? "" : ", ") + one.get<std::string>();
  return out.empty() ? none : out;
}

// A paper with its arXiv number as a link.
std::string paper_of(const Json& item) {
  const std::string text = item.value("paper", "");
  const auto at = text.find("arXiv:");
  if (at == std::string::npos) return text;
  const std::string number = text.substr(at + 6);
  return text.substr(0, at) + "[" + text.substr(at) + "](https://arxiv.org/abs/" + number + ")";
}

std::string overview_row(const Json& item) {
  const Json facts = item.value("facts", Json::object());
  const std::string id = item.value("id", "");
  return "| [" + id + "](#" + id + ") | " + cell(item.value("summary", "")) + " | `" + cell(item.value("formula", "")) +
         "` | " + joined(item.value("hooks", Json::array()), "none") + " | " +
         show_count(facts.value("parameters_of_vit_b", std::int64_t{0})) + " | " +
         joined(facts.value("paths", Json::array()), "") + " |\n";
}

std::string conditions(const Json& item) {
  std::string out;
  for (const char* key : {"constraints", "requires", "excludes_when"}) {
    for (const Json& rule : item.value(key, Json::array())) {
      const std::string help = rule.value("help", "");
      if (!help.empty()) out += (out.empty() ? "" : "; ") + help;
    }
  }
  return out;
}

std::string ranks(const Json& item) {
  std::string out;
  const Json layouts = item.value("layouts", Json::object());
  for (const Json& rank : layouts.value("ranks", Json::array())) out += (out.empty() ? "" : ", ") + rank.dump() + "-D";
  return layouts.value("points", false) ? out + ", points" : out;
}

std::string decay_of(const Json& item) {
  const std::string rule = item.value("weight_decay", "rule");
  if (rule == "exempt") return "all its parameters are exempt";
  return rule == "option" ? "the rule (vectors and biases are exempt) and what its options say"
                          : "the rule: vectors and biases are exempt";
}

std::string section(const Json& item) {
  const Json facts = item.value("facts", Json::object());
  std::string out = "\n## " + item.value("id", "") + "\n\n" + item.value("summary", "") + ".\n\n    " +
                    item.value("formula", "") + "\n\n";
  const auto line = [&](const std::string& what, const std::string& text) {
    if (!text.empty()) out += "- **" + what + "**: " + text + "\n";
  };
  const std::int64_t base = facts.value("parameters_of_vit_b", std::int64_t{0});
  line("Paper", paper_of(item));
  line("Hooks", joined(item.value("hooks", Json::array()), "none"));
  line("Paths", joined(facts.value("paths", Json::array()), ""));
  line("Parameters",
       facts.value("parameters", "") + (base == 0 ? "" : "; the defaults add " + show_count(base) + " to ViT-B"));
  line("Cost", item.value("cost", ""));
  line("Grids", ranks(item));
  line("Weight decay", base == 0 ? "" : decay_of(item));
  line("Provides", joined(item.value("provides", Json::array()), ""));
  line("Not beside", joined(item.value("excludes", Json::array()), ""));
  line("Conditions", conditions(item));
  line("Revision", item.value("revision", Json(1)).dump());
  return out + option_table(item);
}

}  // namespace

std::string render_prior_reference(const Json& catalog) {
  std::string out = std::string(kPriorsIntroduction) +
                    "\n| prior | what it does | formula | hooks | ViT-B adds | paths |\n"
                    "|---|---|---|---|---|---|\n";
  std::string sections;
  for (const Json& item : catalog.value("items", Json::array())) {
    if (item.value("kind", "") != "prior") continue;
    out += overview_row(item);
    sections += section(item);
  }
  return out + sections;
}

}  // namespace locus
