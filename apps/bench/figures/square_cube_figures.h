/// What `swarm bench square-cube` makes of its measurements: how computing and sending grow with a model's
/// width (SWARM paper, the square-cube law). Pure.
///
/// For a given number of tokens a block's work grows with the square of the width and what it sends with the
/// width itself; with as many tokens as the width, as the law is usually put, with the cube and the square.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace swarm::apps {

/// One block of that width and one microbatch. Seconds by round.
struct WidthFigures {
  int width = 0;
  double flops = 0;                ///< Of both passes.
  double bytes = 0;                ///< Activations to the next stage and gradients back.
  std::vector<double> compute_s;   ///< Both passes.
  std::vector<double> transfer_s;  ///< There and back, without the round trip.
};

/// The link on which they are sent.
struct LinkFigures {
  double bytes_per_s = 0;   ///< In each direction.
  double round_trip_s = 0;  ///< Measured.
};

struct Growth {
  double factor = 0, exponent = 0;  ///< y = factor * x^exponent
  double at(double x) const;
};

/// Least squares of the logarithms. nullopt for fewer than two widths, or values that are not positive.
std::optional<Growth> growth(const std::vector<double>& x, const std::vector<double>& y);

/// The share of the time in which the block computes: one microbatch at a time, as the paper measured it,
/// and with transfers behind passes.
double utilisation_alone(const WidthFigures& figures, const LinkFigures& link);
double utilisation_overlapped(const WidthFigures& figures);

/// From which width on computing takes longer than sending, by both fits; nullopt if never.
std::optional<double> crossing(const std::vector<WidthFigures>& all);

std::string square_cube_table(const std::vector<WidthFigures>& all, const LinkFigures& link);
std::string square_cube_json(const std::vector<WidthFigures>& all, const LinkFigures& link);

}  // namespace swarm::apps
