// Members of JSON objects in canonical form (RFC 8785), read from their text.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

namespace locus {

// The text of a top-level member's value in a JSON object without insignificant spaces (canonical form);
// nothing if it is absent. Much cheaper than a document: a submission may bring a hundred thousand stages in
// one step.
std::optional<std::string_view> top_level_member(std::string_view canonical_object, std::string_view key);
// The object without the members of these names, in canonical form again.
std::string without_members(std::string_view canonical_object, std::initializer_list<std::string_view> keys);

}  // namespace locus
