// SHA-256 against the vectors of FIPS 180-4 and NIST's examples.
#include "core/base/sha256.h"

#include <gtest/gtest.h>

namespace locus {
namespace {

TEST(Sha256, AgreesWithPublishedVectors) {
  EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256_hex(std::string(1000000, 'a')), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, DoesNotDependOnHowTheBytesAreCut) {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += static_cast<char>(i * 7);
  const std::string whole = sha256_hex(text);
  for (const std::size_t piece : {1u, 3u, 55u, 56u, 63u, 64u, 65u, 127u}) {
    Sha256 hash;
    for (std::size_t i = 0; i < text.size(); i += piece) hash.update(std::string_view(text).substr(i, piece));
    EXPECT_EQ(hash.hex_digest(), whole) << "in pieces of " << piece;
  }
}

TEST(Sha256, PadsEveryLengthAroundABlock) {
  // Computed with an independent implementation: SHA-256 of the concatenated hex digests of "x" repeated
  // 0..130 times.
  std::string all;
  for (int n = 0; n <= 130; ++n) all += sha256_hex(std::string(n, 'x'));
  EXPECT_EQ(sha256_hex(all), "87aca1c44bc7ba8897768170211f0a02063de70801131ff86c7edb9ce32c6a50");
}

}  // namespace
}  // namespace locus
