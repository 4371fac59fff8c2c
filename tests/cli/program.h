// Runs the `locus` program as users do: as a child process, and a server of it for the length of a test.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace locus {

struct Outcome {
  int status = -1;  // exit status; -1 when a signal ended it
  std::string out, err;
};

// A folder that goes with the test.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }
  std::string write(const std::string& name, const std::string& text) const;  // the file's path

 private:
  std::filesystem::path path_;
};

using Environment = std::vector<std::pair<std::string, std::string>>;

// Runs `locus` with these arguments to its end. Nothing of the tester's own settings reaches it.
Outcome run_locus(const std::vector<std::string>& arguments, const std::string& standard_input = "",
                  const Environment& environment = {});

// The command tree, as `locus reference command-line --json` tells it.
const nlohmann::json& manual();
const nlohmann::json* find_command(const std::string& name);  // null for an unknown one

// `locus` running beside the test.
class RunningLocus {
 public:
  explicit RunningLocus(const std::vector<std::string>& arguments, const Environment& environment = {});
  ~RunningLocus();  // kills it if it still runs
  RunningLocus(const RunningLocus&) = delete;
  RunningLocus& operator=(const RunningLocus&) = delete;

  std::string first_line();  // of its standard output
  Outcome wait();            // for its end; `out` is what came after the first line
  Outcome stop();            // SIGTERM, then wait()

 private:
  int pid_ = -1, out_ = -1;
  TemporaryFolder folder_;
};

// `locus serve` on free ports of loopback with the test catalog; stopped by SIGTERM.
class LiveServer {
 public:
  explicit LiveServer(const std::filesystem::path& data, const std::string& address = "127.0.0.1:0",
                      const std::string& catalog = LOCUS_TEST_CATALOG);
  ~LiveServer() { stop(); }
  LiveServer(const LiveServer&) = delete;
  LiveServer& operator=(const LiveServer&) = delete;

  const std::string& address() const { return address_; }
  const std::string& http() const { return http_; }
  int stop();  // its exit status

 private:
  int pid_ = -1, status_ = -1;
  std::string address_, http_;
};

}  // namespace locus
