/// From whom a state is downloaded, range by range: which offer is taken, who reads what, who takes
/// over from a source that failed, when it is asked again, when it is given up. Carried out by
/// actors/state/state_download.cc.
///
/// The newest step on offer is taken (or exactly the one that is wanted); among equal steps, the
/// bytes (digest, size) that most sources offer. All who offer those bytes are read in parallel.
/// When sources together gave wrong bytes, each is tried alone, so one liar cannot stop the others.
///
/// Pure: what happened comes in, orders come out, in the order in which they are to be carried out;
/// the pauses of kWake are the only time. Not thread-safe; one owner.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/result.h"
#include "common/strong_id.h"

namespace swarm::routing {

/// The bytes that a source has.
struct StateOffer {
  Step step;
  uint64_t digest = 0, size_bytes = 0;

  friend bool operator==(const StateOffer& a, const StateOffer& b) {
    return a.step == b.step && a.digest == b.digest && a.size_bytes == b.size_bytes;
  }
  friend bool operator<(const StateOffer& a, const StateOffer& b);
};

struct DownloadPlanOptions {
  std::optional<Step> exact_step;   ///< None: the newest on offer.
  uint64_t max_bytes = 0;           ///< No larger offer can be right.
  uint64_t chunk_bytes = 1u << 20;  ///< Of one read; >= 1.
  uint32_t chunks_in_flight = 4;    ///< Per source; >= 1.
};

/// A range of the state, to be read from one source.
struct DownloadRead {
  uint64_t offset = 0, size_bytes = 0;
  uint64_t download = 0;  ///< Counts kBegin; answers to reads of earlier ones change nothing.
};

struct DownloadOrder {
  enum class Kind {
    kAsk,       ///< `source` what it has. Then offered() or refused().
    kBegin,     ///< Take memory for `offer`; what was there of another one is void.
    kRead,      ///< `read` from `source`. Then received() or failed().
    kVerify,    ///< All bytes are there: compare their digest with the offer's. Then verified().
    kDistrust,  ///< For the log: `source` alone gave bytes that do not match its digest.
    kWake,      ///< Call woken(token) after `pause`.
    kGiveUp,    ///< The last order: nobody could supply the state; `error` names every source.
  };
  Kind kind = Kind::kAsk;
  size_t source = 0;
  StateOffer offer;
  DownloadRead read;
  uint64_t token = 0;
  std::chrono::milliseconds pause{0};
  Error error;
};

class DownloadPlan {
 public:
  using Orders = std::vector<DownloadOrder>;

  /// `sources`: their names, for errors. Requires at least one.
  DownloadPlan(const std::vector<std::string>& sources, const DownloadPlanOptions& options);

  Orders start();
  /// An offer that is too large, or of another step than the exact one, counts as a refusal.
  Orders offered(size_t source, const StateOffer& offer);
  Orders refused(size_t source, const Error& error);
  Orders received(size_t source, const DownloadRead& read);
  /// No answer to a read, or a wrong one. The others take over what this source was asked for.
  Orders failed(size_t source, const DownloadRead& read, const Error& error);
  Orders woken(uint64_t token);
  Orders verified(bool good);

  /// The disk may have these bytes of what is being read: nobody is asked for them while there is more.
  void expect(uint64_t offset, uint64_t size_bytes);
  /// The disk has these bytes, whole chunks: true where nobody has been asked for any of them yet. Then
  /// they count as here, and `orders` follow.
  bool found(uint64_t offset, uint64_t size_bytes, Orders& orders);

  /// False for a read of an earlier download: its answer is not to be used.
  bool awaits(const DownloadRead& read) const { return !over_ && read.download == download_; }
  /// What is being read; none while sources are asked.
  const std::optional<StateOffer>& taken() const { return taken_; }
  uint64_t chunks_missing() const { return missing_; }
  /// Asked for and not here yet, at most.
  uint64_t bytes_in_flight() const {
    uint64_t reads = 0;
    for (const Source& source : sources_) reads += source.in_flight;
    return reads * options_.chunk_bytes;
  }
  /// Bytes of the present download that `source` gave.
  uint64_t supplied(size_t source) const { return sources_[source].supplied; }

 private:
  struct Source {
    std::string name;
    std::optional<StateOffer> offer;
    bool asked = false;   ///< Has not answered yet.
    bool active = false;  ///< Read from.
    bool banned = false;  ///< Gave wrong bytes.
    size_t in_flight = 0;
    uint64_t supplied = 0;
    Error last{ErrorCode::kNotFound, "never answered"};  ///< Why it is not used.
  };

  void ask_all();
  Status check(const StateOffer& offer) const;
  void take(size_t source, const Result<StateOffer>& answer);
  void choose_if_known();
  void choose();
  void begin(const StateOffer& offer);
  void pump(size_t source);
  void pump_all();
  void ask_again_if_alone();
  void retry();
  void give_up();
  std::pair<uint64_t, uint64_t> chunks(uint64_t offset, uint64_t size_bytes) const;
  std::optional<uint64_t> next_chunk();
  void wake(std::chrono::milliseconds pause, bool to_choose);
  DownloadOrder& add(DownloadOrder::Kind kind, size_t source = 0);

  DownloadPlanOptions options_;
  std::vector<Source> sources_;
  Orders orders_;
  int attempts_ = 0;       ///< To ask all, in a row without a byte.
  bool over_ = false;      ///< Given up.
  bool choosing_ = true;   ///< Collecting offers; false while reading.
  bool alone_ = false;     ///< One source at a time, after wrong bytes from several.
  uint64_t download_ = 0;  ///< Counts kBegin.
  std::optional<StateOffer> taken_;
  std::deque<uint64_t> to_read_;  ///< Chunks nobody was asked for.
  std::deque<uint64_t> on_disk_;  ///< Likewise; perhaps.
  uint64_t missing_ = 0;          ///< Chunks not received.
};

}  // namespace swarm::routing
