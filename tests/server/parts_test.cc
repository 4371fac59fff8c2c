// The server's small parts: addresses, log lines, targets, routes' fields, errors, bands.
#include <gmock/gmock.h>
#include <grpcpp/support/status.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "client/errors.h"
#include "core/analysis/measurements.h"
#include "core/base/error.h"
#include "core/base/mistakes.h"
#include "core/experiment/series_labels.h"
#include "core/log/log.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "server/analysis/curves_query.h"
#include "server/app/address.h"
#include "server/app/paths.h"
#include "server/http/event_stream.h"
#include "server/http/exchange.h"
#include "server/http/routes.h"
#include "server/wire/convert.h"
#include "server/wire/status.h"
#include "tests/server/support/server_fixture.h"

namespace locus::server {
namespace {

TEST(ListenAddress, ReadsHostAndPort) {
  EXPECT_EQ(parse_address("127.0.0.1:0", "--grpc-address")->host, "127.0.0.1");
  EXPECT_EQ(parse_address("[::1]:80", "--grpc-address")->host, "::1");
  EXPECT_EQ(parse_address("[::1]:80", "--grpc-address")->text(), "[::1]:80");
  for (const char* text : {"", "localhost", "localhost:", "localhost:x", "[::1]:70000", "localhost:-1", ":"}) {
    EXPECT_FALSE(parse_address(text, "--grpc-address").ok()) << text;
  }
}

TEST(ListenAddress, TakesLoopbackOnly) {
  for (const char* host : {"127.0.0.1", "127.9.9.9", "::1", "localhost"})
    EXPECT_TRUE(require_loopback({host, 1}, "--grpc-address").ok()) << host;
  for (const char* host : {"0.0.0.0", "::", "10.0.0.1", "", "evil.example", "127.0.0.1.evil.example"}) {
    EXPECT_TRUE(has_reason(require_loopback({host, 1}, "--grpc-address"), ErrorReason::kAddressRefused)) << host;
  }
}

TEST(Log, KeepsAMessageOnOneLine) {
  EXPECT_EQ(escape_controls("a\nb\x1b[31mc\td\x7f"), "a\\nb\\x1b[31mc\\td\\x7f");
  EXPECT_EQ(escape_controls("Gr\xc3\xbc\xc3\x9f"), "Gr\xc3\xbc\xc3\x9f");
}

TEST(HttpTarget, DecodesPathAndQuery) {
  HttpRequest request;
  ASSERT_TRUE(parse_target("/a%20b/c?x=1%262&y&z=a+b", &request).ok());
  EXPECT_EQ(request.path, "/a b/c");
  ASSERT_EQ(request.query.size(), 3u);
  EXPECT_EQ(request.query[0].second, "1&2");
  EXPECT_EQ(request.query[2].second, "a b");
  for (const char* target : {"", "a", "/%", "/%4", "/%gg", "/%0a", "http://localhost/"}) {
    HttpRequest bad;
    EXPECT_FALSE(parse_target(target, &bad).ok()) << target;
  }
}

TEST(HttpField, IsSetFromTextByItsPath) {
  v1::QuerySeriesRequest request;
  EXPECT_TRUE(set_field(&request, "key.metric", "loss").ok());
  EXPECT_TRUE(set_field(&request, "max_points", "12").ok());
  EXPECT_EQ(request.key().metric(), "loss");
  EXPECT_EQ(request.max_points(), 12);
  for (const char* path : {"key", "nothing", "key.nothing", ""})
    EXPECT_FALSE(set_field(&request, path, "1").ok()) << path;
  for (const char* text : {"", "1.5", "x", "99999999999999999999", " 1"})
    EXPECT_FALSE(set_field(&request, "max_points", text).ok()) << text;
}

TEST(WireError, CarriesReasonFieldAndMetadata) {
  const absl::Status status =
      make_error(absl::StatusCode::kNotFound, ErrorReason::kTrialNotFound, "no such trial", "name", {{"trial", "7"}});
  const grpc::Status wire = to_grpc_status(status);
  EXPECT_EQ(wire.error_code(), grpc::StatusCode::NOT_FOUND);
  google::rpc::Status parsed;
  ASSERT_TRUE(parsed.ParseFromString(wire.error_details()));
  google::rpc::ErrorInfo info;
  ASSERT_TRUE(parsed.details(0).UnpackTo(&info));
  EXPECT_EQ(info.reason(), "TRIAL_NOT_FOUND");
  EXPECT_EQ(info.domain(), "locus.v1");
  EXPECT_EQ(info.metadata().at("trial"), "7");
  const HttpError http = to_http_error(status);
  EXPECT_EQ(http.code, 404);
  EXPECT_EQ(Json::parse(http.body)["error"]["details"][1]["field_violations"][0]["field"], "name");
}

// Of more than fit into a header the number is told.
TEST(WireError, ListsSeveralMistakesAndCountsTheRest) {
  Mistakes mistakes;
  for (int i = 0; i < 100; ++i) {
    mistakes.note(make_error(absl::StatusCode::kInvalidArgument,
                             i == 0 ? ErrorReason::kUnknownPrior : ErrorReason::kWrongType,
                             "sentence " + std::to_string(i), "field[" + std::to_string(i) + "]"));
  }
  const grpc::Status wire = to_grpc_status(mistakes.status());
  EXPECT_LT(wire.error_details().size(), 4096u);
  const absl::Status back = from_wire(wire, "here");
  EXPECT_TRUE(has_reason(back, ErrorReason::kUnknownPrior));
  EXPECT_EQ(back.message(), "sentence 0 (and 99 more mistakes)");
  const Violations found = violations_of(back);
  ASSERT_EQ(found.list.size(), 20u);
  EXPECT_EQ(found.more, 80);
  EXPECT_EQ(found.list[1].message(), "sentence 1");
  EXPECT_EQ(error_detail(found.list[1])->field, "field[1]");
  EXPECT_TRUE(has_reason(found.list[1], ErrorReason::kWrongType));
  const Json error = Json::parse(to_http_error(mistakes.status()).body)["error"];
  EXPECT_EQ(error["details"][0]["metadata"]["more_mistakes"], "80");
  EXPECT_EQ(error["details"][1]["field_violations"].size(), 20u);
}

TEST(WireError, SurvivesTextThatIsNotUtf8) {
  const absl::Status status =
      make_error(absl::StatusCode::kInvalidArgument, ErrorReason::kInvalidName, "bad \xff name");
  EXPECT_EQ(to_grpc_status(status).error_message(), "bad \xef\xbf\xbd name");
  EXPECT_NO_THROW(Json::parse(to_http_error(status).body));
}

TEST(WireError, GivesOurDefectsALogId) {
  const HttpError error = to_http_error(absl::InternalError("broken"));
  const Json detail = Json::parse(error.body)["error"]["details"][0];
  EXPECT_EQ(error.code, 500);
  EXPECT_EQ(detail["reason"], "INVARIANT_BROKEN");
  EXPECT_EQ(detail["metadata"]["log_id"].get<std::string>().size(), 36u);
}

TEST(ServerSentEvent, HoldsOneLineOfJson) {
  v1::WatchEventsResponse response;
  EXPECT_EQ(to_server_sent_event(response), ": alive\n\n");
  response.set_cursor(7);
  response.add_events()->set_json("{\"reason\":\"two\nlines\"}");
  const std::string text = to_server_sent_event(response);
  EXPECT_EQ(text.rfind("id: 7\nevent: change\ndata: {", 0), 0u);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 4);
}

v1::PointColumns columns(int size) {
  v1::PointColumns out;
  out.add_series()->set_metric("loss");
  for (int i = 0; i < size; ++i) {
    out.add_series_index(0);
    out.add_step(i);
    out.add_epoch(0);
    out.add_images(0);
    out.add_time_us(0);
    out.add_value(std::nan(""));
  }
  return out;
}

TEST(PointColumns, AreTakenOnlyWhole) {
  EXPECT_EQ(from_proto(columns(3))->size(), 3u);
  EXPECT_TRUE(has_reason(from_proto(columns(8193)).status(), ErrorReason::kLimitExceeded));
  auto uneven = columns(3);
  uneven.add_step(4);
  EXPECT_FALSE(from_proto(uneven).ok());
  auto stray = columns(3);
  stray.set_series_index(1, 1);
  EXPECT_FALSE(from_proto(stray).ok());
  auto backwards = columns(3);
  backwards.set_step(0, -1);
  EXPECT_FALSE(from_proto(backwards).ok());
  auto nameless = columns(3);
  nameless.mutable_series(0)->set_metric("");
  EXPECT_FALSE(from_proto(nameless).ok());
}

TEST(PicturesOfPriors, LieBesideTheCatalogAndAreLeftOutWhenTheyDoNotFit) {
  const test::TemporaryFolder folder;
  const auto write = [&](const std::string& name, const std::string& text) {
    std::ofstream(folder.path() / name, std::ios::binary) << text;
  };
  const Catalog catalog = test::test_catalog();
  write("catalog.json", catalog.document().dump());
  EXPECT_TRUE(load_pictures(folder.path() / "catalog.json", catalog).empty()) << "no folder";
  std::filesystem::create_directory(folder.path() / "pictures");
  const std::string good = R"({"prior":"violin","revision":1,"views":[]})";
  write("pictures/violin.json", good);
  write("pictures/none.json", "{");
  write("pictures/rope-axial.json", R"({"prior":"rope-axial","revision":99,"views":[]})");
  write("pictures/learned-absolute.json", good);
  write("pictures/aura.json", R"({"prior":"aura","revision":1,"views":[]})");
  write("pictures/alibi-2d.json", std::string(2 << 20, ' ') + R"({"prior":"alibi-2d","revision":1,"views":[]})");
  write("pictures/readme.txt", good);
  EXPECT_THAT(load_pictures(folder.path() / "catalog.json", catalog),
              testing::ElementsAre(testing::Pair("violin", good)));
}

TEST(Labels, HaveOneForm) {
  EXPECT_EQ(*canonical_labels("", "labels"), "{}");
  EXPECT_EQ(*canonical_labels("{\"b\": 2.0, \"a\": \"x\"}", "labels"), "{\"a\":\"x\",\"b\":2}");
  for (const char* text : {"[]", "{\"a\":[]}", "{\"a\":null}", "{", "{\"a\":1,\"a\":2}"})
    EXPECT_FALSE(canonical_labels(text, "labels").ok());
}

TEST(Labels, ThatAreNoObjectAreRefusedInOneSentence) {
  for (const std::string text : {"resolution=28", "[]", "{", "7", "\"x\""}) {
    EXPECT_EQ(canonical_labels(text, "labels").status().message(),
              "labels are \"" + text + "\"; give a JSON object such as {\"resolution\":28}");
  }
  const auto longest = canonical_labels(std::string(100'000, '['), "labels").status();
  EXPECT_LT(longest.message().size(), 300u);
}

TEST(Labels, VaryInOneNumberAlongASweep) {
  const std::vector<std::string> sets = {"{\"k\":1,\"resolution\":28}", "{\"k\":1,\"resolution\":42}"};
  EXPECT_EQ(varying_label(sets[1], sets), 42.0);
  EXPECT_EQ(varying_label("{\"resolution\":28}", {"{\"resolution\":28}"}), 28.0);
  const std::vector<std::string> two_sweeps = {R"({"resolution":28})", R"({"resolution":42})",
                                               R"({"positions":"interpolated","resolution":28})",
                                               R"({"positions":"interpolated","resolution":42})"};
  EXPECT_EQ(varying_label(two_sweeps[1], two_sweeps), 42.0);
  EXPECT_EQ(varying_label(two_sweeps[3], two_sweeps), 42.0);
  EXPECT_TRUE(std::isnan(varying_label("{\"a\":1,\"b\":1}", {"{\"a\":1,\"b\":1}", "{\"a\":2,\"b\":2}"})));
  EXPECT_TRUE(std::isnan(varying_label("{\"a\":\"x\"}", {"{\"a\":\"x\"}", "{\"a\":\"y\"}"})));
}

std::vector<TimedPoint> timed(const std::vector<Point>& points) {
  std::vector<TimedPoint> out;
  for (const Point& point : points) out.push_back({point, static_cast<double>(point.time_us) / 1e6});
  return out;
}

TEST(Band, KeepsOnlyStepsAllSeedsHave) {
  const auto a = timed({{10, 0, 0, 0, 1.0}, {20, 0, 0, 0, 2.0}, {30, 0, 0, 0, 3.0}});
  const auto b = timed({{10, 0, 0, 0, 3.0}, {30, 0, 0, 0, 5.0}});
  const auto band = band_of({a, b, {}});  // a seed that has not begun does not blank the others
  ASSERT_EQ(band.size(), 2u);
  EXPECT_DOUBLE_EQ(band[1].mean, 4.0);
  EXPECT_DOUBLE_EQ(band[1].std, std::sqrt(2.0));
}

TEST(Band, GoesOnOverFewerSeedsBeyondTheEndOfOneStillInTraining) {
  const auto whole = timed({{10, 0, 0, 0, 1.0}, {20, 0, 0, 0, 2.0}, {30, 0, 0, 0, 3.0}});
  const auto begun = timed({{10, 0, 0, 0, 5.0}});
  const auto band = band_of({whole, begun, whole});
  ASSERT_EQ(band.size(), 3u);
  EXPECT_EQ(band[0].n, 3);
  EXPECT_DOUBLE_EQ(band[0].mean, 7.0 / 3);
  EXPECT_EQ(band[1].n, 2);
  EXPECT_DOUBLE_EQ(band[2].mean, 3.0);
}

TEST(Band, KeepsItsSpikeWhenThinned) {
  std::vector<BandPoint> band;
  for (int i = 0; i < 1000; ++i) band.push_back({i, i == 501 ? 99.0 : i == 502 ? -99.0 : 1.0, 0, 2});
  const auto thinned = thin(band, 20);
  EXPECT_LE(thinned.size(), 20u);
  EXPECT_EQ(thinned.front().step, 0);
  EXPECT_EQ(thinned.back().step, 999);
  const auto has = [&](double mean) {
    return std::any_of(thinned.begin(), thinned.end(), [&](const BandPoint& p) { return p.mean == mean; });
  };
  EXPECT_TRUE(has(99.0));
  EXPECT_TRUE(has(-99.0));
}

}  // namespace
}  // namespace locus::server
