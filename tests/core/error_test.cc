// Statuses that carry reason, field and metadata; ids.
#include "core/base/error.h"

#include <gtest/gtest.h>

#include <set>

#include "core/base/ids.h"
#include "core/base/mistakes.h"

namespace locus {
namespace {

TEST(Error, CarriesReasonFieldAndMetadata) {
  const absl::Status status = make_error(absl::StatusCode::kInvalidArgument, ErrorReason::kUnknownPrior,
                                         "there is no prior 'violn'", "matrix.prior[2]", {{"nearest", "violin"}});
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(), "there is no prior 'violn'");
  const auto detail = error_detail(status);
  ASSERT_TRUE(detail.has_value());
  EXPECT_EQ(detail->reason, ErrorReason::kUnknownPrior);
  EXPECT_EQ(detail->field, "matrix.prior[2]");
  EXPECT_EQ(detail->metadata.at("nearest"), "violin");
  EXPECT_TRUE(has_reason(status, ErrorReason::kUnknownPrior));
  EXPECT_FALSE(has_reason(status, ErrorReason::kUnknownKey));
}

absl::Status mistake(const std::string& field, const std::string& message) {
  return make_error(absl::StatusCode::kInvalidArgument, ErrorReason::kUnknownKey, message, field, {{"key", field}});
}

TEST(Mistakes, OfOneAreThatOneAndOfNoneAreNothing) {
  Mistakes mistakes;
  EXPECT_TRUE(mistakes.note(absl::OkStatus()));
  EXPECT_TRUE(mistakes.none());
  EXPECT_TRUE(mistakes.status().ok());
  EXPECT_FALSE(mistakes.note(mistake("a", "no key 'a'")));
  EXPECT_EQ(mistakes.status(), mistake("a", "no key 'a'"));
  EXPECT_EQ(violations_of(mistakes.status()).list.size(), 1u);
}

TEST(Mistakes, AreListedInTheOrderTheyWereNotedEachFieldOnce) {
  Mistakes inner, outer;
  inner.note(mistake("b", "first"));
  inner.note(mistake("a", "second"));
  outer.note(mistake("b", "said before"));
  outer.note(inner.status());
  outer.note(mistake("c", "third"));
  const absl::Status all = outer.status();
  EXPECT_EQ(all.message(), "said before (and 2 more mistakes)");
  EXPECT_EQ(error_detail(all)->field, "b");
  const Violations found = violations_of(all);
  ASSERT_EQ(found.list.size(), 3u);
  EXPECT_EQ(found.list[0], mistake("b", "said before"));
  EXPECT_EQ(found.list[1], mistake("a", "second"));
  EXPECT_EQ(error_detail(found.list[2])->metadata.at("key"), "c");
  const absl::Status renamed = each_of(
      all, [](const absl::Status& one) { return mistake(error_detail(one)->field + "!", std::string(one.message())); });
  EXPECT_EQ(error_detail(violations_of(renamed).list[1])->field, "a!");
}

TEST(Mistakes, BeyondAThousandAreCounted) {
  Mistakes mistakes;
  for (int i = 0; i < 1500; ++i) mistakes.note(mistake("key" + std::to_string(i), "no such key"));
  const Violations found = violations_of(mistakes.status());
  EXPECT_EQ(found.list.size() + static_cast<std::size_t>(found.more), 1500u);
  EXPECT_EQ(found.list.size(), 1000u);
}

TEST(Error, SurvivesTextThatIsNotUtf8) {
  const absl::Status status =
      make_error(absl::StatusCode::kInvalidArgument, ErrorReason::kWrongType, "bad", "a\xff", {{"value", "\xfe"}});
  ASSERT_TRUE(error_detail(status).has_value());
  EXPECT_EQ(error_detail(status)->reason, ErrorReason::kWrongType);
}

TEST(Error, LeavesOutTheMiddleOfWhatIsTooLongForAHeader) {
  std::string text = "no experiment is called '";
  for (int i = 0; i < 5'000; ++i) text += "\xc3\xa9";
  text += "'; list them";
  const absl::Status status =
      make_error(absl::StatusCode::kNotFound, ErrorReason::kExperimentNotFound, text, text, {{"name", text}});
  const std::string message(status.message());
  EXPECT_LE(message.size(), 1100u);
  EXPECT_TRUE(message.starts_with("no experiment is called '\xc3\xa9"));
  EXPECT_TRUE(message.ends_with("\xc3\xa9'; list them"));
  const auto detail = error_detail(status);
  ASSERT_TRUE(detail.has_value());
  EXPECT_LE(detail->field.size() + detail->metadata.at("name").size(), 700u);
  EXPECT_NE(detail->field.find(" bytes] \xc3\xa9"), std::string::npos) << detail->field;
  const absl::Status whole =
      make_error(absl::StatusCode::kNotFound, ErrorReason::kExperimentNotFound, std::string(1000, 'x'));
  EXPECT_EQ(whole.message(), std::string(1000, 'x'));
}

TEST(Error, HasNoDetailUnlessMadeHere) {
  EXPECT_FALSE(error_detail(absl::InternalError("x")).has_value());
  EXPECT_FALSE(error_detail(absl::OkStatus()).has_value());
}

TEST(ErrorReason, IsUpperSnakeOnTheWireAndReadsBack) {
  EXPECT_EQ(to_string(ErrorReason::kUnknownPrior), "UNKNOWN_PRIOR");
  EXPECT_EQ(to_string(ErrorReason::kDataFolderInUse), "DATA_FOLDER_IN_USE");
  EXPECT_FALSE(parse_error_reason("UnknownPrior").has_value());
#define LOCUS_REASON(name, text) EXPECT_EQ(parse_error_reason(to_string(ErrorReason::k##name)), ErrorReason::k##name);
#include "core/base/reasons.def"
#undef LOCUS_REASON
}

TEST(Ids, AreRandomUuidsOfVersionFour) {
  std::set<std::string> seen;
  for (int i = 0; i < 200; ++i) {
    const std::string id = random_uuid();
    ASSERT_EQ(id.size(), 36u);
    EXPECT_EQ(id[14], '4');
    EXPECT_NE(std::string("89ab").find(id[19]), std::string::npos) << id;
    EXPECT_TRUE(seen.insert(id).second);
  }
}

TEST(Names, AreLowerCaseLettersDigitsAndHyphens) {
  for (const char* good : {"a", "fashion-mnist-priors", "x9", "a-b-c1"}) EXPECT_TRUE(valid_name(good)) << good;
  for (const char* bad : {"", "A", "9a", "-a", "a-", "a_b", "a b", "a/b", "\u00e4"})
    EXPECT_FALSE(valid_name(bad)) << bad;
  EXPECT_TRUE(valid_name(std::string(63, 'a')));
  EXPECT_FALSE(valid_name(std::string(64, 'a')));
}

}  // namespace
}  // namespace locus
