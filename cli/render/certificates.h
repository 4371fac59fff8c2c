// Who has a certificate, and until when.
#pragma once

#include <string>

#include "locus/v1/enrollment_service.pb.h"

namespace locus {

std::string render_certificates(const v1::ListCertificatesResponse& response);

}  // namespace locus
