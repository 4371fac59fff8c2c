// SQLite by RAII.
#include "storage/sqlite/connection.h"

#include <sqlite3.h>

#include <utility>

#include "core/base/error.h"

namespace locus::sqlite {
namespace {

constexpr int kBusyTimeoutMs = 5000;
constexpr int kSyncFull = 2;

int primary(int code) { return code & 0xff; }

std::string describe(sqlite3* handle, int code, std::string_view sql) {
  std::string out = handle ? sqlite3_errmsg(handle) : sqlite3_errstr(code);
  out += " (code " + std::to_string(code);
  if (handle && sqlite3_system_errno(handle) != 0) out += ", errno " + std::to_string(sqlite3_system_errno(handle));
  out += ")";
  if (!sql.empty()) out += " in: " + std::string(sql.substr(0, 120));
  return out;
}

}  // namespace

bool SqliteError::full() const { return primary(code_) == SQLITE_FULL; }
bool SqliteError::constraint() const {
  return primary(code_) == SQLITE_CONSTRAINT || primary(code_) == SQLITE_MISMATCH || primary(code_) == SQLITE_TOOBIG;
}
bool SqliteError::fatal() const {
  const int code = primary(code_);
  return (code == SQLITE_IOERR && code_ != SQLITE_IOERR_NOMEM) || code == SQLITE_CORRUPT || code == SQLITE_NOTADB ||
         code == SQLITE_PROTOCOL || code == SQLITE_READONLY;
}

absl::Status to_status(const SqliteError& error) {
  using absl::StatusCode;
  const std::string what = error.what();
  if (error.full()) {
    return make_error(StatusCode::kResourceExhausted, ErrorReason::kStorageFailed,
                      "the disk of the data folder is full, nothing was stored: free space and try again; " + what);
  }
  if (error.constraint()) {
    return make_error(StatusCode::kInternal, ErrorReason::kInvariantBroken,
                      "a write broke the database's own rules and was refused; " + what);
  }
  if (primary(error.code()) == SQLITE_CORRUPT || primary(error.code()) == SQLITE_NOTADB) {
    return make_error(StatusCode::kDataLoss, ErrorReason::kStorageFailed,
                      "the database file is damaged: stop the server and restore a backup; " + what);
  }
  return make_error(StatusCode::kUnavailable, ErrorReason::kStorageFailed, "the database could not be used; " + what);
}

Statement::Statement(Connection& connection, std::string_view sql, sqlite3_stmt* handle)
    : connection_(&connection), sql_(sql), handle_(handle) {}

Statement::Statement(Statement&& other) noexcept
    : connection_(other.connection_), sql_(other.sql_), handle_(std::exchange(other.handle_, nullptr)) {}

Statement::~Statement() {
  if (!handle_) return;
  rewind();
  sqlite3_clear_bindings(handle_);
  connection_->give_back(sql_, handle_);
}

void Statement::rewind() { sqlite3_reset(handle_); }

void Statement::bind_one(int index, std::int64_t value) {
  if (const int code = sqlite3_bind_int64(handle_, index, value); code != SQLITE_OK) connection_->fail(code, sql_);
}

void Statement::bind_one(int index, std::string_view value) {
  const char* data = value.data() ? value.data() : "";  // a null pointer would bind NULL
  const int code = sqlite3_bind_text64(handle_, index, data, value.size(), SQLITE_STATIC, SQLITE_UTF8);
  if (code != SQLITE_OK) connection_->fail(code, sql_);
}

void Statement::bind_one(int index, Blob value) {
  const char* data = value.bytes.data() ? value.bytes.data() : "";
  const int code = sqlite3_bind_blob64(handle_, index, data, value.bytes.size(), SQLITE_STATIC);
  if (code != SQLITE_OK) connection_->fail(code, sql_);
}

void Statement::bind_one(int index, std::nullptr_t) {
  if (const int code = sqlite3_bind_null(handle_, index); code != SQLITE_OK) connection_->fail(code, sql_);
}

bool Statement::step() {
  const int code = sqlite3_step(handle_);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  connection_->fail(code, sql_);
}

void Statement::run() {
  while (step()) {
  }
}

std::int64_t Statement::integer(int column) const { return sqlite3_column_int64(handle_, column); }

std::string Statement::text(int column) const {
  const auto* data = reinterpret_cast<const char*>(sqlite3_column_text(handle_, column));
  return data ? std::string(data, sqlite3_column_bytes(handle_, column)) : std::string();
}

std::string_view Statement::blob(int column) const {
  const auto* data = static_cast<const char*>(sqlite3_column_blob(handle_, column));
  return data ? std::string_view(data, sqlite3_column_bytes(handle_, column)) : std::string_view();
}

bool Statement::null(int column) const { return sqlite3_column_type(handle_, column) == SQLITE_NULL; }

Connection::Connection(const std::filesystem::path& file, Mode mode, const std::string& vfs) {
  const bool write = mode == Mode::kWrite;
  const int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE |
                    (write ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY);
  const int code = sqlite3_open_v2(file.c_str(), &handle_, flags, vfs.empty() ? nullptr : vfs.c_str());
  try {
    if (code != SQLITE_OK) fail(code, {});
    sqlite3_busy_timeout(handle_, kBusyTimeoutMs);
    sqlite3_db_config(handle_, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
    execute(
        "PRAGMA trusted_schema=OFF; PRAGMA cell_size_check=ON; PRAGMA mmap_size=0; PRAGMA foreign_keys=ON;"
        "PRAGMA temp_store=MEMORY; PRAGMA cache_size=-16384; PRAGMA wal_autocheckpoint=0;");
    if (!write) {
      execute("PRAGMA query_only=ON");
      return;
    }
    if (word("PRAGMA journal_mode=WAL") != "wal")
      throw SqliteError(SQLITE_CANTOPEN, "the file cannot use a write-ahead log");
    execute("PRAGMA synchronous=FULL");
    // Without it a crash of the machine may take back what was acknowledged, and no test of killed processes
    // would notice.
    if (number("PRAGMA synchronous") != kSyncFull)
      throw SqliteError(SQLITE_MISUSE, "synchronous=FULL was not accepted");
    sqlite3_wal_hook(
        handle_,
        [](void* self, sqlite3*, const char*, int pages) {
          static_cast<Connection*>(self)->wal_pages_ = pages;
          return SQLITE_OK;
        },
        this);
  } catch (...) {
    sqlite3_close_v2(handle_);
    throw;
  }
}

Connection::~Connection() {
  for (auto& [sql, statements] : idle_) {
    for (sqlite3_stmt* statement : statements) sqlite3_finalize(statement);
  }
  sqlite3_close_v2(handle_);
}

Statement Connection::prepare(Sql statement) {
  const std::string_view sql = statement.text();
  auto& idle = idle_[sql];
  if (!idle.empty()) {
    sqlite3_stmt* handle = idle.back();
    idle.pop_back();
    return Statement(*this, sql, handle);
  }
  sqlite3_stmt* handle = nullptr;
  const int code = sqlite3_prepare_v3(handle_, sql.data(), static_cast<int>(sql.size()), SQLITE_PREPARE_PERSISTENT,
                                      &handle, nullptr);
  if (code != SQLITE_OK) fail(code, sql);
  return Statement(*this, sql, handle);
}

void Connection::give_back(std::string_view sql, sqlite3_stmt* handle) { idle_[sql].push_back(handle); }

void Connection::execute(const std::string& sql) {
  if (const int code = sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr); code != SQLITE_OK)
    fail(code, sql);
}

std::string Connection::word(const std::string& sql) {
  sqlite3_stmt* handle = nullptr;
  if (const int code = sqlite3_prepare_v2(handle_, sql.c_str(), -1, &handle, nullptr); code != SQLITE_OK)
    fail(code, sql);
  std::string out;
  const int code = sqlite3_step(handle);
  if (code == SQLITE_ROW) {
    const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(handle, 0));
    if (text) out = text;
  }
  sqlite3_finalize(handle);
  if (code != SQLITE_ROW && code != SQLITE_DONE) fail(code, sql);
  return out;
}

