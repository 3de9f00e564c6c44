/// The microbatches of a stage server: carries them from arrival through forward, the next stage
/// and backward to the answer, in the order that a MicrobatchDesk decides.
#pragma once

#include <caf/response_promise.hpp>
#include <memory>
#include <optional>
#include <string>

#include "actors/net/links/admission.h"
#include "actors/stage/microbatch.h"
#include "actors/stage/microbatch_times.h"
#include "actors/stage/stage_client.h"
#include "actors/stage/stage_context.h"
#include "actors/stage/stage_updates.h"
#include "actors/stage/sum_entry.h"
#include "common/strong_id.h"
#include "routing/membership/work_rate.h"
#include "routing/steps/answer_cache.h"
#include "routing/steps/microbatch_desk.h"
#include "routing/steps/slot_fault.h"

namespace swarm::actors {

/// Part of the state of a StageServer; used only from its handlers.
class Microbatches {
 public:
  Microbatches(StageContext& context, StageUpdates& updates);

  caf::result<Mail> on_forward(const Mail& mail);
  /// From whom the microbatch came; others cancel nothing.
  void on_cancel(const Mail& mail);
  /// Attempts below were leased before the swarm gathered last. It only rises.
  void refuse_attempts_below(Attempt attempt);

  /// Starts what is due, if nothing is computed.
  void compute_next();
  /// Nobody waits for microbatches whose budget is long used up. Call on a timer.
  void end_late_ones();
  void end_before(Step step, const Error& error);
  void forget_answers() { answers_.clear(); }

  /// Null at the last stage.
  StageClient* next_stage() { return next_stage_.get(); }
  /// Work in hand [s]: what waits for the device or is on it. What waits for the stages behind is
  /// their load, not this peer's.
  double load_s() const { return mean_compute_s_ * static_cast<double>(desk_.in_hand()); }
  /// Some are here, or on their way through.
  bool any() const { return desk_.size() > 0; }
  void describe_to(proto::RegisterPeer& message);
  std::string describe() const;
  /// Tells the links whether one more like the last would be taken: as the phase, or what is resident, changes.
  void update_admission();

 private:
  using Key = MicrobatchKey;
  struct Work {  ///< Between arrival and answer.
    Microbatch microbatch;
    Promises promises;  ///< A repeat joins the first.
    bool kept = false;  ///< The stage keeps something under the key.
    uint64_t sending = 0;
    MicrobatchTimes times;
    std::optional<Downstream> downstream;
  };
  struct Pass {  ///< Of a compute job.
    tensor::EncodedTensor tensor;
    double loss_sum = 0;
    LocalUpdates updates;
    bool sum_changed = false;  ///< By itself, so that nothing was added to it.
  };
  struct Adding {  ///< Whether a backward adds to the sum, and to which.
    bool enters = false, adds = false;
    uint64_t epoch = 0;
  };
  using Desk = routing::MicrobatchDesk<Work>;

  caf::result<Mail> refuse_overload();
  uint32_t retry_after_ms() const;
  /// Of one of `samples` that brings `body_bytes`.
  uint64_t resident_bytes(uint64_t body_bytes, uint32_t samples) const;
  void run_forward(const Key& key, Work& work);
  void run_last_stage(const Key& key, Work& work);
  void run_backward(const Key& key, Work& work);
  Adding decide_adding(const Microbatch& microbatch);
  SumEntry sum_entry(const Key& key, const Adding& adding) const;
  bool injected_non_finite(const Key& key) const;
  void forward_done(const Key& key, Result<Pass> pass, double seconds);
  void send_on(const Key& key, Work& work, const tensor::EncodedTensor& activations);
  void gradient_back(const Key& key, Result<StageClient::Outcome> outcome);
  void backward_done(const Key& key, const Adding& adding, Result<Pass> pass, double seconds);
  Mail make_reply(const Work& work, double loss_sum, const tensor::EncodedTensor& gradient,
                  bool held) const;
  void answer(const Key& key, const Result<Mail>& reply);
  void answer_error(const Key& key, const Error& error);
  void answer_non_finite(const Key& key, const proto::RouteHop& where);

  StageContext& context_;
  StageUpdates& updates_;
  MicrobatchLimits limits_;
  std::optional<routing::SlotFault> non_finite_;  ///< A defect: see FaultOptions.non_finite.
  std::unique_ptr<StageClient> next_stage_;
  Desk desk_;
  routing::AnswerCache<Key, Mail> answers_;
  Attempt min_attempt_;
  bool computing_ = false;
  std::shared_ptr<Admission> admission_ = std::make_shared<Admission>();  ///< With the links.
  /// Body of the last one that came, was sent on, came back.
  uint64_t came_bytes_ = 0, sent_bytes_ = 0, gradient_bytes_ = 0;
  uint32_t came_samples_ = 0;
  double mean_compute_s_ = 0;  ///< Per microbatch, forward and backward, EMA.
  routing::WorkRate work_;
  uint64_t forwards_ = 0, refused_ = 0, stale_ = 0;
};

}  // namespace swarm::actors
