// A trainer without an engine: speaks docs/formats/trainer.md, does what the stage's "script" says. For the
// daemon's tests.
//
// script: {"steps": n, "checkpoint_at": [steps], "validate_at": [steps],
//          "read": [paths], which the environment says what became of,
//          "hand_over": path, of a checkpoint sent at the end,
//          "lose_parked": true, for parking without a checkpoint,
//          "at": {"<step>": {"do": "<action>", "attempt": k or absent, "rank": r or absent, ...}}}
// A rank above 0 tells of its life and its end alone.
// Actions, before the step is reported: "signal" (number), "exit" (status), "hang", "hang-hard" (ignores
// SIGTERM), "gate" (path of a FIFO: waits until someone has opened and closed it for writing), "await-wish",
// "await-until" (step: waits until that is its stop point),
// "ask" (question, as: the attempt it says it is of; a refusal ends it, the environment has the answer),
// "fail" (class, reason), "tell-gpus" (fails with what CUDA_VISIBLE_DEVICES says), "garbage", "print" (text), "idle-exit" (after done). A checkpoint is a file with
// the step; the value of every point is its step.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "core/base/frame.h"
#include "core/base/sha256.h"
#include "core/base/trainer_protocol.h"

namespace locus {
namespace {

// That of FAKE_TRAINER_CATALOG, a file, if set.
Json catalog() {
  if (const char* path = std::getenv("FAKE_TRAINER_CATALOG")) {
    std::ifstream in(path);
    return Json::parse(in);
  }
  Json item = {{"kind", "stage"},
               {"id", "train"},
               {"aliases", Json::array()},
               {"revision", 1},
               {"summary", "scripted"},
               {"options", Json::array()},
               {"constraints", Json::array()}};
  return {{"version", 1}, {"items", Json::array({item})}};
}

class Trainer {
 public:
  explicit Trainer(int fd) : fd_(fd) {}

  int serve() {
    const char* protocol = std::getenv("FAKE_TRAINER_PROTOCOL");
    write_frame(fd_, {{"type", "hello"},
                      {"protocol", protocol ? std::atoi(protocol) : kTrainerProtocolVersion},
                      {"pid", ::getpid()},
                      {"catalog_digest", sha256_hex(canonical_json(catalog()))}});
    while (const auto frame = read_frame(fd_)) {
      if (frame->at("type") == "shutdown") return 0;
      if (frame->at("type") == "start") train(*frame);
    }
    return 0;
  }

 private:
  void train(const Json& start) {
    attempt_ = start.at("attempt").get<std::string>();
    const char* script = std::getenv("FAKE_TRAINER_SCRIPT");  // for stages that bring none
    script_ = start.at("stage").contains("script") ? start.at("stage").at("script") : Json::parse(script ? script : "");
    work_ = start.at("execution").at("work").get<std::string>();
    rank_ = start.at("execution").value("/gang/rank"_json_pointer, 0);
    wish_.clear();
    until_ = start.value("until", std::int64_t{0});
    step_ = 0;
    if (!start.at("resume").is_null()) std::ifstream(start.at("resume").get<std::string>()) >> step_;
    const std::int64_t resumed = step_;
    const std::int64_t steps = script_.at("steps").get<std::int64_t>();
    const char* threads = std::getenv("OMP_NUM_THREADS");
    environment_ = {{"device", start.at("execution").at("device")},
                    {"threads", threads ? threads : ""},
                    {"inputs", start.at("inputs")},
                    {"pid", ::getpid()}};
    if (start.at("execution").contains("gang")) environment_["gang"] = start.at("execution").at("gang");
    for (const Json& path : script_.value("read", Json::array())) environment_["read"].push_back(read_error(path));
    send({{"type", "started"}, {"environment", environment_}, {"steps", steps}, {"resumed_step", resumed}});
    while (step_ < steps) {
      take_wish(false);
      if (parks()) return park();
      if (!wish_.empty()) return stop();
      ++step_;
      if (!act()) return;
      if (!wish_.empty()) {
        --step_;
        return stop();
      }
      report();
    }
    if (script_.contains("hand_over")) {
      send({{"type", "checkpoint"}, {"step", step_}, {"path", script_.at("hand_over")}, {"bytes", 1}, {"best", false}});
    }
    if (rank_ > 0) {
      const Json none = Json::array();
      return send({{"type", "done"}, {"outcome", "succeeded"}, {"results", none}, {"outputs", none}});
    }
    const std::string path = checkpoint_file();
    Json key = {{"metric", "top1"}, {"split", "test"}, {"labels", Json::object()}};
    key["reducer"] = "last", key["value"] = 0.5, key["step"] = step_;
    send({{"type", "done"},
          {"outcome", "succeeded"},
          {"results", Json::array({key})},
          {"environment", environment_},
          {"peak_memory_bytes", script_.value("peak_memory_bytes", 0)},
          {"outputs", outputs_with(path)}});
    if (script_.value("exit_after_done", false)) ::_exit(0);
  }

