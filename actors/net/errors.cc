#include "actors/net/errors.h"

#include <caf/atom.hpp>
#include <caf/exit_reason.hpp>
#include <caf/make_message.hpp>
#include <caf/message.hpp>
#include <caf/sec.hpp>

#include "common/printable.h"

namespace swarm::actors {
namespace {
const auto kCategory = caf::atom("swarm");
}

caf::error to_caf(const Error& error) {
  return caf::error{static_cast<uint8_t>(error.code), kCategory,
                    caf::make_message(error.detail, error.retry_after_ms)};
}

caf::error to_caf(ErrorCode code, std::string detail) {
  return to_caf(Error{code, std::move(detail), 0});
}

Error from_caf(const caf::error& error) {
  if (error.category() == kCategory) {
    Error result;
    result.code = static_cast<ErrorCode>(error.code());
    const auto& context = error.context();
    if (context.match_elements<std::string, uint32_t>()) {
      result.detail = context.get_as<std::string>(0);
      result.retry_after_ms = context.get_as<uint32_t>(1);
    }
    return result;
  }
  if (error == caf::sec::request_timeout) return {ErrorCode::kPeerTimeout, "no answer in time"};
  if (error == caf::sec::request_receiver_down)
    return {ErrorCode::kLinkLost, "the receiver is gone"};
  if (error.category() == caf::atom("exit")) return {ErrorCode::kLinkLost, "the receiver is gone"};
  return {ErrorCode::kInternal, "caf: " + caf::to_string(error)};
}

bool nobody_reached(const caf::error& error) {
  return !error || from_caf(error).code != ErrorCode::kOverloaded;
}

proto::Error to_proto(const Error& error) {
  proto::Error message;
  message.set_code(static_cast<uint32_t>(error.code));
  message.set_detail(error.detail);
  message.set_retry_after_ms(error.retry_after_ms);
  return message;
}

Error from_proto(const proto::Error& error) {
  constexpr size_t kMaxDetail = 1024;
  constexpr auto kLast = static_cast<uint32_t>(ErrorCode::kInternal);
  bool known = error.code() >= 1 && error.code() <= kLast;
  return {known ? static_cast<ErrorCode>(error.code()) : ErrorCode::kInternal,
          printable(error.detail(), kMaxDetail), error.retry_after_ms()};
}

}  // namespace swarm::actors
