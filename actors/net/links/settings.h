/// What hellos say of the settings that all nodes share, and how two of them differ. Pure.
#pragma once

#include <string>
#include <vector>

#include "actors/net/options.h"
#include "swarm/wire.pb.h"

namespace swarm::actors::links {

constexpr int kMaxSettings = 64;
constexpr size_t kMaxSettingsBytes = 3'000;  ///< Of one hello, with what protobuf adds.

/// Adds as many of `settings`, from the first on, as a hello may carry.
void add_settings(const std::vector<SharedSetting>& settings, proto::Hello& hello);
/// Whether a hello keeps these limits.
bool settings_fit(const proto::Hello& hello);

/// "model.width is 64 at 's0-a' and 32 at 'seed'; ...": six settings at most, of those that both
/// sides name, and how many more. Empty: none of them differs. Printable.
std::string differences(const proto::Hello& theirs, const LinksOptions& own);

}  // namespace swarm::actors::links