  // 0: it can be read.
  static int read_error(const std::string& path) {
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) return errno;
    ::close(file);
    return 0;
  }

  void report() {
    const double step = static_cast<double>(step_);
    const Json progress = {{"type", "progress"}, {"step", step_}, {"steps", script_.at("steps")}, {"phase", "train"}};
    if (rank_ > 0) return send(progress);
    send({{"type", "points"},
          {"series", Json::array({{{"metric", "loss"}, {"split", "train"}, {"labels", Json::object()}}})},
          {"rows",
           Json::array({Json::array({0, step_, step / 10, step_ * 32, 1, step_ == 3 ? Json("NaN") : Json(step)})})}});
    send(progress);
    for (const Json& at : script_.value("checkpoint_at", Json::array())) {
      if (at == step_) send_checkpoint();
    }
  }

  void send_checkpoint() {
    const std::string path = checkpoint_file();
    send({{"type", "checkpoint"}, {"step", step_}, {"path", path}, {"bytes", 1}, {"best", false}});
  }

  std::string checkpoint_file() {
    const std::string path = work_ + "/checkpoint-" + std::to_string(step_);
    std::ofstream(path) << step_ << "\n" << attempt_;
    return path;
  }

  // The checkpoint, and as many pictures as the script asks for.
  Json outputs_with(const std::string& checkpoint) {
    Json out = Json::array({{{"slot", "checkpoint"}, {"path", checkpoint}, {"step", step_}}});
    const auto add = [&](const std::string& slot, const std::string& bytes) {
      const std::string path = work_ + "/" + slot;
      std::ofstream(path) << bytes;
      out.push_back({{"slot", slot}, {"path", path}, {"step", step_}});
    };
    const int pictures = script_.value("pictures", 0);
    for (int i = 1; i <= pictures; ++i) add("picture-" + std::to_string(i), attempt_ + " " + std::to_string(i));
    if (pictures > 0) add("pictures", Json({{"version", 1}, {"pictures", pictures}}).dump());
    return out;
  }

  void stop() {
    const bool cancelled = wish_ == "cancel";
    if (!cancelled) send_checkpoint();
    send({{"type", "done"},
          {"outcome", cancelled ? "cancelled" : "stopped"},
          {"results", Json::array()},
          {"outputs", Json::array()}});
  }

  // Behind the step that is done.
  bool parks() const {
    const Json validations = script_.value("validate_at", Json::array());
    const bool validated = std::find(validations.begin(), validations.end(), Json(step_)) != validations.end();
    return validated && until_ != 0 && step_ >= until_;  // -1: at any
  }

  void park() {
    if (!script_.value("lose_parked", false)) send_checkpoint();
    send({{"type", "done"},
          {"outcome", kOutcomeParked},
          {"step", step_},
          {"results", Json::array()},
          {"outputs", Json::array()}});
  }

