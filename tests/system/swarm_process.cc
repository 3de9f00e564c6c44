#include "tests/system/swarm_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <boost/test/framework.hpp>
#include <boost/test/results_collector.hpp>
#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <thread>

namespace swarm::testing {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr)
    throw std::runtime_error(std::string(name) + " is not set; run this through ctest");
  return value;
}

std::string read_file(const std::string& path) {
  std::ifstream stream(path);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

}  // namespace

std::string swarm_binary() { return environment("SWARM_BINARY"); }
std::string tiny_config() { return environment("SWARM_SYSTEM_CONFIG") + "/tiny.toml"; }

bool wait_until(const std::function<bool()>& condition, std::chrono::seconds limit) {
  const auto end = Clock::now() + limit;
  while (!condition()) {
    if (Clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return true;
}

TemporaryFolder::TemporaryFolder() {
  std::string pattern = (fs::temp_directory_path() / "swarm-system-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("cannot make " + pattern);
  path_ = pattern;
}

TemporaryFolder::~TemporaryFolder() {
  const auto& test = boost::unit_test::framework::current_test_case();
  const auto& results = boost::unit_test::results_collector.results(test.p_id);
  if (!results.passed() || results.p_assertions_failed > 0) {
    BOOST_TEST_MESSAGE("kept for inspection: " << path_);
    return;
  }
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

Process::Process(const std::vector<std::string>& arguments, const std::string& output_file,
                 const std::string& program)
    : output_file_(output_file) {
  std::string binary = program;
  std::vector<std::string> copy = arguments;
  std::vector<char*> argv = {binary.data()};
  for (auto& argument : copy) argv.push_back(argument.data());
  argv.push_back(nullptr);
  pid_ = ::fork();
  if (pid_ < 0) throw std::runtime_error("cannot fork");
  if (pid_ > 0) return;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // no swarm outlives its test
  ::setpgid(0, 0);
  const int input = ::open("/dev/null", O_RDONLY);
  const int output = ::open(output_file.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
  ::dup2(input, 0);
  ::dup2(output, 1);
  ::dup2(output, 2);
  ::execv(argv[0], argv.data());
  ::_exit(127);
}

Process::~Process() {
  if (!running()) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

void Process::signal(int number) const {
  if (!ended_) ::kill(pid_, number);
}

bool Process::running() {
  if (ended_) return false;
  int status = 0;
  if (::waitpid(pid_, &status, WNOHANG) != pid_) return true;
  ended_ = true;
  exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return false;
}

int Process::wait(std::chrono::seconds limit) {
  return wait_until([this] { return !running(); }, limit) ? exit_code_ : -1;
}

std::string Process::output() const { return read_file(output_file_); }

std::vector<Json> RunFolder::lines(const std::string& file) const {
  std::vector<Json> out;
  std::istringstream stream(read_file(path_ + "/" + file));
  for (std::string line; std::getline(stream, line);) {
    if (stream.eof()) break;  // its end is not written yet
    Json json = Json::parse(line, nullptr, false);
    if (!json.is_discarded()) out.push_back(std::move(json));
  }
  return out;
}

std::vector<Json> RunFolder::events(const std::string& name) const {
  std::vector<Json> out;
  for (auto& line : lines("events.jsonl"))
    if (line.value("event", "") == name) out.push_back(std::move(line));
  return out;
}

int64_t RunFolder::steps_closed() const {
  int64_t closed = 0;
  for (const auto& line : lines("metrics.jsonl"))
    closed = std::max(closed, line.value("step", int64_t{-1}) + 1);
  return closed;
}

Json RunFolder::summary() const {
  return Json::parse(read_file(path_ + "/summary.json"), nullptr, false);
}

pid_t RunFolder::pid(const std::string& node) const {
  const Json json = Json::parse(read_file(path_ + "/nodes/" + node + "/node.json"), nullptr, false);
  return json.is_object() ? json.value("pid", 0) : 0;
}

std::map<std::string, pid_t> RunFolder::pids() const {
  std::map<std::string, pid_t> out;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(path_ + "/nodes", ignored)) {
    const std::string name = entry.path().filename().string();
    if (const pid_t found = pid(name)) out[name] = found;
  }
  return out;
}

std::string RunFolder::coordinator() const {
  std::string node;
  for (const auto& event : events("coordinator")) node = event.value("node", "");
  return node;
}

RunFolder newest_run(const std::string& folder) {
  std::string newest;
  wait_until([&] {
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(folder + "/tiny", ignored))
      newest = std::max(newest, entry.path().string());
    return !newest.empty();
  });
  return RunFolder(newest);
}

bool is_alive(pid_t pid) {
  // A zombie answers kill(0) until its parent has collected it.
  const std::string stat = read_file("/proc/" + std::to_string(pid) + "/stat");
  const size_t name_end = stat.rfind(')');
  return name_end != std::string::npos && stat.size() > name_end + 2 && stat[name_end + 2] != 'Z';
}

int64_t resident_kib(pid_t pid) {
  std::ifstream stream("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(stream, line);)
    if (line.rfind("VmRSS:", 0) == 0) return std::stoll(line.substr(6));
  return 0;
}

double unix_now_s() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace swarm::testing
