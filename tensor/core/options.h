/// What a model, its optimizer and its data are. Plain data, no LibTorch.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/result.h"

namespace swarm::tensor {

/// No tensor is larger, decoded or encoded [bytes].
constexpr uint64_t kMaxTensorBytes = 1ull << 30;

// Each of these kinds is a place in a table that people extend by a row; a row without a name here
// is chosen by its name in the configuration alone. *_names(): the names of all rows, by place.

/// Rows: tensor/models.cc.
enum class ModelKind : uint8_t { kGpt };
std::vector<std::string> model_names();

/// Rows: tensor/core/codecs.cc. kNone is float32 as it is.
enum class Codec : uint8_t { kNone, kFp16, kBf16, kInt8, kInt8Linear, kInt4 };
std::vector<std::string> codec_names();

/// Rows: tensor/optimizers.cc.
enum class OptimizerKind : uint8_t {
  kAdamw,  ///< Loshchilov & Hutter 2019.
  kNag,    ///< Nesterov's look-ahead with Adam's preconditioner, for stale gradients.
  kLamb,   ///< You et al. 2020: Adam's direction, as long as a part of each matrix's own norm.
};
std::vector<std::string> optimizer_names();

/// What a stage makes of its activations before it sends them (the paper's compression-aware layers):
/// layer norm, then D numbers become D / boundary_factor, then layer norm again. The next stage
/// begins with a linear layer back to D; nothing goes round it. Not in a model of one stage.
enum class Boundary : uint8_t {
  kNone,        ///< They are sent as they are.
  kBottleneck,  ///< By a linear layer.
  kMaxout,      ///< The largest of each boundary_factor neighbours.
};

/// What models have. kGpt, a decoder with pre-norm blocks and learned positions, uses all of it;
/// another model may ignore some of the numbers.
struct ModelOptions {
  ModelKind kind = ModelKind::kGpt;
  int32_t layers = 8;  ///< L: transformer blocks of the whole model, each with its own parameters.
  /// So often in a row is each block applied, with the same parameters (layer sharing, as ALBERT's).
  int32_t repeats = 1;
  int32_t width = 256;  ///< D: hidden size; divisible by heads.
  int32_t heads = 4;
  int32_t ffn = 1024;        ///< Hidden size of the feed-forward part.
  int32_t sequence = 256;    ///< T: tokens per sample.
  int32_t vocabulary = 256;  ///< 256 for the byte tokenizer.
  /// Blocks of each stage; empty: as even as possible, earlier stages get the remainder.
  std::vector<int32_t> layers_per_stage;
  Boundary boundary = Boundary::kNone;
  int32_t boundary_factor = 2;  ///< f: 2 or 4; divides width. Unused with Boundary::kNone.
  uint64_t seed = 1;            ///< Seeds the initial weights.
  std::vector<Error> validate() const;
};

/// Samples of `sequence` tokens that a microbatch may have, so that no intermediate tensor of a
/// stage passes kMaxTensorBytes. Requires a valid model.
uint64_t most_samples(const ModelOptions& model, uint64_t sequence);

/// What a stage keeps of a sample between forward and backward where its graph is kept: the tensors of
/// `blocks` blocks and their repeats, in float32. An estimate, about right for a GPT. Requires a
/// valid model.
uint64_t graph_bytes_per_sample(const ModelOptions& model, int32_t blocks);

/// Blocks [first, first + count) belong to `stage`. Requires valid arguments, num_stages <= layers.
struct LayerRange {
  int32_t first = 0, count = 0;
};
LayerRange stage_layers(const ModelOptions& model, int32_t stage, int32_t num_stages);

/// The same model with layers_per_stage filled in, so that it says itself where its boundaries lie.
/// Requires valid arguments, num_stages <= layers.
ModelOptions with_split(const ModelOptions& model, int32_t num_stages);

/// Numbers per token that travel between two stages. Requires a valid model.
int32_t boundary_width(const ModelOptions& model);

/// The learning rate's course after the warm-up, up to total_steps.
enum class Schedule : uint8_t { kConstant, kCosine, kLinear };

/// What tensor/core/optimizer.h builds from; weight decay is decoupled, warm-up linear. For kNag give
/// beta1 0.99, beta2 0.999 (the defaults are AdamW's).
struct OptimizerOptions {
  OptimizerKind kind = OptimizerKind::kAdamw;
  double learning_rate = 1e-3;
  double min_learning_rate = 0;  ///< At total_steps and from there on; unused with kConstant.
  int64_t warmup_steps = 0;
  int64_t total_steps = 0;  ///< Where the decay ends; unused with kConstant.
  Schedule schedule = Schedule::kConstant;
  double beta1 = 0.9, beta2 = 0.95, epsilon = 1e-8;
  /// psi of kNag: its momentum rises as beta1 * (1 - 0.5 * 0.96^(t * psi)). Unused by the others.
  double momentum_decay = 0.004;
  /// On matrices only (not on norms, biases and embeddings' positions).
  double weight_decay = 0.1;
  /// Largest norm of the whole model's gradient; in local updates (stage.h) of the stage's. 0: off.
  double clip_norm = 1.0;
  std::vector<Error> validate() const;
};
/// Learning rate of the update that ends `step` (0-based).
double learning_rate(const OptimizerOptions& options, int64_t step);
/// min(1, clip_norm / norm); 1 when off.
double clip_scale(const OptimizerOptions& options, double gradient_norm);

/// What the replicas of a stage average in asynchronous training. An optimizer's counters stay
/// each peer's own, since they count its own updates.
enum class AveragedPart : uint8_t {
  kWeights,            ///< float32 [num_parameters]
  kWeightsAndMoments,  ///< float32 [1 + moments, num_parameters]: parameters, then the moments.
};

enum class BackwardPolicy : uint8_t {
  kKeep,       ///< The autograd graph is kept until the gradient is back: fast, more memory.
  kRecompute,  ///< Inputs of blocks are kept; each forward is run again: slow, little memory.
};
enum class ComputeType : uint8_t { kFp32, kBf16 };

/// Where forward and backward run: "cpu", "cuda" (the first GPU) or "cuda:N".
struct Device {
  bool cuda = false;
  int8_t index = 0;  ///< Which GPU.
};
/// The device of that name, whether or not there is one. Errors: kInvalidArgument.
Result<Device> parse_device(const std::string& name);

struct StageOptions {
  ModelOptions model;
  OptimizerOptions optimizer;
  int32_t stage = 0;
  int32_t num_stages = 1;
  BackwardPolicy backward = BackwardPolicy::kKeep;
  ComputeType compute = ComputeType::kFp32;
  std::string device = "cpu";             ///< See parse_device().
  Codec activation_codec = Codec::kNone;  ///< How activations leave this stage.
  Codec gradient_codec = Codec::kNone;    ///< How gradients of activations leave it.
  std::string config_fingerprint;         ///< Written into and demanded of states.
  std::string older_fingerprint;          ///< Taken instead, unless empty: as older runs wrote it.
  Status validate() const;                ///< The first broken rule.
};

struct DataOptions {
  /// Text files or folders (read recursively, in sorted order), concatenated.
  std::vector<std::string> train;
  /// Same; empty: the last `holdout` of every training file.
  std::vector<std::string> validation;
  double holdout = 0.05;  ///< Fraction in (0, 0.5].
  uint64_t seed = 1;      ///< Seeds the permutation sample index -> window.
  std::vector<Error> validate() const;
};

}  // namespace swarm::tensor
