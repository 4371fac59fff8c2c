// What callers show a server that asks who they are. Lines: the header Authorization, the header Cookie, the method and
// X-Locus; the rest is the body with which somebody signs in. A token and a session are known, those of the seeds.
#include "core/certificates/invitation.h"
#include "core/identity/secret.h"
#include "server/http/visitor.h"
#include "storage/memory/store.h"
#include "tests/fuzz/fuzz.h"

namespace locus::fuzz {
namespace {

const std::string kToken = "locus_aaaaaaaa_" + std::string(43, 'A');
const std::string kAdasSession(43, 'B');
constexpr char kHere[] = "192.0.2.1";

class StillClock final : public Clock {
 public:
  Microseconds wall() const override { return 1'800'000'000'000'000; }
  Microseconds steady() const override { return 1'000'000; }
};

// A store that knows one caller, by a token and a session.
std::unique_ptr<Store> store_of_ada(const Clock& clock) {
  auto store = make_memory_store();
  const TokenText token = parse_token(kToken).value();
  const Microseconds later = clock.wall() + 3'600'000'000;
  const std::vector<Mutation> known = {PutPrincipal{{.name = "ada", .account = "ada"}},
                                       PutToken{{.id = token.id,
                                                 .secret_hash = hash_of_secret(token.secret),
                                                 .principal = "ada",
                                                 .role = Role::kSubmitter,
                                                 .expires_us = later}},
                                       PutSession{{.hash = hash_of_secret(kAdasSession),
                                                   .token_id = token.id,
                                                   .address = kHere,
                                                   .used_us = clock.wall(),
                                                   .expires_us = later}}};
  require(store->apply(known, clock.wall()).ok(), "ada may be known");
  return store;
}

std::string line_of(std::string_view& bytes) {
  const std::size_t end = std::min(bytes.find('\n'), bytes.size());
  std::string out(bytes.substr(0, end));
  bytes.remove_prefix(std::min(end + 1, bytes.size()));
  return out;
}

void read_texts(const std::string& text) {
  if (const auto token = parse_token(text)) require(token->text() == text, "a token is read as it is written");
  if (const auto invitation = parse_invitation(text))
    require(invitation->text() == text, "an invitation is read as it is written");
  const std::string shown = without_tokens(text);
  for (std::size_t at = shown.find("locus_"); at != std::string::npos; at = shown.find("locus_", at + 1))
    require(!parse_token(std::string_view(shown).substr(at, kToken.size())), "what is shown holds no token");
}

void check_visitor(const absl::StatusOr<Principal>& visitor, const server::HttpRequest& request) {
  if (!visitor.ok() || visitor->via == Via::kNobody) return;
  require(visitor->name == "ada" && visitor->role == Role::kSubmitter, "nobody is let in as another");
  if (visitor->via == Via::kToken) {
    require(request.header("authorization") == "Bearer " + kToken, "nobody is let in by another token");
  } else {
    require(visitor->via == Via::kSession && request.header("cookie").find(kAdasSession) != std::string::npos,
            "nobody is let in by another session");
    require(request.method == "GET" || request.method == "HEAD" || request.header("x-locus") == "1",
            "no other page's form changes anything");
  }
}

}  // namespace

void credentials(std::string_view bytes) {
  StillClock clock;
  const auto store = store_of_ada(clock);
  server::Gate gate(*store, clock, /*asks=*/true);
  server::HttpRequest request;
  request.address = kHere;
  for (const char* header : {"authorization", "cookie"}) {
    const std::string line = line_of(bytes);
    if (!line.empty()) request.headers[header] = {line};
    read_texts(line);
  }
  const std::string way = line_of(bytes);  // "POST 1"
  request.method = way.substr(0, way.find(' '));
  if (way.find(' ') != std::string::npos) request.headers["x-locus"] = {way.substr(way.find(' ') + 1)};
  request.body = bytes;
  read_texts(request.body);

  check_visitor(server::visitor_of(gate, request), request);
  const server::HttpResponse in = server::log_in(gate, request);
  const std::string cookie = in.set_cookie.substr(0, in.set_cookie.find(';'));
  require((in.status == 200) == !cookie.empty(), "who signs in has a session, and nobody else");
  if (in.status != 200) return;
  server::HttpRequest next;
  next.method = "GET";
  next.address = kHere;
  next.headers["cookie"] = {cookie};
  const auto who = server::visitor_of(gate, next);
  require(who.ok() && who->via == Via::kSession, "a session is one at once");
  next.method = "POST";
  next.headers["x-locus"] = {"1"};
  (void)server::log_out(gate, next);
  require(!server::visitor_of(gate, next).ok(), "and none any more");
}

}  // namespace locus::fuzz
