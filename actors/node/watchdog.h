/// The last resort against a process that does not end.
#pragma once

#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "actors/net/log.h"

namespace swarm::actors {

/// Ends the process if shutting down takes longer than people wait. By then the supervisor has said, or its
/// silence has been taken for it, whether what the node held is on its disk.
class Watchdog {
 public:
  Watchdog(std::chrono::milliseconds limit, int exit_code)
      : thread_([this, limit, exit_code] {
          std::unique_lock<std::mutex> lock(mutex_);
          if (done_.wait_for(lock, limit, [this] { return over_; })) return;
          log_error("event=shutdown_hangs action=exit");
          ::_exit(exit_code);
        }) {}
  ~Watchdog() {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      over_ = true;
    }
    done_.notify_all();
    thread_.join();
  }

 private:
  std::mutex mutex_;
  std::condition_variable done_;
  bool over_ = false;
  std::thread thread_;
};

}  // namespace swarm::actors
