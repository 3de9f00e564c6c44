/// How long heads may be, by kind, and into how much they may parse: a few bytes can stand for a message
/// that takes a hundred. Pure.
#pragma once

#include <google/protobuf/message.h>

#include <cstdint>
#include <string>

namespace swarm::actors::links {

/// Of mail that says a few things. Kinds that carry lists or tokens (mail_kinds.h) may have max_head_bytes.
constexpr uint32_t kSmallHeadBytes = 64u << 10;

/// Of a head of `kind`, at most `max_head_bytes`.
uint32_t head_limit(uint32_t kind, uint32_t max_head_bytes);

/// Whether `bytes` hold no more messages, strings and unknown fields than a message of `type` of that
/// length has when it says anything in them. True for bytes that do not parse: parsing tells.
bool is_lean(const google::protobuf::Descriptor& type, const std::string& bytes);

}  // namespace swarm::actors::links
