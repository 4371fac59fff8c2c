// Tables of experiments, kept until a result is added: a page and all who look at it ask for the same one
// again and again.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "core/base/error.h"
#include "core/ports/store.h"

namespace locus::server {

// What a table of an experiment depends on: its revision (what belongs to it), how many of its stages
// succeeded and how many failed or are held, and the newest end of an attempt. Results are stored with these
// ends, and with nothing else.
struct TableVersion {
  ExperimentId experiment = 0;
  std::int64_t revision = 0, succeeded = 0, failed = 0;
  Microseconds newest_end = 0;
  std::int64_t decided = 0;  // by its search
  bool operator==(const TableVersion&) const = default;
};
absl::StatusOr<TableVersion> table_version(Store& store, const ExperimentRow& row, const StageCounts& counts);

// Of a request for the first rows of a table: INVALID_ARGUMENT below 0.
absl::Status check_first_rows(int first_rows);

// The newest answers of one kind, by what was asked. Thread-safe. An answer that is being computed is waited
// for, so that a page which asks twice does not pay twice; a refusal is not kept.
template <class Answer>
class KeptAnswers {
 public:
  // `bytes`: of all answers together, as protobuf counts them; the least recently asked for go first.
  explicit KeptAnswers(std::size_t bytes) : bytes_most_(bytes) {}

  absl::StatusOr<std::shared_ptr<const Answer>> get(const std::string& question,
                                                    const std::vector<TableVersion>& version,
                                                    const std::function<absl::StatusOr<Answer>()>& compute) {
    if (question.size() > kQuestionMost) {
      LOCUS_ASSIGN_OR_RETURN(Answer answer, compute());
      return std::make_shared<const Answer>(std::move(answer));
    }
    const std::shared_ptr<Entry> entry = entry_of(question);
    absl::MutexLock computing(&entry->mutex);
    if (entry->answer != nullptr && entry->version == version) return entry->answer;
    LOCUS_ASSIGN_OR_RETURN(Answer answer, compute());
    entry->version = version;
    entry->answer = std::make_shared<const Answer>(std::move(answer));
    const auto size = static_cast<std::size_t>(entry->answer->SpaceUsedLong());
    absl::MutexLock lock(&mutex_);
    if (entry->listed) {
      bytes_ += size - entry->bytes;
      entry->bytes = size;
    }
    while (bytes_ > bytes_most_ && entries_.size() > 1) drop_oldest();
    return entry->answer;
  }

 private:
  struct Entry {
    absl::Mutex mutex;  // held while it is computed; before KeptAnswers::mutex_
    std::vector<TableVersion> version ABSL_GUARDED_BY(mutex);
    std::shared_ptr<const Answer> answer ABSL_GUARDED_BY(mutex);
    std::size_t bytes = 0;  // counted in bytes_; guarded by KeptAnswers::mutex_, as is
    bool listed = true;     // not dropped yet
  };

  std::shared_ptr<Entry> entry_of(const std::string& question) {
    absl::MutexLock lock(&mutex_);
    for (auto entry = entries_.begin(); entry != entries_.end(); ++entry) {
      if (entry->first != question) continue;
      entries_.splice(entries_.begin(), entries_, entry);
      return entry->second;
    }
    entries_.emplace_front(question, std::make_shared<Entry>());
    if (entries_.size() > kEntriesMost) drop_oldest();
    return entries_.front().second;
  }
  void drop_oldest() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    Entry& oldest = *entries_.back().second;  // whoever waits for it still gets it
    bytes_ -= oldest.bytes;
    oldest.listed = false;
    entries_.pop_back();
  }

  static constexpr std::size_t kEntriesMost = 256, kQuestionMost = 4096;
  const std::size_t bytes_most_;
  absl::Mutex mutex_;
  std::list<std::pair<std::string, std::shared_ptr<Entry>>> entries_ ABSL_GUARDED_BY(mutex_);  // newest use first
  std::size_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace locus::server
