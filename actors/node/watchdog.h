/// The last resort against a process that does not end.
#pragma once

#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "actors/net/log.h"

namespace swarm::actors {

/// Ends the process if shutting down takes longer than people wait.
class Watchdog {
 public:
  explicit Watchdog(std::chrono::milliseconds limit)
      : thread_([this, limit] {
          std::unique_lock<std::mutex> lock(mutex_);
          if (done_.wait_for(lock, limit, [this] { return over_; })) return;
          log_error("event=shutdown_hangs action=exit");
          ::_exit(1);
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
