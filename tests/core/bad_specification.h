// Tables of bad specifications, and what each must be refused with.
#pragma once

#include <gmock/gmock.h>

#include <ostream>
#include <string>

#include "core/base/error.h"

namespace locus {

struct BadSpecification {
  const char* name;
  const char* changes;  // a JSON merge patch on the specification of the suite
  ErrorReason reason;
  const char *field, *says;
};

inline std::ostream& operator<<(std::ostream& out, const BadSpecification& bad) { return out << bad.name; }

// Expects a refusal with the reason, the field and a part of the message that a row of a table names.
template <typename Row>
void expect_refused(const absl::Status& status, const Row& row) {
  ASSERT_FALSE(status.ok());
  const auto detail = error_detail(status);
  ASSERT_TRUE(detail.has_value()) << status;
  EXPECT_EQ(to_string(detail->reason), to_string(row.reason)) << status;
  EXPECT_EQ(detail->field, row.field) << status;
  EXPECT_THAT(std::string(status.message()), testing::HasSubstr(row.says));
}

}  // namespace locus
