// What a guesser learns and what a flood costs others. The first part measures how long the server takes to refuse a wrong
// token: an unknown one, one with a wrong secret, and one whose secret is right but for its last letter; Welch's
// interval of what they differ by must be narrow. The second has one caller ask as often as it can while another asks now and then, which must
// not wait for it. Ends with 1 where either does not hold.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "bench/synthetic.h"
#include "client/client.h"
#include "core/identity/secret.h"
#include "core/statistics/estimates.h"
#include "server/authority/credentials.h"

namespace locus::bench {
namespace {

constexpr int kTries = 4000, kTriesPerToken = 4;  // at the fifth a token is locked
// With enough tries any two kinds differ: the interval of their difference is held to a twentieth of what an answer
// takes, for which five tries of a token and ten of an address are far too few.
constexpr double kConfidence = 0.999, kMostOfAnAnswer = 0.05;
constexpr int kFlooders = 4;
constexpr double kFloodSeconds = 10, kMostMilliseconds = 100;

PrincipalRow principal_named(const std::string& name) { return {.name = name, .account = name}; }

TokenText add_token(Store& store, const std::string& principal, Role role) {
  const TokenText token = new_token();
  const Microseconds now = system_clock().wall();
  const TokenRow row{.id = token.id,
                     .secret_hash = hash_of_secret(token.secret),
                     .principal = principal,
                     .role = role,
                     .expires_us = now + 3'600'000'000};
  must(store.apply(std::vector<Mutation>{PutPrincipal{principal_named(principal)}, PutToken{row}}, now));
  return token;
}

// Without the slowest twentieth: what the machine did meanwhile.
std::vector<double> trimmed(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  times.resize(times.size() - times.size() / 20);
  return times;
}

bool alike(const char* what, std::vector<double> one, std::vector<double> other) {
  const Welch test = welch(trimmed(one), trimmed(other), kConfidence);
  const double takes = quantile(other, 0.5), most = kMostOfAnAnswer * takes;
  const bool same = test.low > -most && test.high < most;
  std::printf("  %-46s %.0f us each, difference of means %+.2f us (%+.2f to %+.2f), p %.3f%s\n", what, takes,
              test.difference, test.low, test.high, test.p, same ? "" : "  DIFFERS");
  return same;
}

bool wrong_tokens_take_alike(const std::filesystem::path& folder) {
  const auto store = must(open_sqlite_store(folder, system_clock()));
  server::Credentials credentials(*store, system_clock());
  std::vector<TokenText> known;
  for (int i = 0; i < 2 * kTries / kTriesPerToken; ++i) known.push_back(add_token(*store, "guessed", Role::kViewer));
  std::mt19937 random(1);
  std::vector<int> order;
  for (int kind = 0; kind < 3; ++kind) order.insert(order.end(), kTries, kind);
  std::shuffle(order.begin(), order.end(), random);
  std::vector<double> times[3];
  std::size_t guessed = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    // Each kind makes the same before the clock starts: what the kernel was asked for just now is in what comes next.
    const TokenText unknown = new_token();
    TokenText shown = order[i] == 0 ? unknown : known[guessed++ / kTriesPerToken];
    if (order[i] == 1) shown.secret = unknown.secret;
    if (order[i] == 2) shown.secret.back() = shown.secret.back() == 'A' ? 'E' : 'A';
    const std::string text = shown.text(), address = "10." + std::to_string(i);  // each address fails once
    const auto begun = Timer::now();
    const auto who = credentials.by_token(text, address);
    times[order[i]].push_back(milliseconds_since(begun) * 1000);
    if (!absl::IsUnauthenticated(who.status())) throw std::runtime_error("a wrong token was not refused as such");
  }
  std::printf("guesses: %d of each kind, intervals of %.1f%%\n", kTries, 100 * kConfidence);
  const bool ids = alike("unknown token, and a wrong secret:", times[0], times[1]);
  const bool letters = alike("wrong secret, and one right but for a letter:", times[1], times[2]);
  return ids && letters;
}

// Milliseconds that each of a patient caller's questions took.
std::vector<double> ask_now_and_then(Client& client, double seconds) {
  std::vector<double> out;
  const auto begun = Timer::now();
  while (milliseconds_since(begun) < seconds * 1000) {
    const auto start = Timer::now();
    must(client.list_experiments().status());
    out.push_back(milliseconds_since(start));
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return out;
}

bool a_flood_delays_nobody(const std::filesystem::path& folder) {
  ServerOptions options;
  options.data = folder;
  options.grpc_address = options.http_address = "127.0.0.1:0";
  options.authenticate = true;
  ServerParts parts = must(make_parts(options));
  const std::string flooding = add_token(*parts.store, "flooder", Role::kAdmin).text();
  const std::string patient = add_token(*parts.store, "patient", Role::kViewer).text();
  const auto server = must(Server::start(options, std::move(parts)));
  const auto connect = [&](const std::string& token) {
    return must(Client::connect(server->addresses().grpc, {.patience = {}, .token = token}));
  };
  const auto asking = connect(patient);
  std::vector<double> before = ask_now_and_then(*asking, kFloodSeconds / 5);
  std::atomic<bool> over = false;
  std::atomic<std::int64_t> calls = 0, refused = 0;
  std::vector<std::thread> flood;
  for (int i = 0; i < kFlooders; ++i) {
    flood.emplace_back([&] {
      const auto client = connect(flooding);
      while (!over) {
        refused += client->list_experiments().ok() ? 0 : 1;
        ++calls;
      }
    });
  }
  std::vector<double> meanwhile = ask_now_and_then(*asking, kFloodSeconds);
  over = true;
  for (std::thread& one : flood) one.join();
  const double p99 = quantile(meanwhile, 0.99);
  std::printf(
      "flood: %.0f calls a second by one caller, %.0f%% of them refused; another's: p50 %.1f ms, p99 %.1f ms, "
      "%zu calls; before: p50 %.1f ms, p99 %.1f ms\n",
      static_cast<double>(calls) / kFloodSeconds,
      100 * static_cast<double>(refused) / static_cast<double>(std::max<std::int64_t>(1, calls)),
      quantile(meanwhile, 0.5), p99, meanwhile.size(), quantile(before, 0.5), quantile(before, 0.99));
  return p99 < kMostMilliseconds && refused > 0;
}

int run() {
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / "locus-guesses";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder / "guesses");
  const bool silent = wrong_tokens_take_alike(folder / "guesses");
  const bool fair = a_flood_delays_nobody(folder / "flood");
  std::filesystem::remove_all(folder);
  if (!silent) std::printf("guesses: the time of an answer tells a guesser something\n");
  if (!fair) std::printf("flood: another caller waits for it\n");
  return silent && fair ? 0 : 1;
}

}  // namespace
}  // namespace locus::bench

int main() {
  try {
    return locus::bench::run();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "guesses: %s\n", error.what());
    return 2;
  }
}
