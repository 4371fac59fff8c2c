// What an object store answers: the first byte says what is asked of it, then come its answers, which a line "--" ends; the
// last one is that to every further request. The first line of an answer is its status, its ETag and after how many bytes
// the connection breaks.
#include <cstdlib>
#include <memory>
#include <sstream>

#include "core/base/sha256.h"
#include "storage/s3/store.h"
#include "tests/fuzz/fuzz.h"
#include "tests/storage/object_store.h"

namespace locus::fuzz {
namespace {

namespace fs = std::filesystem;
using testing::ObjectStore;
using testing::StoreReply;
using testing::StoreRequest;

constexpr std::string_view kEnd = "\n--\n";
const std::string kBlob = "a blob that goes up in parts";

StoreReply reply_of(std::string_view bytes) {
  const std::size_t end = std::min(bytes.find('\n'), bytes.size());
  std::istringstream line{std::string(bytes.substr(0, end))};
  StoreReply out{.status = 0};
  std::string etag;
  line >> out.status >> etag;
  if (out.status < 200 || out.status > 999) out.status = 500;  // what is below begins another answer
  if (!etag.empty()) out.headers["ETag"] = etag;
  std::int64_t cut = -1;
  if (line >> cut && cut >= 0) out.cut_after = cut;
  out.body = bytes.substr(std::min(end + 1, bytes.size()));
  return out;
}

// Answers in turn, of one thread.
class Answers {
 public:
  explicit Answers(std::string_view bytes) {
    for (std::size_t end = bytes.find(kEnd); end != std::string_view::npos; end = bytes.find(kEnd)) {
      replies_.push_back(reply_of(bytes.substr(0, end)));
      bytes.remove_prefix(end + kEnd.size());
    }
    replies_.push_back(reply_of(bytes));
  }
  StoreReply next() { return next_ + 1 < replies_.size() ? replies_[next_++] : replies_.back(); }

 private:
  std::vector<StoreReply> replies_;
  std::size_t next_ = 0;
};

class Folder {
 public:
  Folder() {
    std::string name = (fs::temp_directory_path() / "locus-fuzz-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("there is no folder for copies");
    path_ = name;
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

void ask_artifacts(ArtifactStore& artifacts, unsigned what) {
  const std::string sha = sha256_hex(kBlob);
  if (what == 0) {
    const auto names = artifacts.list("", 10);
    require(!names.ok() || names->size() <= 10, "a listing is as long as it was asked to be");
  } else if (what == 1) {
    const auto size = artifacts.size(sha);
    require(!size.ok() || *size >= 0, "no blob is smaller than nothing");
  } else if (what == 2) {
    const auto read = artifacts.read(sha, 0, 100);
    require(!read.ok() || *read == kBlob, "what is read is what its name says");
  } else if (auto writer = artifacts.create(); writer.ok() && (*writer)->write(kBlob).ok()) {
    (void)(*writer)->commit(sha);
  }
  (void)artifacts.remove(sha);
}

}  // namespace

void object_store_answer(std::string_view bytes) {
  static ObjectStore store;
  const unsigned what = first_of(bytes) % 5;
  // Kept by who serves, too: a connection that we have given up may still be answered.
  store.interrupt([answers = std::make_shared<Answers>(bytes)](const StoreRequest&, StoreReply& reply) {
    reply = answers->next();
    return true;
  });
  const Folder folder;
  S3Options options;
  options.place = {store.endpoint(), "us-east-1", "blobs", ""};
  options.keys = {"ada", "lovelace", ""};
  options.folder = folder.path();
  options.whole_bytes = what == 4 ? 8 : 1000;
  options.part_bytes = 8;
  options.patience = {.tries = 1, .first_wait = std::chrono::milliseconds(0)};
  const auto artifacts = open_s3_artifacts(options, system_clock());
  if (artifacts.ok()) ask_artifacts(**artifacts, what);
  store.interrupt({});
}

}  // namespace locus::fuzz
