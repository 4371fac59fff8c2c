// Roles: what a caller may ask for.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

namespace locus {

// Each of viewer, submitter, operator and admin may what the one before it may. Worker and provisioner are machines'
// roles and imply nothing else.
enum class Role { kViewer, kSubmitter, kOperator, kAdmin, kWorker, kProvisioner };
inline constexpr Role kRoles[] = {Role::kViewer, Role::kSubmitter, Role::kOperator,
                                  Role::kAdmin,  Role::kWorker,    Role::kProvisioner};

const char* to_string(Role role);  // "viewer"; the word of certificates, tokens and the database
std::optional<Role> parse_role(std::string_view word);

// Whether the role `held` includes the role `asked`.
bool includes(Role held, Role asked);

// Several roles: whoever's role includes one of them may. Empty: nobody may.
class RoleSet {
 public:
  constexpr RoleSet() = default;
  constexpr RoleSet(std::initializer_list<Role> roles) {
    for (const Role role : roles) bits_ |= bit(role);
  }
  bool permits(Role held) const;
  bool empty() const { return bits_ == 0; }
  std::string to_text() const;  // "operator or worker", for people

 private:
  static constexpr std::uint32_t bit(Role role) { return std::uint32_t{1} << static_cast<int>(role); }
  std::uint32_t bits_ = 0;
};

}  // namespace locus
