// SQLite by RAII: connection, statement, transaction, savepoint. Failures are exceptions that never leave
// storage/sqlite.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "absl/status/status.h"

struct sqlite3;
struct sqlite3_stmt;

namespace locus::sqlite {

class SqliteError : public std::runtime_error {
 public:
  SqliteError(int extended_code, const std::string& what) : std::runtime_error(what), code_(extended_code) {}
  int code() const { return code_; }
  bool full() const;        // no space: nothing was written, a later write may work
  bool constraint() const;  // the statement broke a rule of the schema; the medium is well
  bool fatal() const;       // the medium failed or the file is damaged: nothing may be acknowledged any more

 private:
  int code_;
};

// What callers of the store see for it: RESOURCE_EXHAUSTED when full, INTERNAL (INVARIANT_BROKEN) for a
// broken rule of the schema, DATA_LOSS for damage, UNAVAILABLE otherwise; STORAGE_FAILED.
absl::Status to_status(const SqliteError& error);

// The text of a statement: a literal, or it does not compile. So nothing is ever pasted into SQL, and the
// text can name the compiled statement for as long as the connection lives.
class Sql {
 public:
  consteval Sql(const char* text) : text_(text) {}
  std::string_view text() const { return text_; }

 private:
  std::string_view text_;
};

struct Blob {
  std::string_view bytes;
};

class Connection;

// A prepared statement on loan from its connection; goes back, reset, when destroyed. Thread-compatible.
class Statement {
 public:
  Statement(Connection& connection, std::string_view sql, sqlite3_stmt* handle);
  Statement(Statement&& other) noexcept;
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;
  ~Statement();

  // Binds all parameters in order; text and blobs must live until the statement has been stepped to its end.
  template <class... Values>
  Statement& bind(const Values&... values) {
    rewind();
    int index = 0;
    (bind_one(++index, values), ...);
    return *this;
  }
  bool step();  // whether there is a row
  void run();   // to the end

  std::int64_t integer(int column) const;
  std::string text(int column) const;
  std::string_view blob(int column) const;  // valid until the next step
  bool null(int column) const;

 private:
  void rewind();
  void bind_one(int index, std::int64_t value);
  void bind_one(int index, int value) { bind_one(index, std::int64_t{value}); }
  void bind_one(int index, bool value) { bind_one(index, std::int64_t{value}); }
  void bind_one(int index, std::string_view value);
  void bind_one(int index, const std::string& value) { bind_one(index, std::string_view(value)); }
  void bind_one(int index, const char* value) { bind_one(index, std::string_view(value)); }
  void bind_one(int index, Blob value);
  void bind_one(int index, std::nullptr_t);

  Connection* connection_;
  std::string_view sql_;
  sqlite3_stmt* handle_;
};

// One connection, used by one thread at a time. Opens an existing file read-only, or creates it for writing.
class Connection {
 public:
  enum class Mode { kRead, kWrite };
  Connection(const std::filesystem::path& file, Mode mode, const std::string& vfs);  // throws SqliteError
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  Statement prepare(Sql sql);                   // compiled once, then kept
  void execute(const std::string& sql);         // any number of statements, results ignored
  std::int64_t number(const std::string& sql);  // first column of the first row, not kept
  std::string word(const std::string& sql);
  bool in_transaction() const;
  int wal_pages() const { return wal_pages_; }  // of the log after the last commit of this connection
  void checkpoint(bool truncate);               // moves the log into the file, as far as readers allow
  void skip_checkpoint_on_close();
  std::int64_t changes() const;  // rows of the last insert, update or delete

 private:
  friend class Statement;
  [[noreturn]] void fail(int code, std::string_view sql) const;
  void give_back(std::string_view sql, sqlite3_stmt* handle);

  std::unordered_map<std::string_view, std::vector<sqlite3_stmt*>> idle_;
  sqlite3* handle_ = nullptr;
  int wal_pages_ = 0;
};

// BEGIN ... COMMIT. Destroyed without commit(): rolled back, if SQLite has not done so by itself.
class Transaction {
 public:
  Transaction(Connection& connection, Connection::Mode mode);
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  void commit();

 private:
  Connection& connection_;
};

// One caller's part of a transaction. Destroyed without release(): rolled back alone.
class Savepoint {
 public:
  explicit Savepoint(Connection& connection);
  ~Savepoint();
  Savepoint(const Savepoint&) = delete;
  Savepoint& operator=(const Savepoint&) = delete;
  void release();

 private:
  Connection& connection_;
  bool open_ = true;
};

}  // namespace locus::sqlite
