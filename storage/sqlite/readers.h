// A small pool of read-only connections; every query is one short read transaction.
#pragma once

#include <condition_variable>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "storage/sqlite/connection.h"

namespace locus::sqlite {

// Thread-safe. A query waits while all connections are in use.
class Readers {
 public:
  Readers(const std::filesystem::path& file, const std::string& vfs, int count);  // throws SqliteError

  // Runs `query(Connection&)`, which returns a Status or StatusOr, on one snapshot of the database.
  template <class Query>
  auto run(Query query) -> decltype(query(std::declval<Connection&>())) {
    try {
      const Lease lease(*this);
      Transaction snapshot(lease.connection(), Connection::Mode::kRead);
      return query(lease.connection());
    } catch (const SqliteError& error) {
      return to_status(error);
    }
  }

 private:
  class Lease {
   public:
    explicit Lease(Readers& pool);
    ~Lease();
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    Connection& connection() const { return *connection_; }

   private:
    Readers& pool_;
    std::unique_ptr<Connection> connection_;
  };

  std::mutex mutex_;
  std::condition_variable returned_;
  std::vector<std::unique_ptr<Connection>> idle_;
};

}  // namespace locus::sqlite
