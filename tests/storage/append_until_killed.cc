// Appends points to stage 1, attempt 1 of a data folder for ever, and says on stdout what was acknowledged.
// Killed by its test.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "storage/sqlite/store.h"
#include "tests/storage/world.h"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  locus::testing::FixedClock clock;
  auto store = locus::open_sqlite_store(argv[1], clock);
  if (!store.ok()) {
    std::fprintf(stderr, "%s\n", store.status().ToString().c_str());
    return 1;
  }
  std::int64_t seq = (*store)->attempts(1).value()[0].acked_seq + 1;
  for (;;) {
    const int n = 1 + static_cast<int>(seq % 700);
    const auto acked = (*store)->append(locus::testing::points_of(1, 1, seq, locus::testing::ramp(seq, n)), 0);
    if (!acked.ok()) return 1;
    if (write(STDOUT_FILENO, &*acked, sizeof *acked) != sizeof *acked) return 1;
    seq = *acked + 1;
  }
}
