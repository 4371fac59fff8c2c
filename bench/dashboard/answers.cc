// How long the server takes to compute and write what the dashboard reads, without HTTP and browser, on a
// folder that dashboard_fill made.
#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "server/rpc/curves_query.h"
#include "storage/sqlite/store.h"

namespace locus::server {
namespace {

using Timer = std::chrono::steady_clock;

double milliseconds_since(Timer::time_point start) {
  return std::chrono::duration<double, std::milli>(Timer::now() - start).count();
}

std::string json_of(const google::protobuf::Message& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.always_print_primitive_fields = true;
  options.preserve_proto_field_names = true;
  std::string out;
  (void)google::protobuf::util::MessageToJsonString(message, &out, options);
  return out;
}

bool measure_curves(Store& store, const char* what, std::int64_t from, std::int64_t to) {
  v1::GetCurvesRequest request;
  request.set_experiment("long-curves");
  request.set_metric("loss");
  request.set_split("train");
  request.set_max_points(400);
  request.set_from_step(from);
  request.set_to_step(to);
  std::vector<double> computed, written;
  std::size_t bytes = 0;
  for (int run = 0; run < 7; ++run) {
    auto start = Timer::now();
    const auto curves = get_curves(store, request);
    computed.push_back(milliseconds_since(start));
    if (!curves.ok()) {
      std::fprintf(stderr, "%s\n", curves.status().ToString().c_str());
      return false;
    }
    start = Timer::now();
    bytes = json_of(*curves).size();
    written.push_back(milliseconds_since(start));
  }
  const double first = computed.front();
  std::sort(computed.begin(), computed.end());
  std::sort(written.begin(), written.end());
  std::printf(
      "%s: computed in %.0f ms (least %.0f, first %.0f), written as %.1f MB of JSON in %.0f ms (least "
      "%.0f)\n",
      what, computed[3], computed[0], first, static_cast<double>(bytes) / 1e6, written[3], written[0]);
  return true;
}

int run(const std::filesystem::path& folder) {
  auto store = open_sqlite_store(folder, system_clock());
  if (!store.ok()) {
    std::fprintf(stderr, "%s\n", store.status().ToString().c_str());
    return 1;
  }
  const bool ok = measure_curves(**store, "200 curves of 100,000 points", 0, 0) &&
                  measure_curves(**store, "2,000 steps of each", 50'000, 52'000);
  return ok ? 0 : 1;
}

}  // namespace
}  // namespace locus::server

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr,
                 "usage: dashboard_answers FOLDER   (made by dashboard_fill; no server may have it open)\n");
    return 2;
  }
  return locus::server::run(argv[1]);
}
