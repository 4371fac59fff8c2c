// A child that tries what it may and what it may not.
#include "core/process/isolation.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "core/process/program.h"
#include "core/process/spawn.h"

namespace locus {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

// Calls of the probe that must stay as they are; all others it knows must be refused, and clone3 is not there.
const std::set<std::string> kHarmless = {"limits-of-self", "signal-self", "socket-pair", "thread"};
constexpr char kNotThere[] = "clone3";
// What the filter refuses whatever it is asked.
const std::set<std::string> kListed = {
#define LOCUS_REFUSED_CALL(name) #name,
#include "core/process/refused_calls.def"
#undef LOCUS_REFUSED_CALL
};
// Calls that nobody else refuses, a container neither: that they are refused is the filter's doing.
const std::set<std::string> kOpenToAll = {"socket-inet",           "socket-inet6", "socket-local", "socket-netlink",
                                          "socket-netlink-events", "shmget",       "semget",       "msgget",
                                          "limits-of-parent"};

class IsolationTest : public testing::Test {
 protected:
  IsolationTest() {
    std::string name = (fs::temp_directory_path() / "locus-isolation-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
    for (const char* part : {"data", "elsewhere", "work", "closed"}) fs::create_directory(folder_ / part);
    for (const char* file : {"data/images", "elsewhere/more", "work/kept", "closed/secret"})
      std::ofstream(folder_ / file) << "bytes";
    fs::create_directory_symlink(folder_ / "elsewhere", folder_ / "data" / "linked");
  }
  ~IsolationTest() override { fs::remove_all(folder_); }

  void SetUp() override {
    if (!support_.system_calls) GTEST_SKIP() << "this kernel has no filters of system calls";
  }

  IsolationRules rules() const {
    IsolationRules out = program_rules(LOCUS_PROBE, Json::object());
    let_read_data(out, folder_ / "data");
    out.write.push_back(folder_ / "work");
    return out;
  }

  // Without the file of suppressions that the thread sanitizer is told to read: it lies where the probe may not.
  static std::vector<std::string> kept_environment() {
    auto out = current_environment();
    std::erase_if(out, [](const std::string& entry) { return entry.starts_with("TSAN_OPTIONS="); });
    return out;
  }

  // What the probe prints, by its first word.
  std::map<std::string, std::string> probe(const std::vector<std::string>& words,
                                           std::shared_ptr<const Isolation> isolation) const {
    const fs::path file = folder_ / "answer";
    const Fd output(::open(file.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    SpawnRequest request{.arguments = {LOCUS_PROBE},
                         .environment = kept_environment(),
                         .output = output.get(),
                         .error = output.get(),
                         .isolation = std::move(isolation)};
    request.arguments.insert(request.arguments.end(), words.begin(), words.end());
    const auto child = spawn(request);
    EXPECT_TRUE(child.ok()) << child.status();
    if (!child.ok()) return {};
    int status = 0;
    ::waitpid(*child, &status, 0);
    EXPECT_EQ(status, 0);
    std::map<std::string, std::string> out;
    std::ifstream in(file);
    for (std::string name, value; in >> name >> value;) out[name] = value;
    return out;
  }
  std::map<std::string, std::string> isolated(const std::vector<std::string>& words,
                                              const IsolationRules& rules) const {
    const auto isolation = Isolation::prepare(rules);
    EXPECT_TRUE(isolation.ok()) << isolation.status();
    return isolation.ok() ? probe(words, *isolation) : std::map<std::string, std::string>();
  }
  static std::vector<std::string> calls() {
    std::istringstream in(*run_and_capture({LOCUS_PROBE, "calls"}, std::chrono::minutes(1)));
    return {std::istream_iterator<std::string>(in), {}};
  }

  const IsolationSupport support_ = isolation_support();
  fs::path folder_;
};

constexpr char kAllowed[] = "0";
const std::string kRefused = std::to_string(EPERM), kDenied = std::to_string(EACCES);

TEST_F(IsolationTest, RefusesCallsThatATrainerHasNoUseForAndNoOthers) {
  std::vector<std::string> asked = calls();
  std::erase(asked, kNotThere);
  EXPECT_THAT(asked, testing::IsSupersetOf(kListed));
  const auto closed = isolated(asked, rules());
  for (const std::string& call : asked)
    EXPECT_EQ(closed.at(call), kHarmless.contains(call) ? kAllowed : kRefused) << call;
  // Not all of them unfiltered: some could change this machine.
  const std::vector<std::string> harmless_everywhere(kOpenToAll.begin(), kOpenToAll.end());
  const auto open = probe(harmless_everywhere, nullptr);
  for (const std::string& call : kOpenToAll) EXPECT_NE(open.at(call), kRefused) << call;
}

TEST_F(IsolationTest, HidesTheCallWhoseFlagsNoFilterCanSee) {
  EXPECT_EQ(isolated({kNotThere}, rules()).at(kNotThere), std::to_string(ENOSYS));
  const std::string open = probe({kNotThere}, nullptr).at(kNotThere);
  EXPECT_NE(open, kAllowed);
  EXPECT_NE(open, std::to_string(ENOSYS)) << "nothing was hidden: this kernel has no such call";
}

TEST_F(IsolationTest, FilesCanBeReachedWhereWorkNeedsThem) {
  if (support_.landlock == 0) GTEST_SKIP() << "this kernel has no Landlock";
  const std::string at = folder_.string();
  const std::vector<std::string> may = {"read:" + at + "/data/images",
                                        "read:" + at + "/data/linked/more",
                                        "list:" + at + "/data",
                                        "read:" + at + "/work/kept",
                                        "write:" + at + "/work/made",
                                        "link:" + at + "/work/link",
                                        "write:/dev/shm/locus-probe",
                                        "write:/dev/null",
                                        "read:/dev/urandom",
                                        "read:/proc/cpuinfo",
                                        "read:/proc/self/maps",
                                        "list:/sys/devices/system",
                                        "run:/usr/bin/true"};
  const auto found = isolated(may, rules());
  for (const std::string& word : may) EXPECT_EQ(found.at(word), kAllowed) << word;
  fs::remove("/dev/shm/locus-probe");
}

TEST_F(IsolationTest, FilesCannotBeReachedElsewhere) {
  if (support_.landlock == 0) GTEST_SKIP() << "this kernel has no Landlock";
  const std::string at = folder_.string();
  const std::vector<std::string> may_not = {"read:/etc/passwd",
                                            "list:/etc",
                                            "list:/root",
                                            "list:/home",
                                            "read:" + at + "/closed/secret",
                                            "list:" + at + "/closed",
                                            "write:" + at + "/closed/new",
                                            "write:" + at + "/data/images",
                                            "write:" + at + "/data/new",
                                            "write:/tmp/locus-probe",
                                            "link:/tmp/locus-probe",
                                            "write:/usr/bin/locus-probe",
                                            "list:/dev",
                                            "list:/sys/kernel"};
  const auto found = isolated(may_not, rules());
  for (const std::string& word : may_not) EXPECT_EQ(found.at(word), kDenied) << word;
}

TEST_F(IsolationTest, ALinkOfItsOwnLeadsNowhereNew) {
  if (support_.landlock == 0) GTEST_SKIP() << "this kernel has no Landlock";
  const std::string link = (folder_ / "work" / "link").string();
  const auto found = isolated({"link:" + link, "read:" + link}, rules());
  EXPECT_EQ(found.at("link:" + link), kAllowed);
  EXPECT_EQ(found.at("read:" + link), kDenied);
}

TEST_F(IsolationTest, ItsParentCannotBeReached) {
  if (support_.landlock < 6) GTEST_SKIP() << "this kernel's Landlock does not scope signals";
  const std::string parent = std::to_string(::getpid());
  const std::string proc = "read:/proc/" + parent;
  const auto found = isolated({"signal:" + parent, proc + "/environ", proc + "/mem", proc + "/cmdline"}, rules());
  EXPECT_EQ(found.at("signal:" + parent), kRefused);
  for (const char* file : {"/environ", "/mem", "/cmdline"}) EXPECT_EQ(found.at(proc + file), kDenied) << file;
}

TEST_F(IsolationTest, SocketsAreAParameter) {
  const Fd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(at);
  ASSERT_EQ(::bind(listener.get(), reinterpret_cast<sockaddr*>(&at), size), 0);
  ASSERT_EQ(::listen(listener.get(), 1), 0);
  ASSERT_EQ(::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&at), &size), 0);
  const std::vector<std::string> words = {"connect:" + std::to_string(ntohs(at.sin_port)), "socket-inet6",
                                          "socket-local", "socket-netlink", "socket-netlink-events"};
  const std::map<ChildSockets, std::vector<std::string>> expected = {
      {ChildSockets::kNone, {kRefused, kRefused, kRefused, kRefused, kRefused}},
      {ChildSockets::kLocal, {kRefused, kRefused, kAllowed, kRefused, kRefused}},
      {ChildSockets::kNetwork, {kAllowed, kAllowed, kAllowed, kAllowed, kRefused}}};
  for (const auto& [sockets, answers] : expected) {
    IsolationRules asked = rules();
    asked.sockets = sockets;
    const auto found = isolated(words, asked);
    for (std::size_t i = 0; i < words.size(); ++i)
      EXPECT_EQ(found.at(words[i]), answers[i]) << words[i] << " with " << static_cast<int>(sockets);
  }
}

TEST_F(IsolationTest, AbstractSocketsOutsideCannotBeReached) {
  if (support_.landlock < 6) GTEST_SKIP() << "this kernel's Landlock does not scope abstract sockets";
  const Fd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un at{};
  at.sun_family = AF_UNIX;
  ASSERT_EQ(::bind(listener.get(), reinterpret_cast<sockaddr*>(&at), sizeof(sa_family_t)), 0);  // any free name
  ASSERT_EQ(::listen(listener.get(), 1), 0);
  socklen_t size = sizeof(at);
  ASSERT_EQ(::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&at), &size), 0);
  const std::string word = "abstract:" + std::string(at.sun_path + 1, size - offsetof(sockaddr_un, sun_path) - 1);
  IsolationRules local = rules();
  local.sockets = ChildSockets::kLocal;
  EXPECT_EQ(probe({word}, nullptr).at(word), kAllowed);
  EXPECT_EQ(isolated({word}, local).at(word), kRefused);
}

