// Keys and certificates as values: what is read, what is signed, what is refused, without a connection.
#include <gmock/gmock.h>

#include "core/base/error.h"
#include "core/certificates/check.h"
#include "core/certificates/invitation.h"
#include "core/certificates/issue.h"

namespace locus {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::int64_t kNow = 1'800'000'000, kOneDay = 86'400;
constexpr char kBox[] = "spiffe://locus/worker/box";

// Requests whose keys are none of ours: RSA of 1024 bits, the curve P-384.
constexpr char kRsaRequest[] =
    "-----BEGIN CERTIFICATE REQUEST-----\n"
    "MIIBTTCBtwIBADAOMQwwCgYDVQQDDANib3gwgZ8wDQYJKoZIhvcNAQEBBQADgY0A\n"
    "MIGJAoGBAMVGAmb685NVAS/KDM8aU9JZsjhy2UbKZoL1DNIH/7Y3VGHyN25A83tb\n"
    "uveXI8Tjn3sDPfJySUm9zTi0+ZkpE5RiCI9oT3xJnkyQA04vV6ncix4ruY5fDeS1\n"
    "KnzEouwOLCIwrFA+dT0cSeH2O0wGX53yHfgZhYTYU6iB5GhflAl1AgMBAAGgADAN\n"
    "BgkqhkiG9w0BAQsFAAOBgQClx3YVsh64vtsCTHr5ifoKWA0TT2gaVeq9E24t8BJt\n"
    "QdvF95QV2FwveHKMm8r2VMqJuAICdyrE9rZrFjKwsBWt0+sj7Rs4aXA4DiBg86Y2\n"
    "1vi4F3U7v0GTfWiDz8/1C3T6AZypmp9nzYBvkkCpyyJ1qgUpOH4ERvoepLnZNoNI\n"
    "yw==\n"
    "-----END CERTIFICATE REQUEST-----\n";
constexpr char kP384Request[] =
    "-----BEGIN CERTIFICATE REQUEST-----\n"
    "MIIBBzCBjQIBADAOMQwwCgYDVQQDDANib3gwdjAQBgcqhkjOPQIBBgUrgQQAIgNi\n"
    "AAQzouj60IXKIfplSLe0G+y4OM6xciZhVDY4JqVj1g86BL+kmvyd1syDM1d4laZa\n"
    "BJsK8HHef/n779a4b9edTiTGP2mfqQTpMqbhabPGSwg20SuVYIFiu4WHH2nfphHO\n"
    "GmegADAKBggqhkjOPQQDAgNpADBmAjEA7FPkEQT0NFwcYbmOQgPm06cm0n6jp9lY\n"
    "ltWVvK75WNTMLHTnq++cNpuxH7kgKKcTAjEAwYK+Be5Q85KchznACsiFGPnHRo6L\n"
    "XF77V/KXrUqu3HLdrq/Tmw91fio/qfLSNcwJ\n"
    "-----END CERTIFICATE REQUEST-----\n";
// Of P-256, behind a passphrase.
constexpr char kEncryptedKey[] =
    "-----BEGIN ENCRYPTED PRIVATE KEY-----\n"
    "MIHsMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAhVY5GNU1wicgICCAAw\n"
    "DAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEELseg2/Petk1ci7jNgtiUAcEgZAH\n"
    "Vfg7YDuCpdXVHjw3elGHK/NANCdfQsZDdE7qM1fSYpN8rqA4L6bPyrWByVHtY7Ey\n"
    "pUxBsnAV9AJLO6rpekkjMMycn3wRq/cMksRj4NSAU57rPjwxVavR/8Ob5r0JBMcT\n"
    "CaP4Xf9z8MlNH5lLct9BGiHTWy+ApfknCxQOT+gydRfZjVFrGWko3h9WN7r+65U=\n"
    "-----END ENCRYPTED PRIVATE KEY-----\n";

class Certificates : public ::testing::Test {
 protected:
  static Issuer authority(const std::string& name) {
    PrivateKey key = PrivateKey::make().value();
    const CertificateText text{CertificateUse::kAuthority, name, {}, {}, kNow - kOneDay, kNow + 365 * kOneDay};
    return {issue_authority(text, key).value(), key};
  }
  static CertificateText for_client() {
    return {CertificateUse::kClient, "box", {kBox}, {}, kNow - 60, kNow + kOneDay};
  }
  static CertificateText for_server(const std::vector<std::string>& hosts = {"gpu.example.org", "10.0.0.7", "::1"}) {
    return {CertificateUse::kServer, "server", {}, hosts, kNow - 60, kNow + kOneDay};
  }
  Certificate issued(const CertificateText& text) const { return issue_for_key(text, key_, issuer_).value(); }
  CertificateSet set_of(const Certificate& certificate) const {
    return {key_.pem(), certificate.pem() + issuer_.certificate.pem(), issuer_.certificate.pem()};
  }
  // Why a server may not show this; empty when it may.
  std::string refused(const CertificateSet& set, const std::vector<std::string>& hosts = {"gpu.example.org"},
                      std::int64_t now = kNow, const std::string& roots = "") const {
    const auto checked = check_server_set(set, hosts, roots, now);
    if (checked.ok()) return "";
    EXPECT_TRUE(has_reason(checked.status(), ErrorReason::kCertificateInvalid)) << checked.status();
    return std::string(checked.status().message());
  }

