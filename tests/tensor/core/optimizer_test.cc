#include "tensor/core/optimizer.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "tensor/core/flat.h"

namespace swarm::tensor {
namespace {

/// A matrix, which is decayed, then a bias, which is not.
std::vector<ParameterInfo> layout(uint64_t matrix, uint64_t bias) {
  std::vector<ParameterInfo> out(2);
  out[0].size = matrix;
  out[0].decayed = true;
  out[1].offset = matrix;
  out[1].size = bias;
  return out;
}

OptimizerOptions hand_options(OptimizerKind kind) {
  OptimizerOptions o;
  o.kind = kind;
  o.learning_rate = 0.1;
  o.beta1 = 0.5;
  o.beta2 = 0.75;
  o.epsilon = 1e-30;
  o.weight_decay = 0.5;
  o.momentum_decay = std::log(0.5) / std::log(0.96);  // 0.96^(t psi) = 2^-t
  return o;
}

/// The optimizer's formulas on one element, in double and written from the paper's rule.
struct Element {
  double w = 0, m = 0, v = 0, product = 1;
  int t = 0;

  void adamw(const OptimizerOptions& o, double lr, double decay, double g) {
    ++t;
    w -= lr * decay * w;
    m += (1 - o.beta1) * (g - m);
    v += (1 - o.beta2) * (g * g - v);
    w -= lr * (m / (1 - std::pow(o.beta1, t))) /
         (std::sqrt(v / (1 - std::pow(o.beta2, t))) + o.epsilon);
  }
  void nag(const OptimizerOptions& o, double lr, double decay, double g) {
    auto mu = [&](int at) {
      return o.beta1 * (1 - 0.5 * std::exp(at * o.momentum_decay * std::log(0.96)));
    };
    ++t;
    product *= mu(t);
    m += (1 - o.beta1) * (g - m);
    v += (1 - o.beta2) * (g * g - v);
    const double size = std::sqrt(v / (1 - std::pow(o.beta2, t))) + o.epsilon;
    w -= lr * decay * w;
    w -= lr * (1 - mu(t)) / (1 - product) * g / size;
    w -= lr * mu(t + 1) / (1 - product * mu(t + 1)) * m / size;
  }
};

/// Normal numbers of very different sizes, some of them zero.
std::vector<float> random_gradient(std::mt19937_64& generator, size_t n) {
  std::normal_distribution<float> normal;
  std::vector<float> g(n);
  for (size_t i = 0; i < n; ++i)
    g[i] = i % 17 == 3 ? 0.0f : normal(generator) * std::pow(10.0f, float(i % 7) - 4);
  return g;
}

OptimizerOptions usual_options(OptimizerKind kind) {
  OptimizerOptions o;
  o.kind = kind;
  o.learning_rate = 3e-3;
  o.warmup_steps = 10;
  o.total_steps = 60;
  o.schedule = Schedule::kCosine;
  if (kind == OptimizerKind::kNag) {
    o.beta1 = 0.99;
    o.beta2 = 0.999;
  }
  return o;
}

constexpr OptimizerKind kKinds[] = {OptimizerKind::kAdamw, OptimizerKind::kNag};

/// Every row of the table.
std::vector<OptimizerKind> all_kinds() {
  std::vector<OptimizerKind> kinds;
  for (size_t row = 0; row < optimizer_names().size(); ++row)
    kinds.push_back(static_cast<OptimizerKind>(row));
  return kinds;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(OptimizerTest)

BOOST_AUTO_TEST_CASE(rows_stand_where_their_names_say) {
  BOOST_TEST(to_string(OptimizerKind::kAdamw) == "adamw");
  BOOST_TEST(to_string(OptimizerKind::kNag) == "nag");
  BOOST_TEST(to_string(OptimizerKind::kLamb) == "lamb");
  for (OptimizerKind kind : all_kinds()) {
    BOOST_TEST((find_optimizer(to_string(kind)) == kind));
    auto optimizer = make_optimizer(usual_options(kind), layout(3, 2));
    BOOST_TEST((optimizer->kind() == kind));
    BOOST_TEST(optimizer->moments_bytes() == 5 * 4 * optimizer_info(kind).moments.size());
  }
  BOOST_TEST(!find_optimizer("adam").has_value());
}

// b1 = 0.5, b2 = 0.75, lr = 0.1, decay 0.5 (w * 0.95), gradients 2 and then -2.
//   t = 1: m = 1, v = 1, v^ = 1 / 0.25 = 4; so the denominator is 2, m^ = 1 / 0.5 = 2
//          w = 1 * 0.95 - 0.1 * 2 / 2 = 0.85;         undecayed 0.9
//   t = 2: m = 0.5 - 1 = -0.5, v = 0.75 + 1 = 1.75, v^ = 1.75 / 0.4375 = 4; m^ = -0.5 / 0.75
//          w = 0.85 * 0.95 + 0.1 / 3 = 0.84083333;    undecayed 0.93333333
BOOST_AUTO_TEST_CASE(adamw_follows_a_trajectory_computed_by_hand) {
  auto optimizer = make_optimizer(hand_options(OptimizerKind::kAdamw), layout(1, 1));
  std::vector<float> w = {1, 1}, g = {2, 2};
  optimizer->step(g.data(), 0, 1, w.data(), w.data());
  const auto tolerance = boost::test_tools::tolerance(1e-6f);
  BOOST_TEST(w[0] == 0.85f, tolerance);
  BOOST_TEST(w[1] == 0.9f, tolerance);
  g = {-4, -4};
  optimizer->step(g.data(), 7, 0.5, w.data(), w.data());
  BOOST_TEST(w[0] == 0.84083333f, tolerance);
  BOOST_TEST(w[1] == 0.93333333f, tolerance);
  BOOST_TEST(optimizer->counters().momentum_product == 1.0);
}

// The same, and mu_t = 0.5 * (1 - 0.5 * 2^-t): 0.375, 0.4375, 0.46875; m, v and denominators too.
//   t = 1: P = 0.375;     discount (1 - 0.375) / (1 - 0.375) = 1
//          ahead 0.4375 / (1 - 0.375 * 0.4375) = 0.4375 / 0.8359375 = 0.52336449
//          w = 0.95 - 0.1 * (1 * 2 + 0.52336449 * 1) / 2 = 0.82383178;  undecayed 0.87383178
//   t = 2: P = 0.1640625; discount 0.5625 / 0.8359375 = 0.67289720
//          ahead 0.46875 / (1 - 0.1640625 * 0.46875) = 0.46875 / 0.92309570 = 0.50780217
//          w = 0.82383178 * 0.95 + 0.1 * (0.67289720 * 2 + 0.50780217 * 0.5) / 2 = 0.86262496
//          undecayed 0.87383178 + 0.07998477 = 0.95381655
BOOST_AUTO_TEST_CASE(nag_follows_a_trajectory_computed_by_hand) {
  auto optimizer = make_optimizer(hand_options(OptimizerKind::kNag), layout(1, 1));
  std::vector<float> w = {1, 1}, g = {2, 2};
  optimizer->step(g.data(), 0, 1, w.data(), w.data());
  const auto tolerance = boost::test_tools::tolerance(1e-6f);
  BOOST_TEST(w[0] == 0.82383178f, tolerance);
  BOOST_TEST(w[1] == 0.87383178f, tolerance);
  BOOST_TEST(optimizer->counters().momentum_product == 0.375, boost::test_tools::tolerance(1e-12));
  g = {-4, -4};
  optimizer->step(g.data(), 7, 0.5, w.data(), w.data());
  BOOST_TEST(w[0] == 0.86262496f, tolerance);
  BOOST_TEST(w[1] == 0.95381655f, tolerance);
  BOOST_TEST(optimizer->counters().momentum_product == 0.1640625,
             boost::test_tools::tolerance(1e-12));
  BOOST_TEST(optimizer->moments()[0] == -0.5f);
  BOOST_TEST(optimizer->moments()[3] == 1.75f);
}

// The learning rate is at position 5 * t / 8, so t and the schedule part company.
BOOST_AUTO_TEST_CASE(each_optimizer_stays_with_double_precision_for_500_updates) {
  constexpr size_t kMatrix = 91, kBias = 28, kSize = kMatrix + kBias;
  for (OptimizerKind kind : kKinds) {
    const OptimizerOptions o = usual_options(kind);
    auto optimizer = make_optimizer(o, layout(kMatrix, kBias));
    std::mt19937_64 generator(5);
    std::vector<float> w = random_gradient(generator, kSize);
    scale(w.data(), kSize, 0.01f);
    std::vector<Element> exact(kSize);
    for (size_t i = 0; i < kSize; ++i) exact[i].w = w[i];
    double worst = 0;
    for (uint64_t t = 1; t <= 500; ++t) {
      const auto g = random_gradient(generator, kSize);
      const double clip = t % 3 == 0 ? 0.25 : 1;
      const uint64_t position = 5 * t / 8;
      optimizer->step(g.data(), position, clip, w.data(), w.data());
      const double lr = learning_rate(o, static_cast<int64_t>(position));
      for (size_t i = 0; i < kSize; ++i) {
        const double decay = i < kMatrix ? o.weight_decay : 0;
        if (kind == OptimizerKind::kNag) exact[i].nag(o, lr, decay, g[i] * clip);
        if (kind == OptimizerKind::kAdamw) exact[i].adamw(o, lr, decay, g[i] * clip);
        worst = std::max(worst, std::abs(w[i] - exact[i].w));
      }
    }
    BOOST_TEST(optimizer->counters().updates == 500u);
    if (kind == OptimizerKind::kNag)
      BOOST_TEST(optimizer->counters().momentum_product == exact[0].product,
                 boost::test_tools::tolerance(1e-9));
    // Values of some 1 are rounded by 6e-8 with each update, and AdamW's float 1 - beta is wrong by
    // 6e-7 of itself. A term left out shows as 1e-2.
    BOOST_TEST(worst < 2e-5);
    BOOST_TEST_MESSAGE(to_string(kind) << ": worst " << worst);
  }
}

// Golden bits: those of the program before optimizers were types, from which snapshots are read.
BOOST_AUTO_TEST_CASE(adamw_gives_the_bits_it_always_gave) {
  OptimizerOptions o = usual_options(OptimizerKind::kAdamw);
  constexpr size_t kSize = 1000;
  auto optimizer = make_optimizer(o, layout(kSize / 2, kSize / 2));
  std::vector<float> w(kSize), g(kSize);
  uint64_t x = 1;
  auto next = [&x] {  // exact in float
    x = x * 6364136223846793005ull + 1442695040888963407ull;
    return static_cast<float>(static_cast<int64_t>(x >> 40) - (1 << 23)) * 0x1p-23f;
  };
  for (float& value : w) value = next();
  for (uint64_t step = 0; step < 30; ++step) {
    for (float& value : g) value = next();
    optimizer->step(g.data(), step, 0.75, w.data(), w.data());
  }
  BOOST_TEST(digest(w.data(), kSize * 4) == 0xdc327bde5d15e310u);
  BOOST_TEST(digest(optimizer->moments(), optimizer->moments_bytes()) == 0x1bc22966e4660132u);
}

BOOST_AUTO_TEST_CASE(the_bits_do_not_depend_on_memory_or_on_the_split_into_threads) {
  constexpr size_t kMatrix = 1003, kBias = 29, kSize = kMatrix + kBias;
  for (OptimizerKind kind : all_kinds()) {
    auto whole = make_optimizer(usual_options(kind), layout(kMatrix, kBias));
    auto split = make_optimizer(usual_options(kind), layout(kMatrix, kBias),
                                [](size_t n, const ParallelBody& body) {
                                  for (size_t at = 0; at < n; at += 7)
                                    body(at, std::min(n, at + 7));
                                });
    std::mt19937_64 generator(6);
    std::vector<float> w = random_gradient(generator, kSize), other = w;
    for (uint64_t t = 0; t < 20; ++t) {
      const auto g = random_gradient(generator, kSize);
      whole->step(g.data(), t, 1, w.data(), w.data());
      std::vector<float> to(kSize + 1, NAN);  // elsewhere, at an odd address
      split->step(g.data(), t, 1, other.data(), to.data() + 1);
      other.assign(to.begin() + 1, to.end());
      BOOST_REQUIRE(w == other);
    }
    BOOST_TEST(std::memcmp(whole->moments(), split->moments(), whole->moments_bytes()) == 0);
  }
}

BOOST_AUTO_TEST_CASE(a_restored_optimizer_goes_on_bit_for_bit) {
  constexpr size_t kSize = 77;
  for (OptimizerKind kind : all_kinds()) {
    auto original = make_optimizer(usual_options(kind), layout(40, 37));
    auto restored = make_optimizer(usual_options(kind), layout(40, 37));
    std::mt19937_64 generator(7);
    std::vector<float> w = random_gradient(generator, kSize);
    for (uint64_t t = 0; t < 50; ++t)
      original->step(random_gradient(generator, kSize).data(), t, 1, w.data(), w.data());
    std::vector<char> bytes(original->moments_bytes() + 1);  // at an odd address
    std::memcpy(bytes.data() + 1, original->moments(), original->moments_bytes());
    BOOST_REQUIRE(restored->restore(original->counters(), bytes.data() + 1).ok());
    std::vector<float> other = w;
    for (uint64_t t = 50; t < 60; ++t) {
      const auto g = random_gradient(generator, kSize);
      original->step(g.data(), t, 1, w.data(), w.data());
      restored->step(g.data(), t, 1, other.data(), other.data());
    }
    BOOST_TEST((w == other));
    BOOST_TEST(restored->counters().momentum_product == original->counters().momentum_product);
    restored->reset();
    BOOST_TEST(restored->counters().updates == 0u);
    for (size_t i = 0; i < restored->moments_bytes() / 4; ++i)
      BOOST_REQUIRE(restored->moments()[i] == 0.0f);
  }
}

BOOST_AUTO_TEST_CASE(counters_that_cannot_be_are_refused) {
  auto bad = [](OptimizerKind kind, uint64_t updates, double product) {
    return check_counters(kind, {updates, product}).code() == ErrorCode::kCorruptCheckpoint;
  };
  const uint64_t far = uint64_t{1} << 53;
  for (OptimizerKind kind : kKinds) {
    BOOST_TEST(!bad(kind, 0, 1));
    BOOST_TEST(bad(kind, 0, 0.5));
    BOOST_TEST(bad(kind, UINT64_MAX, kind == OptimizerKind::kNag ? 0.5 : 1));
    BOOST_TEST(!bad(kind, far, kind == OptimizerKind::kNag ? 0 : 1));
    for (double product : {-0.5, 1.5, double{NAN}, double{INFINITY}})
      BOOST_TEST(bad(kind, 3, product));
  }
  BOOST_TEST(bad(OptimizerKind::kNag, 3, 1));
  auto optimizer = make_optimizer(usual_options(OptimizerKind::kNag), layout(1, 1));
  const float moments[4] = {1, 2, 3, 4};
  BOOST_TEST(!optimizer->restore({5, 7.0}, moments).ok());
  BOOST_TEST(optimizer->moments()[0] == 0.0f);
}

BOOST_AUTO_TEST_CASE(a_difference_is_added_and_what_has_not_moved_becomes_the_average) {
  constexpr size_t kSize = 1000;
  std::mt19937_64 generator(8);
  const auto average = random_gradient(generator, kSize), sent = random_gradient(generator, kSize);
  auto now = sent, moved = random_gradient(generator, kSize);
  for (size_t i = 0; i < kSize; i += 3) now[i] = moved[i];
  std::vector<float> to(kSize, NAN);
  add_difference(now.data(), average.data(), sent.data(), to.data(), kSize);
  size_t rounded = 0;
  for (size_t i = 0; i < kSize; ++i) {
    const float sum = now[i] + (average[i] - sent[i]);
    BOOST_REQUIRE(to[i] == (now[i] == sent[i] ? average[i] : sum));
    rounded += now[i] == sent[i] && sum != average[i];
  }
  BOOST_TEST(rounded > 100u);  // adding the difference would not have given the average
  add_difference(now.data(), average.data(), sent.data(), now.data(), kSize);
  BOOST_TEST(to == now);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace swarm::tensor
