// A small pool of read-only connections.
#include "storage/sqlite/readers.h"

#include <utility>

namespace locus::sqlite {

Readers::Readers(const std::filesystem::path& file, const std::string& vfs, int count) {
  for (int i = 0; i < count; ++i) idle_.push_back(std::make_unique<Connection>(file, Connection::Mode::kRead, vfs));
}

Readers::Lease::Lease(Readers& pool) : pool_(pool) {
  std::unique_lock lock(pool_.mutex_);
  pool_.returned_.wait(lock, [&] { return !pool_.idle_.empty(); });
  connection_ = std::move(pool_.idle_.back());
  pool_.idle_.pop_back();
}

Readers::Lease::~Lease() {
  {
    const std::lock_guard lock(pool_.mutex_);
    pool_.idle_.push_back(std::move(connection_));
  }
  pool_.returned_.notify_one();
}

}  // namespace locus::sqlite