TEST_F(IsolationTest, LandlockAloneKeepsTcpOut) {
  if (support_.landlock < 4) GTEST_SKIP() << "this kernel's Landlock knows no TCP";
  const auto isolation = Isolation::prepare(rules(), {support_.landlock, false});
  ASSERT_TRUE(isolation.ok()) << isolation.status();
  const auto found = probe({"connect:9", "bind:0"}, *isolation);
  EXPECT_EQ(found.at("connect:9"), kDenied);
  EXPECT_EQ(found.at("bind:0"), kDenied);
}

TEST_F(IsolationTest, LeavesNoCoreFilesAndGoesFirstWhenMemoryIsShort) {
  const auto found = isolated({}, rules());
  EXPECT_EQ(found.at("core-limit"), "0");
  EXPECT_EQ(found.at("umask"), std::to_string(077));
  EXPECT_EQ(found.at("out-of-memory-score"), "500");
}

TEST_F(IsolationTest, SaysWhatHoldsOnEveryKernel) {
  const auto held = [&](int landlock, bool system_calls) {
    const auto isolation = Isolation::prepare(rules(), {std::min(landlock, support_.landlock), system_calls});
    return isolation.ok() ? (*isolation)->held() : std::string(isolation.status().message());
  };
  EXPECT_EQ(held(0, false), "none");
  EXPECT_EQ(held(0, true), "network, system-calls");
  if (support_.landlock < 6) GTEST_SKIP() << "this kernel has no newer Landlock";
  EXPECT_EQ(held(1, false), "files");
  EXPECT_EQ(held(2, true), "files, network, system-calls");
  EXPECT_EQ(held(4, false), "files, network");
  EXPECT_EQ(held(6, true), "files, network, signals, system-calls");
}

