// Certificates that change under load: a server with TLS whose certificate is replaced, whose authority is replaced, and whose
// workers are revoked and invited again while they train, and the result is that of a run nobody disturbed.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace locus::chaos {

struct AdmittedOptions {
  std::filesystem::path bin, specification, work;
  std::vector<std::string> changes;  // PATH=VALUE
  int cycles = 8;
  unsigned seed = 1;
};

// Says on standard output what was done and found; whether nothing was wrong. Throws std::runtime_error where something does
// not start.
bool disturb_certificates(const AdmittedOptions& options);

}  // namespace locus::chaos
