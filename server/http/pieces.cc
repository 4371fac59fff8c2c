// Answers in pieces: chunked, each made on the work pool while the one before it is being taken.

#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <cstdio>

#include "core/log/log.h"

#include "server/http/session.h"

namespace locus::server {
namespace {

std::string chunk_of(const std::string& bytes) {
  char size[32];
  std::snprintf(size, sizeof size, "%zx\r\n", bytes.size());
  return size + bytes + "\r\n";
}

}  // namespace

void Session::begin_pieces(HttpResponse response) {
  more_ = std::move(response.more);
  text_ =
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\nContent-Type: " + response.content_type +
      "\r\nCache-Control: " + response.cache_control + "\r\n";
  for (const auto& [name, value] : security_headers()) text_ += name + ": " + value + "\r\n";
  text_ += "\r\n";
  if (response.body.empty()) {
    more_ = nullptr;
    text_ += "0\r\n\r\n";
  } else {
    text_ += chunk_of(response.body);
  }
  write_piece();
}

void Session::write_piece() {
  stream_.expires_after(kWriteTimeout);
  boost::asio::async_write(stream_, boost::asio::buffer(text_), [self = shared_from_this()](Error error, std::size_t) {
    if (error || !self->more_) return self->close();
    self->next_piece();
  });
}

void Session::next_piece() {
  context_->pool.post([self = shared_from_this()] {
    auto piece = self->more_();
    boost::asio::post(self->stream_.get_executor(), [self, piece = std::move(piece)]() mutable {
      if (!piece.ok()) {
        // Without its last chunk the answer is visibly not whole.
        log_warning("http: an answer broke off: {}", std::string(piece.status().message()));
        return self->close();
      }
      self->text_ = piece->empty() ? "0\r\n\r\n" : chunk_of(*piece);
      if (piece->empty()) self->more_ = nullptr;
      self->write_piece();
    });
  });
}

}  // namespace locus::server
