// Roles: what a caller may ask for.
#include "core/identity/role.h"

#include <vector>

#include "core/base/text.h"

namespace locus {

const char* to_string(Role role) {
  switch (role) {
    case Role::kViewer:
      return "viewer";
    case Role::kSubmitter:
      return "submitter";
    case Role::kOperator:
      return "operator";
    case Role::kAdmin:
      return "admin";
    case Role::kWorker:
      return "worker";
    case Role::kProvisioner:
      return "provisioner";
  }
  return "";
}

std::optional<Role> parse_role(std::string_view word) {
  for (const Role role : kRoles) {
    if (word == to_string(role)) return role;
  }
  return std::nullopt;
}

bool includes(Role held, Role asked) {
  if (held == asked) return true;
  return held <= Role::kAdmin && asked < held;
}

bool RoleSet::permits(Role held) const {
  for (const Role role : kRoles) {
    if ((bits_ & bit(role)) != 0 && includes(held, role)) return true;
  }
  return false;
}

std::string RoleSet::to_text() const {
  std::vector<std::string> words;
  for (const Role role : kRoles) {
    if ((bits_ & bit(role)) != 0) words.emplace_back(to_string(role));
  }
  return joined(words, " or ");
}

}  // namespace locus
