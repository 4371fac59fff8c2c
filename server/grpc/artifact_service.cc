// ArtifactService on gRPC.
#include "server/grpc/artifact_service.h"

#include "core/base/error.h"
#include "core/base/invalid.h"
#include "core/limits.h"
#include "server/application/artifacts_view.h"
#include "server/grpc/pull_stream.h"
#include "server/grpc/unary.h"
#include "server/wire/status.h"

namespace locus::server {
namespace {

constexpr int kTransfersMost = 64;                              // at a time; each holds a file and a chunk
constexpr std::int64_t kArtifactBytes = std::int64_t{1} << 36;  // 64 GiB
constexpr std::size_t kKindLength = 64;

absl::Status limit(const std::string& message) {
  return make_error(absl::StatusCode::kResourceExhausted, ErrorReason::kLimitExceeded, message);
}

// One of the transfers allowed at a time.
class Place {
 public:
  explicit Place(std::atomic<int>& taken) : taken_(taken), number_(++taken) {}
  ~Place() { --taken_; }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;
  absl::Status status() const {
    return number_ <= kTransfersMost ? absl::OkStatus()
                                     : limit("64 artifacts are being transferred already; try again in a moment");
  }

 private:
  std::atomic<int>& taken_;
  const int number_;
};

// Header, chunks, end. Between a read and the next the pool works alone, so nothing here needs a lock.
class Upload final : public grpc::ServerReadReactor<v1::UploadArtifactRequest> {
 public:
  Upload(Store& store, ArtifactStore& artifacts, ArtifactGate& gate, const DiskGuard& disk, WorkPool& pool,
         Clock& clock, std::atomic<int>& transfers, Gate& doors, Principal who, v1::UploadArtifactResponse* response)
      : store_(store),
        artifacts_(artifacts),
        gate_(gate),
        disk_(disk),
        pool_(pool),
        clock_(clock),
        place_(transfers),
        doors_(doors),
        who_(std::move(who)),
        response_(response) {
    StartRead(&request_);
  }
  void OnReadDone(bool ok) override {
    if (ok) {
      pool_.post([this] { take(); });
    } else {
      pool_.post([this] { Finish(to_grpc_status(commit())); });
    }
  }
  void OnDone() override {
    if (entered_) gate_.leave(header_.sha256());
    delete this;
  }

 private:
  void take() {
    const absl::Status status = request_.has_header() ? open(request_.header()) : write(request_.chunk());
    if (!status.ok() || response_->existed()) return Finish(to_grpc_status(status));
    StartRead(&request_);
  }

  absl::Status open(const v1::UploadArtifactRequest::Header& header) {
    LOCUS_RETURN_IF_ERROR(
        doors_.admit(Caller(who_, LOCUS_RULE_OF(ArtifactService, UploadArtifact), request_), request_));
    LOCUS_RETURN_IF_ERROR(place_.status());
    if (entered_) return invalid("header", "a second header came; an upload has one, before its chunks");
    LOCUS_ASSIGN_OR_RETURN(own_place_, doors_.hold(who_, LOCUS_RULE_OF(ArtifactService, UploadArtifact)));
    if (header.bytes() < 0 || header.bytes() > kArtifactBytes) {
      return invalid("header.bytes", "an artifact has 0 to " + std::to_string(kArtifactBytes) + " bytes, not " +
                                         std::to_string(header.bytes()));
    }
    if (header.kind().empty() || header.kind().size() > kKindLength)
      return invalid("header.kind", "a kind has 1 to 64 bytes");
    header_ = header;
    gate_.enter(header_.sha256());
    entered_ = true;
    const auto size = artifacts_.size(header.sha256());
    if (!size.ok() && !absl::IsNotFound(size.status())) return size.status();
    if (size.ok()) {
      response_->set_existed(true);
      return record(*size);
    }
    LOCUS_RETURN_IF_ERROR(disk_.admit_data());
    LOCUS_ASSIGN_OR_RETURN(writer_, artifacts_.create());
    return absl::OkStatus();
  }

  absl::Status write(const std::string& chunk) {
    if (!writer_) return invalid("part", "a chunk came before the header; send the header first");
    if (static_cast<std::int64_t>(chunk.size()) > kChunkBytes) {
      return limit("a chunk has " + std::to_string(chunk.size()) + " bytes; at most " + std::to_string(kChunkBytes) +
                   " are taken");
    }
    taken_ += static_cast<std::int64_t>(chunk.size());
    if (taken_ > header_.bytes())
      return invalid("chunk", "more bytes came than the header's " + std::to_string(header_.bytes()));
    return writer_->write(chunk);
  }

