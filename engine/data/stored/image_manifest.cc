// Reads images in threads; which of them reads what changes nothing.
#include "engine/data/stored/image_manifest.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <exception>
#include <fstream>
#include <memory>
#include <mutex>
#include <sstream>
#include <thread>
#include <unordered_map>

#include "core/base/data_copies.h"
#include "core/base/sha256.h"
#include "engine/base/failure.h"
#include "engine/data/stored/file_reader.h"
#include "engine/images/decode.h"

namespace locus::engine {
namespace {

namespace fs = std::filesystem;

constexpr auto kBetweenReports = std::chrono::milliseconds(500);
constexpr int kThreadsMost = 16;
constexpr std::string_view kProofsVersion = "locus image proofs 1";

// What is known of an image that was read through.
struct Proof {
  std::array<std::uint8_t, 32> sha256{};
  std::int64_t bytes = 0;
  std::int32_t height = 0, width = 0;
  bool turned = false;
  std::vector<BesideFile> beside = {};  // without their names
};

std::string hex(const std::array<std::uint8_t, 32>& digest) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (const std::uint8_t byte : digest) out += {kDigits[byte >> 4], kDigits[byte & 15]};
  return out;
}

bool parse_hex(std::string_view text, std::array<std::uint8_t, 32>& out) {
  if (text.size() != 64) return false;
  for (std::size_t i = 0; i < 32; ++i) {
    const auto [end, error] = std::from_chars(text.data() + 2 * i, text.data() + 2 * i + 2, out[i], 16);
    if (error != std::errc() || end != text.data() + 2 * i + 2) return false;
  }
  return true;
}

// Proofs by name, each with the stamp of its file: a line "name <tab> stamp <tab> sha256 bytes height width turned".
class Proofs {
 public:
  Proofs(const fs::path& cache, const fs::path& root)
      : file_(cache.empty() ? fs::path() : cache / "images" / (sha256_hex(fs::absolute(root).string()) + ".txt")) {
    std::ifstream in(file_);
    std::string line;
    if (!std::getline(in, line) || line != kProofsVersion) return;
    while (std::getline(in, line)) take(line);
  }

  // Null where the image is not known with that stamp.
  const Proof* find(const std::string& name, const std::string& stamp) const {
    const auto found = known_.find(name);
    return found != known_.end() && found->second.first == stamp ? &found->second.second : nullptr;
  }
  void add(const std::string& name, const std::string& stamp, const Proof& proof) {
    known_[name] = {stamp, proof};
    changed_ = true;
  }
  void save() const {
    if (file_.empty() || !changed_) return;
    std::ostringstream out;
    out << kProofsVersion << "\n";
    for (const auto& [name, entry] : known_) {
      const auto& [stamp, proof] = entry;
      out << name << "\t" << stamp << "\t" << hex(proof.sha256) << " " << proof.bytes << " " << proof.height << " "
          << proof.width << " " << proof.turned;
      for (const BesideFile& file : proof.beside) out << " " << file.bytes << " " << hex(file.sha256);
      out << "\n";
    }
    put_in_cache(file_, out.str());
  }

 private:
  void take(const std::string& line) {
    const std::size_t first = line.find('\t'), second = line.find('\t', first + 1);
    if (first == std::string::npos || second == std::string::npos) return;
    Proof proof;
    std::istringstream rest(line.substr(second + 1));
    std::string digest;
    rest >> digest >> proof.bytes >> proof.height >> proof.width >> proof.turned;
    const bool sound = static_cast<bool>(rest);
    std::string of_beside;
    for (BesideFile file; rest >> file.bytes >> of_beside && parse_hex(of_beside, file.sha256);)
      proof.beside.push_back(file);
    if (sound && parse_hex(digest, proof.sha256))
      known_[line.substr(0, first)] = {line.substr(first + 1, second - first - 1), proof};
  }