  // False when the attempt has ended.
  bool act() {
    const Json actions = script_.value("at", Json::object());
    const auto found = actions.find(std::to_string(step_));
    if (found == actions.end()) return true;
    const std::string number = attempt_.substr(attempt_.find('/') + 1);
    if (found->contains("attempt") && found->at("attempt").dump() != number) return true;
    if (found->contains("rank") && found->at("rank") != rank_) return true;
    const std::string what = found->at("do").get<std::string>();
    if (what == "print") std::printf("%s\n", found->at("text").get<std::string>().c_str()), std::fflush(stdout);
    if (what == "signal") {
      std::fprintf(stderr, "about to be signalled\n");
      const int signal = found->at("number").get<int>();
      ::signal(signal, SIG_DFL);  // sanitizers handle some themselves
      ::raise(signal);
    }
    if (what == "exit") ::_exit(found->at("status").get<int>());
    if (what == "hang-hard") ::signal(SIGTERM, SIG_IGN);
    if (found->contains("pid_file")) {
      const std::string file = found->at("pid_file").get<std::string>();
      std::ofstream(file + ".new") << ::getpid() << "\n";
      ::rename((file + ".new").c_str(), file.c_str());
    }
    if (what == "hang" || what == "hang-hard") {
      while (true) ::pause();
    }
    if (what == "gate") wait_at_gate(found->at("path").get<std::string>());
    if (what == "await-wish") take_wish(true);
    if (what == "ask" && !ask(*found)) return false;
    while (what == "await-until" && until_ != found->at("step").get<std::int64_t>()) take_frame();
    if (what == "garbage") [[maybe_unused]]
      const ssize_t n = ::write(fd_, "\xff\xff\xff\xff garbage", 12);
    if (what == "tell-gpus") {
      const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
      send({{"type", "failed"}, {"class", "code"}, {"reason", "sees GPU " + std::string(visible ? visible : "?")}});
      return false;
    }
    if (what != "fail") return true;
    send({{"type", "failed"}, {"class", found->at("class")}, {"reason", found->at("reason")}});
    return false;
  }

  bool ask(const Json& action) {
    Json question = action.at("question");
    question.update({{"type", "store"}, {"ask", 1}, {"attempt", action.value("as", attempt_)}});
    write_frame(fd_, question);
    auto frame = read_frame(fd_);
    while (frame && frame->at("type") != "stored") frame = read_frame(fd_);
    if (!frame) ::_exit(0);
    environment_["answered"] = *frame;
    if (!frame->contains("refused")) return true;
    send({{"type", "failed"}, {"class", "code"}, {"reason", frame->at("refused")}});
    return false;
  }

  void wait_at_gate(const std::string& path) {
    const int gate = ::open(path.c_str(), O_RDONLY);
    if (gate < 0) return;
    ::unlink(path.c_str());
    char byte = 0;
    while (::read(gate, &byte, 1) > 0) {
    }
    ::close(gate);
  }

  void take_wish(bool wait) {
    pollfd readable{fd_, POLLIN, 0};
    while (wish_.empty() && ::poll(&readable, 1, wait ? -1 : 0) > 0) take_frame();
  }

  void take_frame() {
    const auto frame = read_frame(fd_);
    if (!frame || frame->at("type") == "shutdown") ::_exit(0);
    if (frame->value("attempt", "") != attempt_) return;
    if (frame->at("type") == "wish") wish_ = frame->at("wish").get<std::string>();
    if (frame->at("type") == kFrameUntil) until_ = frame->at("step").get<std::int64_t>();
  }

  void send(Json frame) {
    frame["attempt"] = attempt_;
    write_frame(fd_, frame);
  }

  const int fd_;
  std::string attempt_, work_, wish_;
  Json script_, environment_;
  std::int64_t step_ = 0, until_ = 0;
  int rank_ = 0;
};

}  // namespace
}  // namespace locus

int main(int argc, char** argv) {
  const std::string command = argc > 1 ? argv[1] : "";
  if (command == "devices") {
    locus::Json devices = {{"cpu", true}, {"cuda", locus::Json::array()}, {"together", {"cpu", "cuda"}}};
    const char* gpus = std::getenv("FAKE_TRAINER_GPUS");
    for (int i = 0; gpus && i < std::atoi(gpus); ++i)
      devices["cuda"].push_back({{"index", i}, {"name", "Pretended"}, {"memory_bytes", 16'000'000'000}});
    std::puts(devices.dump().c_str());
  }
  if (command == "catalog") std::puts(locus::catalog().dump().c_str());
  if (command != "run" || argc < 4) return 0;
  try {
    return locus::Trainer(std::atoi(argv[3])).serve();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "fake trainer: %s\n", error.what());
    return 1;
  }
}
