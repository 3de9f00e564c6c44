/// Numbers as people and files read them. Pure; no locale. What is not finite is "-".
#pragma once

#include <string>

namespace swarm {

/// `decimals` digits after the point.
std::string fixed(double value, int decimals);
/// At most `digits` significant digits, no trailing zeros: "0.0003", "12.5", "3e+07".
std::string shortest(double value, int digits = 6);
/// "12,345,678".
std::string grouped(double value);
/// Reads back as exactly `value`; 100 and not 1e+02.
std::string exact(double value);

}  // namespace swarm
