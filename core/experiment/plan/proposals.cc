// Makes cells of the proposals of a search.
#include "core/experiment/plan/proposals.h"

#include <algorithm>
#include <set>

#include "core/experiment/plan/search_section.h"
#include "core/limits.h"

namespace locus {
namespace {

std::vector<std::int64_t> first_of_equal(const std::vector<std::vector<Json>>& values) {
  std::vector<std::int64_t> out;
  std::map<std::string, std::int64_t> seen;
  for (const auto& one : values) {
    const auto next = static_cast<std::int64_t>(out.size());
    out.push_back(seen.emplace(canonical_json(Json(one)), next).first->second);
  }
  return out;
}

SearchRequest::Drawn draw(const SearchRequest& request, std::uint64_t seed) {
  const Search& search = request.search;
  SearchRequest::Drawn out;
  if (search.proposer == Proposer::kExternal) {
    out.values = request.given;
    // Before the first proposal the middle of the space stands for all, so that everything else can be checked.
    if (out.values.empty()) {
      out.values.emplace_back();
      for (const Dimension& dimension : search.space) out.values.back().push_back(value_at(dimension, 0.5));
    }
  } else {
    const std::int64_t count =
        search.proposer == Proposer::kGrid ? grid_size(search.space, kTrialsPerExperiment + 1) : search.proposals;
    for (std::int64_t i = 0; i < count; ++i)
      out.values.push_back(proposal(search, seed, static_cast<std::uint64_t>(i)));
  }
  out.first = first_of_equal(out.values);
  return out;
}

Setting setting_of(const Json& value, const std::string& path) { return {value, "", "search.space." + path}; }

void add_shared(Specification& spec) {
  SearchRequest& request = *spec.search;
  request.drawn = {draw(request, request.search.seed)};
  const SearchRequest::Drawn& drawn = request.drawn.front();
  Axis axis;
  for (std::size_t j = 0; j < request.search.space.size(); ++j) {
    const std::string& path = request.search.space[j].path;
    Factor factor{path, "search.space." + path, {}};
    for (std::size_t i = 0; i < drawn.values.size(); ++i) {
      if (drawn.first[i] == static_cast<std::int64_t>(i)) factor.values.push_back(setting_of(drawn.values[i][j], path));
    }
    axis.push_back(std::move(factor));
  }
  if (!axis.empty() && !axis.front().values.empty()) spec.axes.push_back(std::move(axis));
}

// Every combination of the axes, the first slowest, as settings of their own.
std::vector<Settings> combinations(const std::vector<Axis>& axes) {
  std::vector<Settings> out = {{}};
  for (const Axis& axis : axes) {
    std::vector<Settings> longer;
    for (const Settings& one : out) {
      for (std::size_t i = 0; i < axis.front().values.size(); ++i) {
        longer.push_back(one);
        for (const Factor& factor : axis) longer.back()[factor.path] = factor.values[i];
      }
    }
    out = std::move(longer);
  }
  return out;
}

// A group's name for its seed: what its values mean, however they are written. Nothing where one has no meaning.
std::optional<std::string> name_of(const Settings& group, Resolver& resolver) {
  std::string out;
  for (const auto& [path, setting] : group) {
    const auto normal = resolver.normal(path, setting);
    if (!normal.ok()) return std::nullopt;
    out.append(path).append("=").append(normal->key).append("\n");
  }
  return out;
}

// Zipped factors of unequal lengths were refused while they were read.
bool walkable(const std::vector<Axis>& axes) {
  return std::all_of(axes.begin(), axes.end(), [](const Axis& axis) {
    return std::all_of(axis.begin(), axis.end(),
                       [&](const Factor& factor) { return factor.values.size() == axis.front().values.size(); });
  });
}

void add_own(Specification& spec, Resolver& resolver) {
  SearchRequest& request = *spec.search;
  std::vector<Settings> cells;
  for (const Settings& group : combinations(spec.axes)) {
    const auto name = name_of(group, resolver);
    if (!name) return add_shared(spec);  // the value is refused where it stands
    request.drawn.push_back(draw(request, group_seed(request.search.seed, *name)));
    const SearchRequest::Drawn& drawn = request.drawn.back();
    for (std::size_t i = 0; i < drawn.values.size(); ++i) {
      if (drawn.first[i] != static_cast<std::int64_t>(i)) continue;
      Settings cell = group;
      for (std::size_t j = 0; j < request.search.space.size(); ++j) {
        const std::string& path = request.search.space[j].path;
        cell[path] = setting_of(drawn.values[i][j], path);
      }
      if (request.search.horizon == SearchHorizon::kFull) {
        cells.push_back(std::move(cell));
        continue;
      }
      for (const std::int64_t rung : request.search.advance.rungs) {
        cells.push_back(cell);
        cells.back()[kEpochsPath] = {rung, "", "search.advance.rungs"};
      }
    }
  }
  spec.include = std::move(cells);
  spec.axes.clear();
}

std::string key_of(const std::map<std::string_view, const Setting*>& settings, const Values& values,
                   const std::set<std::string>& paths, bool among) {
  std::string out;
  for (const auto& [path, setting] : settings) {
    if (paths.contains(std::string(path)) == among)
      out.append(path).append("=").append(values.of(setting).key).append("\n");
  }
  return out;
}

std::string canonical_group(const CellDraft& draft, const Values& values, const std::set<std::string>& without) {
  Json out = Json::object();
  for (const auto& [path, setting] : draft.assignment) {
    if (!without.contains(std::string(path))) out[std::string(path)] = values.of(setting).assignment;
  }
  return canonical_json(out);
}

// The distinct proposals of a group, or of all of them, by the values that they give.
struct Known {
  std::map<std::string, std::int64_t> proposals;
  const SearchRequest::Drawn* drawn = nullptr;
};
using Row = std::map<std::string_view, const Setting*>;

// The rows that add_proposals() made, one for each distinct proposal of each group.
std::vector<Row> added_rows(const Specification& spec, const std::set<std::string>& space) {
  std::vector<Row> rows;
  const Search& search = spec.search->search;
  const std::size_t rungs = search.horizon == SearchHorizon::kRung ? search.advance.rungs.size() : 1;
  for (std::size_t i = 0; !search.shared && i < spec.include.size(); i += rungs) {
    rows.emplace_back();
    for (const auto& [path, setting] : spec.include[i]) rows.back()[path] = &setting;
  }
  for (const Axis& axis : spec.axes) {
    if (!search.shared || !space.contains(axis.front().path)) continue;
    rows.resize(axis.front().values.size());
    for (const Factor& factor : axis) {
      for (std::size_t i = 0; i < rows.size(); ++i) rows[i][factor.path] = &factor.values[i];
    }
  }
  return rows;
}

std::map<std::string, Known> known_proposals(const Specification& spec, const Values& values,
                                             const std::set<std::string>& space, const std::set<std::string>& beside) {
  std::map<std::string, Known> out;
  const std::vector<Row> rows = added_rows(spec, space);
  std::size_t row = 0;
  for (const SearchRequest::Drawn& drawn : spec.search->drawn) {
    for (std::size_t i = 0; i < drawn.first.size() && row < rows.size(); ++i) {
      if (drawn.first[i] != static_cast<std::int64_t>(i)) continue;
      const Row& settings = rows[row++];
      Known& known = out[key_of(settings, values, beside, false)];
      known.drawn = &drawn;
      known.proposals.emplace(key_of(settings, values, space, true), static_cast<std::int64_t>(i));
    }
  }
  return out;
}

std::map<std::int64_t, std::int64_t> repeats_of(const SearchRequest::Drawn& drawn) {
  std::map<std::int64_t, std::int64_t> out;
  for (std::size_t i = 0; i < drawn.first.size(); ++i) {
    const auto index = static_cast<std::int64_t>(i);
    if (drawn.first[i] != index) out[index] = drawn.first[i];
  }
  return out;
}

std::int64_t rung_of(const CellDraft& draft, const Search& search) {
  if (search.horizon != SearchHorizon::kRung) return 0;
  const auto& rungs = search.advance.rungs;
  const auto found = std::find(rungs.begin(), rungs.end(), draft.assignment.at(kEpochsPath)->value.get<std::int64_t>());
  return found - rungs.begin();
}

}  // namespace

void add_proposals(Specification& spec, Resolver& resolver) {
  if (!spec.search || !spec.search->whole) return;
  const SearchRequest& request = *spec.search;
  const Search& search = request.search;
  if (search.shared || !walkable(spec.axes)) {
    add_shared(spec);
  } else {
    return add_own(spec, resolver);
  }
  if (search.horizon != SearchHorizon::kRung) return;
  Factor rungs{kEpochsPath, "search.advance.rungs", {}};
  for (const std::int64_t rung : search.advance.rungs) rungs.values.push_back({rung, "", rungs.field});
  spec.axes.push_back({std::move(rungs)});
}

SearchCells search_cells(const Specification& spec, const std::vector<CellDraft>& drafts, const Values& values) {
  const Search& search = spec.search->search;
  std::set<std::string> space, rungs;
  for (const Dimension& dimension : search.space) space.insert(dimension.path);
  if (search.horizon == SearchHorizon::kRung) rungs.insert(kEpochsPath);
  std::set<std::string> beside = space;  // what does not tell groups apart
  beside.insert(rungs.begin(), rungs.end());
  const auto known = known_proposals(spec, values, space, beside);
  const bool matrix_alone = space.empty();  // all of its cells compete

  SearchCells out;
  std::map<std::string, std::int64_t> groups, matrix;
  for (const CellDraft& draft : drafts) {
    SearchPlace place;
    place.rung = rung_of(draft, search);
    const std::string rest = key_of(draft.assignment, values, beside, false);
    const auto [group, fresh] = groups.emplace(matrix_alone ? "" : rest, static_cast<std::int64_t>(groups.size()));
    place.group = group->second;
    if (matrix_alone) {
      place.proposal = matrix.emplace(rest, static_cast<std::int64_t>(matrix.size())).first->second;
      if (fresh) out.groups.push_back("{}"), out.repeats.emplace_back();
    } else {
      const Known& here = known.at(search.shared ? "" : rest);
      place.proposal = here.proposals.at(key_of(draft.assignment, values, space, true));
      if (fresh)
        out.groups.push_back(canonical_group(draft, values, beside)), out.repeats.push_back(repeats_of(*here.drawn));
    }
    out.places.push_back(place);
  }
  return out;
}

}  // namespace locus
