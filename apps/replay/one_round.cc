#include "apps/replay/one_round.h"

#include <cmath>
#include <memory>
#include <utility>

#include "tensor/core/flat.h"

namespace swarm::replay {
namespace {

using actors::AllReduce;

struct Asked {
  uint32_t by = 0, of = 0;
  size_t number = 0;  ///< Of the request.
  size_t answer = 0;
};

/// Hands requests and answers over until no more can be made.
class Exchange {
 public:
  explicit Exchange(std::vector<std::unique_ptr<AllReduce>> sides)
      : sides_(std::move(sides)), next_(sides_.size(), std::vector<size_t>(sides_.size(), 0)) {}

  Status run() {
    for (bool more = true; more;) {
      more = false;
      for (uint32_t by = 0; by < sides_.size(); ++by)
        for (uint32_t of = 0; of < sides_.size(); ++of)
          if (auto asked = ask(by, of, more); !asked) return asked;
      if (auto answered = answer(more); !answered) return answered;
    }
    for (const auto& side : sides_)
      if (!side->complete()) return Error{ErrorCode::kInternal, "a round that does not end"};
    return {};
  }
  AllReduce& side(size_t member) { return *sides_[member]; }
  size_t size() const { return sides_.size(); }

 private:
  Status ask(uint32_t by, uint32_t of, bool& any) {
    size_t& next = next_[by][of];
    for (; next < sides_[by]->requests_to(of) && sides_[by]->ready(of, next); ++next) {
      const auto request = sides_[by]->request(of, next);
      const auto answer = sides_[of]->contribute(request.head, request.body);
      if (!answer) return answer.error();
      asked_.push_back({by, of, next, *answer});
      any = true;
    }
    return {};
  }
  Status answer(bool& any) {
    std::vector<Asked> left;
    for (const Asked& one : std::exchange(asked_, {})) {
      if (!sides_[one.of]->answerable(one.answer)) {
        left.push_back(one);
        continue;
      }
      const auto& mean = sides_[one.of]->answer(one.answer);
      if (auto taken = sides_[one.by]->take_answer(one.of, one.number, mean); !taken) return taken;
      any = true;
    }
    asked_ = std::move(left);
    return {};
  }

  std::vector<std::unique_ptr<AllReduce>> sides_;
  std::vector<std::vector<size_t>> next_;  ///< Request, by asker, by asked.
  std::vector<Asked> asked_;
};

}  // namespace

Result<RoundOutcome> make_round(const actors::AllReduceSetup& setup,
                                std::vector<actors::AverageRound> members) {
  std::vector<std::unique_ptr<AllReduce>> sides;
  for (actors::AverageRound& spec : members) {
    if (auto valid = actors::validate(spec); !valid) return valid.error();
    sides.push_back(actors::make_all_reduce(setup, std::move(spec)));
  }
  Exchange exchange(std::move(sides));
  if (auto done = exchange.run(); !done) return done.error();
  RoundOutcome out;
  out.mean = exchange.side(0).result();
  const auto read = tensor::norm_and_digest(reinterpret_cast<const float*>(out.mean.data()),
                                            out.mean.size() / sizeof(float));
  if (!std::isfinite(read.squared_norm)) return Error{ErrorCode::kNonFinite, "a mean"};
  out.squared_norm = read.squared_norm;
  out.digest = read.digest;
  for (size_t member = 0; member < exchange.size(); ++member)
    out.residuals.push_back(exchange.side(member).residuals());
  return out;
}

}  // namespace swarm::replay