  fs::path file_;
  std::unordered_map<std::string, std::pair<std::string, Proof>> known_;
  bool changed_ = false;
};

// One image of the listing on its way.
struct Work {
  const ListedImage* image = nullptr;
  std::string stamp;  // of its file
  Proof proof;
  bool known = false;   // from the cache
  std::string problem;  // empty: it is sound
};

class Reading {
 public:
  Reading(const fs::path& root, const Listing& listing, const Proofs& proofs, const ReadThrough& how)
      : root_(root), proofs_(proofs), again_(how.again), format_(how.format == nullptr ? image_format() : *how.format) {
    for (const auto& [part, images] : listing.parts) {
      for (const ListedImage& image : images) works_.push_back({&image, {}, {}, false, {}});
    }
    for (const std::string& name : listing.shards) shards_.push_back(std::make_unique<ReadFile>(root / name));
  }

  void run(int threads, const DataProgress& progress) {
    std::vector<std::thread> running;
    for (int i = 0; i < threads; ++i) running.emplace_back([this] { read_some(); });
    std::exception_ptr stopped;
    std::unique_lock lock(mutex_);
    while (ended_ < threads) {
      changed_.wait_for(lock, kBetweenReports);
      if (!progress || stopped) continue;
      lock.unlock();
      try {
        progress(done_.load(), static_cast<std::int64_t>(works_.size()));
      } catch (...) {
        stopped = std::current_exception();
        stop_ = true;
      }
      lock.lock();
    }
    lock.unlock();
    for (std::thread& thread : running) thread.join();
    if (stopped) std::rethrow_exception(stopped);
    if (failed_) std::rethrow_exception(failed_);
  }

  const std::vector<Work>& works() const { return works_; }

 private:
  void read_some() {
    try {
      for (std::size_t i; !stop_ && (i = next_++) < works_.size();) {
        read_one(works_[i]);
        ++done_;
      }
    } catch (...) {  // memory, say: what is wrong with a file is no exception here
      const std::lock_guard lock(mutex_);
      if (!failed_) failed_ = std::current_exception();
      stop_ = true;
    }
    const std::lock_guard lock(mutex_);
    ++ended_;
    changed_.notify_one();
  }

  void read_one(Work& work) const {
    const ListedImage& image = *work.image;
    if (image.name.find_first_of("\t\n\r") != std::string::npos) {
      work.problem = "the name of " + (root_ / image.name).string() + " has a tab or the end of a line in it";
      return;
    }
    try {
      const bool packed = image.shard >= 0;
      const std::unique_ptr<ReadFile> own = packed ? nullptr : std::make_unique<ReadFile>(root_ / image.name);
      const ReadFile& file = packed ? *shards_.at(static_cast<std::size_t>(image.shard)) : *own;
      work.stamp = file.stamp() + (packed ? " " + std::to_string(image.offset) : "");
      std::vector<std::unique_ptr<ReadFile>> beside;
      for (const std::string& name : image.beside) {
        beside.push_back(std::make_unique<ReadFile>(root_ / name));
        work.stamp += " " + beside.back()->stamp();
      }
      if (!format_.id().empty()) work.stamp += " " + format_.id();
      const Proof* known = again_ ? nullptr : proofs_.find(image.name, work.stamp);
      if (known != nullptr) {
        work.proof = *known;
        work.known = true;
        return;
      }
      StoredFiles files{image.name, image.label, {root_ / image.name}};
      files.image.bytes = packed ? file.read(image.offset, image.bytes) : file.read(0, file.size());
      for (std::size_t i = 0; i < beside.size(); ++i)
        files.beside.push_back({root_ / image.beside[i], beside[i]->read(0, beside[i]->size())});
      examine(files, work.proof);
    } catch (const DataError& error) {
      work.problem = error.what();
    }
  }

  void examine(const StoredFiles& files, Proof& out) const {
    out.sha256 = digest_of(files.image.bytes);
    out.bytes = static_cast<std::int64_t>(files.image.bytes.size());
    for (const FileBytes& file : files.beside)
      out.beside.push_back({"", static_cast<std::int64_t>(file.bytes.size()), digest_of(file.bytes)});
    out.turned = format_.header(files).orientation != 1;
    const Image pixels = format_.image(files);
    static_cast<void>(format_.targets(files, {pixels.height, pixels.width}));
    out.height = pixels.height;
    out.width = pixels.width;
  }