std::int64_t Connection::number(const std::string& sql) {
  const std::string text = word(sql);
  return text.empty() ? 0 : std::stoll(text);
}

bool Connection::in_transaction() const { return sqlite3_get_autocommit(handle_) == 0; }

std::int64_t Connection::changes() const { return sqlite3_changes64(handle_); }

void Connection::checkpoint(bool truncate) {
  const int mode = truncate ? SQLITE_CHECKPOINT_TRUNCATE : SQLITE_CHECKPOINT_PASSIVE;
  int pages = 0, moved = 0;
  const int code = sqlite3_wal_checkpoint_v2(handle_, nullptr, mode, &pages, &moved);
  if (code == SQLITE_OK) wal_pages_ = pages - moved;  // the next commit tells the size anew
  if (code != SQLITE_OK && primary(code) != SQLITE_BUSY) fail(code, "checkpoint");
}

void Connection::skip_checkpoint_on_close() {
  sqlite3_db_config(handle_, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
}

void Connection::fail(int code, std::string_view sql) const {
  const int extended = handle_ ? sqlite3_extended_errcode(handle_) : code;
  throw SqliteError(primary(extended) == primary(code) ? extended : code, describe(handle_, code, sql));
}

Transaction::Transaction(Connection& connection, Connection::Mode mode) : connection_(connection) {
  connection_.prepare(mode == Connection::Mode::kWrite ? Sql("BEGIN IMMEDIATE") : Sql("BEGIN")).run();
}

Transaction::~Transaction() {
  if (!connection_.in_transaction()) return;  // committed, or SQLite rolled back after a failure
  try {
    connection_.prepare("ROLLBACK").run();
  } catch (const SqliteError&) {
    // The connection is unusable then, and every later statement says so.
  }
}

void Transaction::commit() { connection_.prepare("COMMIT").run(); }

Savepoint::Savepoint(Connection& connection) : connection_(connection) {
  connection_.prepare("SAVEPOINT caller").run();
}

Savepoint::~Savepoint() {
  if (!open_ || !connection_.in_transaction()) return;
  try {
    connection_.prepare("ROLLBACK TO caller").run();
    connection_.prepare("RELEASE caller").run();
  } catch (const SqliteError&) {
    // The transaction then fails as a whole at its commit.
  }
}

void Savepoint::release() {
  connection_.prepare("RELEASE caller").run();
  open_ = false;
}

}  // namespace locus::sqlite