  const Issuer issuer_ = authority("Test authority");
  const PrivateKey key_ = PrivateKey::make().value();
};

TEST_F(Certificates, SayWhatTheyWereIssuedToSay) {
  const Certificate one = issued(for_server());
  EXPECT_EQ(one.subject(), "server");
  EXPECT_THAT(one.names(), ElementsAre("gpu.example.org", "10.0.0.7", "::1"));
  EXPECT_THAT(one.uris(), IsEmpty());
  EXPECT_EQ(one.not_before(), kNow - 60);
  EXPECT_EQ(one.not_after(), kNow + kOneDay);
  EXPECT_FALSE(one.is_authority());
  EXPECT_TRUE(one.matches(key_));
  EXPECT_FALSE(one.matches(issuer_.key));
  EXPECT_THAT(one.serial(), ::testing::MatchesRegex("[1-9a-f][0-9a-f]*"));
  EXPECT_NE(one.serial(), issued(for_server()).serial());
  EXPECT_EQ(one.fingerprint().size(), 64u);
  EXPECT_TRUE(issuer_.certificate.is_authority());
  EXPECT_THAT(issued(for_client()).uris(), ElementsAre(kBox));
}

TEST_F(Certificates, CoverTheNamesAndAddressesTheyListAndNoOthers) {
  const Certificate one = issued(for_server());
  for (const char* host : {"gpu.example.org", "GPU.example.org", "10.0.0.7", "::1", "0:0:0:0:0:0:0:1"})
    EXPECT_TRUE(one.covers(host)) << host;
  for (const char* host : {"example.org", "a.gpu.example.org", "gpu.example.org.evil.example", "10.0.0.70", "10.0.0",
                           "::2", "localhost", "127.0.0.1"})
    EXPECT_FALSE(one.covers(host)) << host;
}

TEST_F(Certificates, AreReadInTheirOrderAndWholeOrNotAtAll) {
  const Certificate first = issued(for_server()), second = issued(for_client());
  const auto both = Certificate::read("a comment\n" + first.pem() + "another\n" + second.pem(), "the file");
  ASSERT_TRUE(both.ok()) << both.status();
  ASSERT_EQ(both->size(), 2u);
  EXPECT_EQ((*both)[0].serial(), first.serial());
  EXPECT_EQ((*both)[1].fingerprint(), second.fingerprint());
  EXPECT_EQ(join_pem(*both), first.pem() + second.pem());
  const std::string cut = second.pem().substr(0, 300);
  for (const std::string& pem : {std::string(), std::string("nothing"), key_.pem(), cut, first.pem() + cut}) {
    const auto broken = Certificate::read(pem, "the file");
    EXPECT_TRUE(has_reason(broken.status(), ErrorReason::kCertificateInvalid)) << pem;
    EXPECT_THAT(std::string(broken.status().message()), HasSubstr("the file holds no certificates"));
  }
}

TEST_F(Certificates, KeysAreReadWholeAndWithoutAPassphrase) {
  const auto again = PrivateKey::read(key_.pem(), "the key");
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_TRUE(issued(for_client()).matches(*again));
  for (const std::string& pem : {std::string(), std::string("nothing"), std::string(kEncryptedKey),
                                 issuer_.certificate.pem(), key_.pem().substr(0, 100)}) {
    const auto broken = PrivateKey::read(pem, "the key");
    EXPECT_TRUE(has_reason(broken.status(), ErrorReason::kCertificateInvalid)) << pem;
    EXPECT_THAT(std::string(broken.status().message()), HasSubstr("the key is no private key"));
  }
}

TEST_F(Certificates, OfARequestOnlyTheKeyIsTaken) {
  const std::string request = key_.request("spiffe://locus/admin/ada").value();
  const auto given = issue_for_request(for_client(), request, issuer_);
  ASSERT_TRUE(given.ok()) << given.status();
  EXPECT_TRUE(given->matches(key_));
  EXPECT_EQ(given->subject(), "box");
  EXPECT_THAT(given->uris(), ElementsAre(kBox));
}

TEST_F(Certificates, RequestsOfOtherKeysAndForgedOnesAreNotSigned) {
  std::string forged = key_.request("box").value();
  char& of_signature = forged[forged.find("-----END") - 20];
  of_signature = of_signature == 'A' ? 'B' : 'A';
  const std::pair<std::string, const char*> bad[] = {{"", "no certificate request"},
                                                     {"nothing", "no certificate request"},
                                                     {issuer_.certificate.pem(), "no certificate request"},
                                                     {kRsaRequest, "must be on curve P-256"},
                                                     {kP384Request, "must be on curve P-256"},
                                                     {forged, "was not signed by the key it is for"}};
  for (const auto& [request, words] : bad) {
    const auto refusal = issue_for_request(for_client(), request, issuer_).status();
    EXPECT_TRUE(has_reason(refusal, ErrorReason::kCertificateInvalid)) << refusal;
    EXPECT_THAT(std::string(refusal.message()), HasSubstr(words));
  }
}

TEST_F(Certificates, AServerMayShowWhatPassesEveryCheckAndNothingElse) {
  const Certificate good = issued(for_server());
  const auto checked = check_server_set(set_of(good), {"gpu.example.org", "10.0.0.7"}, "", kNow);
  ASSERT_TRUE(checked.ok()) << checked.status();
  EXPECT_EQ(checked->not_after, kNow + kOneDay);
  EXPECT_EQ(checked->fingerprint, issuer_.certificate.fingerprint());

  CertificateSet set = set_of(good);
  EXPECT_THAT(refused(set, {"localhost"}), HasSubstr("not for \"localhost\""));
  EXPECT_THAT(refused(set, {}, kNow - 61), HasSubstr("not valid before"));
  EXPECT_EQ(refused(set, {}, kNow + kOneDay - 1), "") << "its last second";
  EXPECT_THAT(refused(set, {}, kNow + kOneDay), HasSubstr("has expired"));
  EXPECT_THAT(refused(set, {}, kNow, authority("Another").certificate.pem()), HasSubstr("does not lead to"));
  EXPECT_THAT(refused(set_of(issued(for_client())), {}), HasSubstr("does not lead to")) << "of another use";
  set.key = issuer_.key.pem();
  EXPECT_THAT(refused(set), HasSubstr("is not that of its certificate"));
  set = set_of(good);
  set.anchors = good.pem();
  EXPECT_THAT(refused(set), HasSubstr("is no authority"));
  set.anchors = "";
  EXPECT_EQ(refused(set), "") << "clients are not asked";
}

TEST_F(Certificates, ATokenBelievesItsAuthorityUnderTheServersNameInTime) {
  const std::vector<Certificate> chain = {issued(for_server()), issuer_.certificate};
  const std::string fingerprint = issuer_.certificate.fingerprint();
  const auto why = [&](const std::string& of, const std::string& host, std::int64_t now) {
    const absl::Status status = check_shown_chain(chain, of, host, now);
    EXPECT_TRUE(status.ok() || absl::IsPermissionDenied(status)) << status;
    return std::string(status.message());
  };
  EXPECT_EQ(why(fingerprint, "gpu.example.org", kNow), "");
  EXPECT_THAT(why(std::string(64, '0'), "gpu.example.org", kNow), HasSubstr("no certificate of the token's"));
  EXPECT_THAT(why(fingerprint, "gpu.evil.example", kNow), HasSubstr("is for another name"));
  EXPECT_THAT(why(fingerprint, "gpu.example.org", kNow - kOneDay / 2), HasSubstr("set the clock"));
  EXPECT_THAT(why(fingerprint, "gpu.example.org", kNow + 2 * kOneDay), HasSubstr("it was valid until"));
  // Whoever shows the authority's certificate behind one that it has not signed.
  const Issuer thief = authority("Test authority");
  const Certificate stolen = issue_for_key(for_server(), key_, thief).value();
  const absl::Status refusal = check_shown_chain({stolen, issuer_.certificate}, fingerprint, "gpu.example.org", kNow);
  EXPECT_THAT(std::string(refusal.message()), HasSubstr("does not lead to its authority"));
}

TEST_F(Certificates, TellWhatTheClockHasToDoWithARefusal) {
  const Certificate one = issued(for_client());
  EXPECT_EQ(clock_trouble(one, kNow), "");
  EXPECT_EQ(clock_trouble(one, one.not_before()), "");
  EXPECT_EQ(clock_trouble(one, one.not_after()), "");
  EXPECT_THAT(clock_trouble(one, kNow - 10 * kOneDay), HasSubstr("9 days before: set the clock"));
  EXPECT_THAT(clock_trouble(one, kNow + 10 * kOneDay), HasSubstr("enroll again"));
}

TEST(Invitation, IsReadAsItIsWrittenAndInNoOtherForm) {
  const InvitationToken token{std::string(64, 'a'), std::string(43, 'B')};
  const auto read = parse_invitation(token.text());
  ASSERT_TRUE(read);
  EXPECT_EQ(read->fingerprint, token.fingerprint);
  EXPECT_EQ(read->secret, token.secret);
  const std::string text = token.text();
  for (const std::string& bad : {std::string(), text.substr(1), text.substr(0, 77), "locus_" + text,
                                 std::string(43, 'B'), "locus-enroll_" + std::string(64, 'g') + "_" + token.secret,
                                 "locus-enroll_" + std::string(63, 'a') + "_" + token.secret})
    EXPECT_FALSE(parse_invitation(bad)) << bad;
}

}  // namespace
}  // namespace locus
