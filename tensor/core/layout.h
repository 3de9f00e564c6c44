/// The parameters of one stage: which ones, in which order, with which initial values. No LibTorch.
///
/// Pure. The flat vectors of a stage (parameters, gradients, moments) follow its layout; the layouts
/// of all stages of any split, one behind the other, are the layout of the unsplit model, but for the
/// parameters of the boundaries between them, if it has any.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace swarm::tensor {

struct ParameterInfo {
  std::string name;         ///< Within the stage, e.g. "blocks.0.attention.qkv.weight".
  std::string global_name;  ///< In the whole model, e.g. "layers.3.attention.qkv.weight".
  std::vector<int64_t> shape;
  uint64_t offset = 0;            ///< First element in the stage's flat vectors.
  uint64_t size = 0;              ///< Elements.
  bool decayed = false;           ///< Weight decay applies: matrices, but not the positions.
  bool always_fp32 = false;       ///< Computed with in float32 even if pipeline.compute is bf16.
  float mean = 0, deviation = 0;  ///< Initial values are normal with these.
  /// Elements [noise_begin, noise_end) have no influence on any output: their gradient is zero but
  /// for rounding, so two correct trainings may differ in them by any amount. Usually none.
  uint64_t noise_begin = 0, noise_end = 0;
};

/// Elements of a layout.
uint64_t layout_size(const std::vector<ParameterInfo>& layout);

/// Writes the initial values of one parameter to out[0, size). They depend on `seed` and the global
/// name alone, and are the same bits on every machine (integer arithmetic up to one rounding).
void initial_values(uint64_t seed, const ParameterInfo& parameter, float* out);

/// Appends parameters one behind the other, with ParameterInfo's defaults. The reference that
/// add_*() returns, for changing other members, is valid until the next call.
class LayoutBuilder {
 public:
  /// Following names get these prefixes, within the stage and in the whole model.
  void prefix(std::string local, std::string global);
  /// [rows, columns], decayed, initially normal with `deviation`.
  ParameterInfo& matrix(const std::string& name, int64_t rows, int64_t columns, float deviation);
  /// [size], initially `value` everywhere.
  ParameterInfo& vector(const std::string& name, int64_t size, float value);
  std::vector<ParameterInfo> take() { return std::move(layout_); }

 private:
  ParameterInfo& add(const std::string& name, std::vector<int64_t> shape);

  std::string local_, global_;
  uint64_t next_ = 0;
  std::vector<ParameterInfo> layout_;
};

}  // namespace swarm::tensor
