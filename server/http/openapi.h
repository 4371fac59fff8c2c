// The JSON side described by itself: an OpenAPI 3.1 document made from the routes and the messages.
#pragma once

#include <string>
#include <vector>

#include "core/base/json.h"
#include "server/http/routes.h"

namespace locus::server {

// Every route, and the addresses that are none: events, health, metrics, this document. Pure.
Json openapi_document(const std::vector<Route>& routes, const std::string& version);

}  // namespace locus::server
