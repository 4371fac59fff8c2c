// The daemon as a process of its own, to be killed: NAME=VALUE arguments become WorkerOptions.
#include <cstdlib>
#include <string>

#include "worker/app/worker.h"

int main(int argc, char** argv) {
  locus::WorkerOptions options;
  options.isolate = "off";  // gates of tests lie anywhere
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const std::string name = word.substr(0, word.find('='));
    const std::string value = word.substr(word.find('=') + 1);
    const auto number = std::atoi(value.c_str());
    const auto milliseconds = std::chrono::milliseconds(number);
    if (name == "server") options.server = value;
    if (name == "name") options.name = value;
    if (name == "device") options.device = value;
    if (name == "per_gpu") options.per_gpu = value;
    if (name == "work") options.work = value;
    if (name == "trainer") options.trainer = value;
    if (name == "isolate") options.isolate = value;
    if (name == "slots") options.slots = number;
    if (name == "threads") options.threads = number;
    if (name == "memory_bytes") options.memory_bytes = number;
    if (name == "once") options.once = number != 0;
    if (name == "outbox_bytes") options.outbox_bytes = number;
    if (name == "silence") options.silence = milliseconds;
    if (name == "start_silence") options.start_silence = milliseconds;
    if (name == "exit_when_idle") options.exit_when_idle = milliseconds;
    if (name == "lifetime") options.lifetime = milliseconds;
    if (name == "kill_wait") options.kill_wait = milliseconds;
    if (name == "heartbeat") options.heartbeat = milliseconds;
    if (name == "data_root") options.data_root = value;
    if (name == "take_over") options.take_over = number != 0;
    if (name == "look_at_data") options.look_at_data = milliseconds;
    if (name == "sample") options.sample_interval = milliseconds;
    if (name == "protocol") options.protocol_version = number;
  }
  return locus::worker_main(options);
}
