// locus search: what the rules of an experiment decided, and a person's say in it.
#include "cli/render/search.h"

#include <charconv>
#include <chrono>
#include <thread>

#include "cli/command.h"
#include "core/base/error.h"
#include "core/base/invalid.h"

namespace locus {
namespace {

constexpr std::chrono::milliseconds kAskForMore{500};
constexpr auto kAwayAtMost = std::chrono::minutes(30);  // a server away for longer is not restarting
constexpr std::int64_t kTrialsOfARange = 100'000;       // as many as an experiment may hold

struct SearchOptions {
  ServerChoice server;
  std::string experiment, reason;
  std::vector<std::string> stop, go_on;
  bool log = false, follow = false, units = false;
};

// "3" or "3-9", as trials are numbered.
absl::Status add_trials(const std::string& word, const char* option, std::vector<std::int64_t>& out) {
  const auto number = [](std::string_view text) {
    std::int64_t value = -1;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
    return read.ec == std::errc() && read.ptr == text.data() + text.size() ? value : -1;
  };
  const std::size_t dash = word.find('-');
  const std::int64_t first = number(word.substr(0, dash));
  const std::int64_t last = dash == std::string::npos ? first : number(word.substr(dash + 1));
  if (first < 0 || last < first || last - first >= kTrialsOfARange)
    return invalid(option, "\"" + word.substr(0, 40) +
                               "\" is no trial's number; write numbers as `locus list EXPERIMENT` has them, such as "
                               "3,17 or 20-29");
  for (std::int64_t trial = first; trial <= last; ++trial) out.push_back(trial);
  return absl::OkStatus();
}

void show(const v1::Search& search, const SearchOptions& options) {
  options.server.json ? print_json(search) : print(render_search(search, options.units, {terminal().color}));
}

template <class Request>
absl::StatusOr<Request> verdict(const SearchOptions& options, const std::vector<std::string>& words,
                                const char* option) {
  if (options.reason.empty())
    return invalid("reason", "a person's verdict stands in the log for good: say why with --reason");
  Request request;
  request.set_experiment(options.experiment);
  request.set_reason(options.reason);
  std::vector<std::int64_t> trials;
  for (const std::string& word : words) LOCUS_RETURN_IF_ERROR(add_trials(word, option, trials));
  for (const std::int64_t trial : trials) request.add_trials(trial);
  return request;
}

absl::StatusOr<int> show_state(Client& client, const SearchOptions& options) {
  v1::GetSearchRequest request;
  request.set_experiment(options.experiment);
  request.set_all_units(options.units);
  LOCUS_ASSIGN_OR_RETURN(const v1::Search search, client.get_search(request));
  show(search, options);
  return kExitDone;
}

absl::StatusOr<bool> has_ended(Client& client, const SearchOptions& options, const CallOptions& call) {
  v1::GetSearchRequest request;
  request.set_experiment(options.experiment);
  LOCUS_ASSIGN_OR_RETURN(const v1::Search search, client.get_search(request, call));
  return search.state() == "ended";
}

// The log, page by page; with --follow as it grows, until the search has ended.
absl::StatusOr<int> show_log(Client& client, const SearchOptions& options) {
  CallOptions call;
  if (options.follow) call.patience = kAwayAtMost;
  v1::ListDecisionsRequest request;
  request.set_experiment(options.experiment);
  for (bool last = false;;) {
    LOCUS_ASSIGN_OR_RETURN(const v1::ListDecisionsResponse page, client.list_decisions(request, call));
    for (const v1::SearchDecision& decision : page.decisions()) {
      options.server.json ? print_json(decision, true) : print(render_decision(decision));
      request.set_after(decision.number());
    }
    if (page.more()) continue;
    if (!options.follow || last) return kExitDone;
    // What was decided before the end is asked for once more after it.
    LOCUS_ASSIGN_OR_RETURN(last, has_ended(client, options, call));
    if (!last) std::this_thread::sleep_for(kAskForMore);
  }
}

absl::StatusOr<int> run(Client& client, const SearchOptions& options) {
  if (!options.stop.empty()) {
    LOCUS_ASSIGN_OR_RETURN(const auto request, verdict<v1::StopTrialsRequest>(options, options.stop, "stop"));
    LOCUS_ASSIGN_OR_RETURN(const v1::Search search, client.stop_trials(request));
    show(search, options);
    return kExitDone;
  }
  if (!options.go_on.empty()) {
    LOCUS_ASSIGN_OR_RETURN(const auto request, verdict<v1::ContinueTrialsRequest>(options, options.go_on, "continue"));
    LOCUS_ASSIGN_OR_RETURN(const v1::Search search, client.continue_trials(request));
    show(search, options);
    return kExitDone;
  }
  return options.log ? show_log(client, options) : show_state(client, options);
}

}  // namespace

void add_search(Program& app) {
  Command& command = add_command(
      app,
      {"search",
       kExperimentGroup,
       "Show where a search stands: rungs, budget, choices, what it waits for; or stop and continue its trials",
       "Everything shown follows from the search's log of decisions, which --log prints: a sentence for each value "
       "that was observed and each verdict of a rule, a client or a person. A trial that is stopped parks at its "
       "next validation and keeps its checkpoint until its phase ends; --continue sends it on, to the top. All "
       "trials of a cell stop and go on together where cells are judged.",
       {{"locus search tuned-priors", "Rungs, units by state, budget, and what it waits for"},
        {"locus search tuned-priors --units", "Every unit with its values, its scores and why it is where it is"},
        {"locus search tuned-priors --log --follow", "Decision by decision, until the search has ended"},
        {"locus search tuned-priors --stop 17,20-22 --reason 'loss oscillates'", "A person's verdict"},
        {"locus search tuned-priors --continue 17 --reason 'it had only begun to fall'", "Taken back"}}});
  auto options = std::make_shared<SearchOptions>();
  add_server_options(command, options->server);
  add_experiment(command, options->experiment);
  auto* units = command.add_flag("--units", options->units, "Show every unit");
  auto* log = command.add_flag("--log", options->log, "Print the log of decisions; with --json one object a line")
                  ->excludes(units);
  command.add_flag("--follow", options->follow, "Go on with the log until the search has ended")->needs(log);
  auto* stop = command.add_option("--stop", options->stop, "Stop these trials: numbers and ranges, such as 3,17,20-29")
                   ->type_name("TRIALS")
                   ->delimiter(',')
                   ->one_value_each()
                   ->excludes(log);
  command.add_option("--continue", options->go_on, "Send these trials on, to the top; likewise")
      ->type_name("TRIALS")
      ->delimiter(',')
      ->one_value_each()
      ->excludes(log)
      ->excludes(stop);
  command.add_option("--reason", options->reason, "Why, for the log; --stop and --continue need one")
      ->type_name("TEXT");
  command.body = [options] {
    return ask_server(options->server, [&](Client& client) { return run(client, *options); });
  };
}

}  // namespace locus
