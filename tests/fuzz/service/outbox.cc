// A worker's outbox as it is found on disk, as it is and with the sums that its records should have.
#include "worker/link/outbox.h"

#include <boost/crc.hpp>
#include <cstring>

#include "core/limits.h"
#include "tests/fuzz/fuzz.h"

namespace locus::fuzz {
namespace {

constexpr std::size_t kHeaderBytes = 24, kSumAt = 20;

// The records' sums put right, so that what lies behind them is reached.
std::string with_sums(std::string bytes) {
  for (std::size_t at = 0; at + kHeaderBytes <= bytes.size();) {
    std::uint32_t length = 0;
    std::memcpy(&length, bytes.data() + at + 4, sizeof length);
    if (length > bytes.size() - at - kHeaderBytes) break;
    std::memset(bytes.data() + at + kSumAt, 0, sizeof length);
    boost::crc_32_type crc;
    crc.process_bytes(bytes.data() + at, kHeaderBytes + length);
    const std::uint32_t sum = crc.checksum();
    std::memcpy(bytes.data() + at + kSumAt, &sum, sizeof sum);
    at += kHeaderBytes + length;
  }
  return bytes;
}

void open_and_read(const std::string& bytes) {
  const MemoryFile file(bytes);
  auto outbox = Outbox::open(file.path());
  if (!outbox.ok()) return;
  for (std::int64_t seq = 0; seq >= 0;) {
    const auto batch = (*outbox)->read_after(seq);
    if (!batch.ok() || !batch->has_value()) break;
    require((*batch)->last_seq > seq, "reading an outbox goes on");
    require((*batch)->points.value_size() == (*batch)->last_seq - (*batch)->first_seq + 1,
            "a batch has as many points as numbers");
    seq = (*batch)->last_seq;
  }
}

}  // namespace

void outbox(std::string_view bytes) {
  open_and_read(std::string(bytes));
  open_and_read(with_sums(std::string(bytes)));
}

}  // namespace locus::fuzz
