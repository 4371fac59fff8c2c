// Who has a certificate, and until when.
#include "cli/render/certificates.h"

#include <ctime>
#include <vector>

#include "cli/render/text_table.h"

namespace locus {
namespace {

std::string show_date_of(const google::protobuf::Timestamp& time) {
  const std::time_t seconds = time.seconds();
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char text[16];
  std::strftime(text, sizeof text, "%Y-%m-%d", &parts);
  return text;
}

}  // namespace

std::string render_certificates(const v1::ListCertificatesResponse& response) {
  std::vector<std::vector<std::string>> rows;
  for (const auto& one : response.certificates()) {
    const std::string good =
        one.has_revoked() ? "revoked " + show_date_of(one.revoked()) : "until " + show_date_of(one.expires());
    rows.push_back({printable(one.role()), printable(one.name()), good, printable(one.serial())});
  }
  return render_text_table({{"role"}, {"name"}, {"good"}, {"serial"}}, rows);
}

}  // namespace locus