  absl::Status commit() {
    if (!writer_) return invalid("header", "the upload ended before its header");
    if (taken_ != header_.bytes()) {
      return make_error(absl::StatusCode::kDataLoss, ErrorReason::kDigestMismatch,
                        "the header announced " + std::to_string(header_.bytes()) + " bytes and " +
                            std::to_string(taken_) + " came; upload it again",
                        "header.bytes",
                        {{"announced", std::to_string(header_.bytes())}, {"received", std::to_string(taken_)}});
    }
    LOCUS_RETURN_IF_ERROR(writer_->commit(header_.sha256()));
    return record(taken_);
  }

  absl::Status record(std::int64_t bytes) {
    const Mutation put = PutArtifact{header_.sha256(), header_.kind(), "store:" + header_.sha256(), bytes};
    return store_.apply({&put, 1}, clock_.wall());
  }

  Store& store_;
  ArtifactStore& artifacts_;
  ArtifactGate& gate_;
  const DiskGuard& disk_;
  WorkPool& pool_;
  Clock& clock_;
  const Place place_;
  Gate& doors_;
  const Principal who_;
  HeldPlace own_place_;   // among its caller's
  bool entered_ = false;  // the gate of artifacts
  v1::UploadArtifactResponse* const response_;
  v1::UploadArtifactRequest request_;
  v1::UploadArtifactRequest::Header header_;
  std::unique_ptr<ArtifactWriter> writer_;
  std::int64_t taken_ = 0;
};

class Download final : public grpc::ServerWriteReactor<v1::DownloadArtifactResponse> {
 public:
  Download(ArtifactStore& artifacts, WorkPool& pool, std::atomic<int>& transfers, Gate& doors, Principal who,
           const v1::DownloadArtifactRequest& request)
      : artifacts_(artifacts),
        pool_(pool),
        place_(transfers),
        doors_(doors),
        who_(std::move(who)),
        request_(request),
        sha256_(request.sha256()),
        offset_(request.offset()) {
    pool_.post([this] { begin(); });
  }
  void OnWriteDone(bool ok) override {
    if (!ok) return Finish(grpc::Status::CANCELLED);
    pool_.post([this] { next(); });
  }
  void OnDone() override { delete this; }

 private:
  void begin() {
    if (const absl::Status status = open(); !status.ok()) return Finish(to_grpc_status(status));
    next();
  }

  absl::Status open() {
    const RpcRule& rule = LOCUS_RULE_OF(ArtifactService, DownloadArtifact);
    LOCUS_RETURN_IF_ERROR(doors_.admit(Caller(who_, rule, request_), request_));
    LOCUS_ASSIGN_OR_RETURN(own_place_, doors_.hold(who_, rule));
    LOCUS_RETURN_IF_ERROR(place_.status());
    LOCUS_ASSIGN_OR_RETURN(size_, artifacts_.size(sha256_));
    return check_offset(offset_, size_);
  }

  void next() {
    if (offset_ >= size_) return Finish(grpc::Status::OK);
    auto bytes = artifacts_.read(sha256_, offset_, kChunkBytes);
    if (!bytes.ok()) return Finish(to_grpc_status(bytes.status()));
    if (bytes->empty()) return Finish(to_grpc_status(absl::DataLossError("the artifact ended before its size")));
    offset_ += static_cast<std::int64_t>(bytes->size());
    response_.set_chunk(*std::move(bytes));
    StartWrite(&response_);
  }

  ArtifactStore& artifacts_;
  WorkPool& pool_;
  const Place place_;
  Gate& doors_;
  const Principal who_;
  HeldPlace own_place_;  // among its caller's
  const v1::DownloadArtifactRequest request_;
  const std::string sha256_;
  std::int64_t offset_, size_ = 0;
  v1::DownloadArtifactResponse response_;
};

}  // namespace

LOCUS_CALLS_OF_ArtifactService(LOCUS_SERVE_CALL)

    grpc::ServerReadReactor<v1::UploadArtifactRequest>* ArtifactService::UploadArtifact(
        grpc::CallbackServerContext* context, v1::UploadArtifactResponse* response) {
  return new Upload(store_, artifacts_, gate_, disk_, pool_, clock_, transfers_, api_.gate(),
                    principal_of(api_.gate(), *context), response);  // deletes itself in OnDone
}

grpc::ServerWriteReactor<v1::DownloadArtifactResponse>* ArtifactService::DownloadArtifact(
    grpc::CallbackServerContext* context, const v1::DownloadArtifactRequest* request) {
  return new Download(artifacts_, pool_, transfers_, api_.gate(), principal_of(api_.gate(), *context),
                      *request);  // deletes itself in OnDone
}

}  // namespace locus::server