  static std::array<std::uint8_t, 32> digest_of(const std::vector<std::byte>& bytes) {
    Sha256 hash;
    hash.update(std::span<const std::byte>(bytes));
    return hash.digest();
  }

  const fs::path& root_;
  const Proofs& proofs_;
  const bool again_;
  const StoredFormat& format_;
  std::vector<Work> works_;
  std::vector<std::unique_ptr<ReadFile>> shards_;
  std::atomic<std::size_t> next_{0};
  std::atomic<std::int64_t> done_{0};
  std::atomic<bool> stop_{false};
  std::mutex mutex_;
  std::condition_variable changed_;
  int ended_ = 0;              // threads; guarded by mutex_, like failed_
  std::exception_ptr failed_;  // of a thread
};

int threads_of(const ReadThrough& how) {
  if (how.threads > 0) return how.threads;
  return std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, kThreadsMost);
}

void remember(const std::vector<Work>& works, Proofs& proofs) {
  for (const Work& work : works) {
    if (!work.known && work.problem.empty() && work.proof.height > 0)
      proofs.add(work.image->name, work.stamp, work.proof);
  }
  proofs.save();
}

}  // namespace

std::string ImageManifest::digest() const {
  Sha256 hash;
  hash.update(std::string_view("locus image manifest 1\n"));
  for (const std::string& name : classes) hash.update("class " + name + "\n");
  for (const std::string& note : notes) hash.update("note " + note + "\n");
  for (const auto& [part, images] : parts) {
    hash.update("part " + part + " " + std::to_string(images.size()) + "\n");
    for (const ManifestImage& image : images) {
      hash.update(image.name + "\t" + std::to_string(image.bytes) + "\t" + hex(image.sha256) + "\t" +
                  std::to_string(image.label) + "\t" + std::to_string(image.height) + "\t" +
                  std::to_string(image.width) + "\n");
      for (const BesideFile& file : image.beside)
        hash.update("beside\t" + file.name + "\t" + std::to_string(file.bytes) + "\t" + hex(file.sha256) + "\n");
    }
  }
  return hash.hex_digest();
}

std::int64_t ImageManifest::images() const {
  std::int64_t out = 0;
  for (const auto& [part, images] : parts) out += static_cast<std::int64_t>(images.size());
  return out;
}

std::int64_t ImageManifest::bytes() const {
  std::int64_t out = 0;
  for (const auto& [part, images] : parts) {
    for (const ManifestImage& image : images) {
      out += image.bytes;
      for (const BesideFile& file : image.beside) out += file.bytes;
    }
  }
  return out;
}

ImageManifest read_through(const fs::path& root, Listing listing, const ReadThrough& how,
                           const DataProgress& progress) {
  Proofs proofs(how.cache, root);
  Reading reading(root, listing, proofs, how);
  try {
    reading.run(threads_of(how), progress);
  } catch (...) {
    remember(reading.works(), proofs);  // what was read before the interruption need not be read again
    throw;
  }
  remember(reading.works(), proofs);
  ImageManifest out;
  out.classes = std::move(listing.classes);
  out.shards = std::move(listing.shards);
  out.notes = std::move(listing.notes);
  out.misfits = std::move(listing.misfits);
  out.passed_over = std::move(listing.passed_over);
  out.problems = std::move(listing.problems);
  std::size_t next = 0;
  for (const auto& [part, images] : listing.parts) {
    std::vector<ManifestImage>& kept = out.parts[part];
    kept.reserve(images.size());
    for (const ListedImage& image : images) {
      const Work& work = reading.works()[next++];
      if (!work.problem.empty()) {
        out.problems.add(work.problem);
        continue;
      }
      out.turned += work.proof.turned;
      kept.push_back({image.name, image.label, image.shard, work.proof.height, work.proof.width, image.offset,
                      work.proof.bytes, work.proof.sha256, work.proof.beside});
      for (std::size_t i = 0; i < image.beside.size(); ++i) kept.back().beside.at(i).name = image.beside[i];
    }
  }
  return out;
}

}  // namespace locus::engine
