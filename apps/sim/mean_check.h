/// Whether an average may be that of numbers, some of which are known and of others only which they may be. Pure.
#pragma once

#include <utility>
#include <vector>

namespace swarm::sim {

/// Means of three or six samples, or of three replicas, are rounded.
bool about_equal(double a, double b);

/// A sum of numbers, each times its weight.
struct Sum {
  double values = 0, weights = 0;
  Sum with(double value, double weight) const {
    return {values + weight * value, weights + weight};
  }
};

/// (value, weight), by node.
using Candidates = std::vector<std::vector<std::pair<double, double>>>;

/// Whether `average` is the mean of `sum` and one of the candidates of some of the others.
bool is_mean(double average, const Sum& sum, const Candidates& of);
/// The same whatever their number is; what is only nearly so may be taken for it.
bool is_mean_of_many(double average, const Sum& sum, const Candidates& of);

}  // namespace swarm::sim