TEST_F(IsolationTest, EveryVersionOfLandlockThatTheKernelHasIsTaken) {
  for (int version = 1; version <= support_.landlock; ++version) {
    const auto isolation = Isolation::prepare(rules(), {version, true});
    ASSERT_TRUE(isolation.ok()) << isolation.status();
    const auto found = probe({"read:/etc/passwd", "read:" + (folder_ / "data/images").string()}, *isolation);
    EXPECT_EQ(found.at("read:/etc/passwd"), kDenied) << version;
    EXPECT_EQ(found.at("read:" + (folder_ / "data/images").string()), kAllowed) << version;
  }
}

TEST(ProgramEnvironment, HoldsNeitherSecretsNorTheLoadersSwitches) {
  const auto out =
      program_environment({"PATH=/bin", "LC_ALL=C", "TZ=UTC", "OMP_PLACES=cores", "CUDA_DEVICE_ORDER=PCI_BUS_ID",
                           "LOCUS_KERNELS=/k.so", "LD_PRELOAD=/x.so", "LD_LIBRARY_PATH=/x", "AWS_SECRET_ACCESS_KEY=a",
                           "LOCUS_TOKEN=b", "GITHUB_TOKEN=c", "NVIDIA_API_KEY=d", "HOME=/root", "SSH_AUTH_SOCK=/s"});
  const std::set<std::string> told(out.begin(), out.end());
  for (const char* line :
       {"PATH=/bin", "LC_ALL=C", "TZ=UTC", "OMP_PLACES=cores", "CUDA_DEVICE_ORDER=PCI_BUS_ID", "LOCUS_KERNELS=/k.so"})
    EXPECT_TRUE(told.contains(line)) << line;
  for (const std::string& line : told) {
    for (const char* word : {"LD_", "AWS_", "TOKEN", "KEY", "HOME", "SSH_"})
      EXPECT_FALSE(line.starts_with(word) || line.substr(0, line.find('=')).ends_with(word)) << line;
  }
}

TEST(IsolationMode, HasThreeWords) {
  EXPECT_EQ(parse_isolation("off"), IsolationMode::kOff);
  EXPECT_EQ(parse_isolation("auto"), IsolationMode::kAuto);
  EXPECT_EQ(parse_isolation("required"), IsolationMode::kRequired);
  EXPECT_EQ(parse_isolation("on"), std::nullopt);
}

}  // namespace
}  // namespace locus
