/// Errors as values: `Result<T>`, `Status` and the one list of error codes of the whole system.
///
/// Expected failures are values; broken invariants abort through SWARM_CHECK (common/check.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "common/check.h"

namespace swarm {

/// Why an operation failed; each entry is defined by what the caller does next. Values travel in
/// proto/swarm/error.proto: append, never renumber.
enum class ErrorCode : uint8_t {
  kNone = 0,               ///< Success; never stored in an Error.
  kNoLivePeer = 1,         ///< No peer serves the stage. Wait for the next announcement.
  kPeerTimeout = 2,        ///< Peer missed its budget. Raise its estimate, resend elsewhere.
  kShapeMismatch = 3,      ///< Tensor is not the declared shape. Caller's bug: do not retry.
  kStaleStep = 4,          ///< The step is over, or the peer is behind. Drop the work.
  kOverloaded = 5,         ///< Queue is full. Resend elsewhere or later; do not ban.
  kCorruptCheckpoint = 6,  ///< Checksum differs. Fall back to the previous step.
  kNotFound = 7,           ///< Nothing stored under that key.
  kAlreadyExists = 8,      ///< The key is taken. Treat as done if the content is equal.
  kIo = 9,                 ///< The disk or a socket failed. Stop using it.
  kInvalidArgument = 10,   ///< Malformed or out-of-range input. Caller's bug: do not retry.
  kLinkLost = 11,      ///< The link died with the request on it. Ban the peer, resend elsewhere.
  kNotReady = 12,      ///< The receiver is starting or restoring. Resend elsewhere or later.
  kStaleTerm = 13,     ///< A newer coordinator exists. Stop coordinating.
  kCancelled = 14,     ///< The sender gave the work up. Nothing to do.
  kShuttingDown = 15,  ///< The node leaves. Forget it until it announces itself again.
  kRefused = 16,       ///< Hello refused (version, run, fingerprint). Do not dial again.
  kNonFinite = 17,     ///< Loss or gradient is not finite. Report; do not average.
  kInternal = 18,      ///< A bug or an exception in the receiver. Report; resend elsewhere.
};

/// Stable lower-case name, e.g. "overloaded"; "unknown" for values off the list.
const char* to_string(ErrorCode code);

/// `detail` is for people: what, where, what to do. Never parsed.
struct Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string detail;
  uint32_t retry_after_ms = 0;  ///< Hint with kOverloaded and kNotReady; 0: none.
};

/// "code: detail".
std::string to_string(const Error& error);

/// A value or an Error.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : data_(std::in_place_index<0>, std::move(value)) {}      // NOLINT: implicit
  Result(Error error) : data_(std::in_place_index<1>, std::move(error)) {}  // NOLINT: implicit

  bool ok() const { return data_.index() == 0; }
  explicit operator bool() const { return ok(); }
  /// Requires ok(); throws std::bad_variant_access otherwise (a bug of the caller).
  T& value() & { return std::get<0>(data_); }
  const T& value() const& { return std::get<0>(data_); }
  T&& value() && { return std::get<0>(std::move(data_)); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  /// Requires !ok().
  const Error& error() const { return std::get<1>(data_); }
  ErrorCode code() const { return ok() ? ErrorCode::kNone : error().code; }

 private:
  std::variant<T, Error> data_;
};

/// Success or an Error.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Error error) : error_(std::move(error)) {}  // NOLINT: implicit
  bool ok() const { return !error_.has_value(); }
  explicit operator bool() const { return ok(); }
  /// Requires !ok(); aborts otherwise (a bug of the caller).
  const Error& error() const {
    SWARM_CHECK(error_.has_value());
    return *error_;
  }
  ErrorCode code() const { return ok() ? ErrorCode::kNone : error_->code; }

 private:
  std::optional<Error> error_;
};

}  // namespace swarm
