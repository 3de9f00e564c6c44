/// Numbers and untrusted text, made safe to stand in a report. Pure; no locale.
#pragma once

#include <cstddef>
#include <string>

namespace swarm::report {

/// For HTML text and quoted attributes: & < > " ' are named, control characters replaced.
std::string escape(const std::string& text);

/// The first bytes of a longer text and "...", cut between characters of UTF-8.
std::string clip(const std::string& text, size_t max_bytes);

/// `decimals` digits after the point; "-" if not finite.
std::string fixed(double value, int decimals);
/// At most `digits` significant digits, no trailing zeros: "0.0003", "12.5", "3e+07".
std::string shortest(double value, int digits = 6);
/// "12,345,678".
std::string grouped(double value);

}  // namespace swarm::report
