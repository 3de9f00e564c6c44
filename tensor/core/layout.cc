#include "tensor/core/layout.h"

#include <xxhash.h>

#include <algorithm>
#include <cmath>

#include "common/mix.h"

namespace swarm::tensor {
namespace {

int64_t sum_of_quarters(uint64_t bits) {
  return static_cast<int64_t>((bits & 0xffff) + ((bits >> 16) & 0xffff) + ((bits >> 32) & 0xffff) +
                              (bits >> 48));
}

}  // namespace

uint64_t layout_size(const std::vector<ParameterInfo>& layout) {
  return layout.empty() ? 0 : layout.back().offset + layout.back().size;
}

void initial_values(uint64_t seed, const ParameterInfo& parameter, float* out) {
  if (parameter.deviation == 0) {
    std::fill_n(out, parameter.size, parameter.mean);
    return;
  }
  const std::string& name = parameter.global_name;
  const uint64_t key = mix(mix(seed) ^ XXH64(name.data(), name.size(), 0));
  // The sum of 8 uniform 16-bit numbers is close to normal, and exact on every machine.
  const double center = 8 * 65535 / 2.0;
  const double unit = std::sqrt(8 * (65536.0 * 65536.0 - 1) / 12);
  const double factor = static_cast<double>(parameter.deviation) / unit;
  for (uint64_t i = 0; i < parameter.size; ++i) {
    int64_t sum = sum_of_quarters(mix(key + 2 * i)) + sum_of_quarters(mix(key + 2 * i + 1));
    out[i] = static_cast<float>((static_cast<double>(sum) - center) * factor);
  }
}

void LayoutBuilder::prefix(std::string local, std::string global) {
  local_ = std::move(local);
  global_ = std::move(global);
}

ParameterInfo& LayoutBuilder::matrix(const std::string& name, int64_t rows, int64_t columns,
                                     float deviation) {
  ParameterInfo& info = add(name, {rows, columns});
  info.decayed = true;
  info.deviation = deviation;
  return info;
}

ParameterInfo& LayoutBuilder::vector(const std::string& name, int64_t size, float value) {
  ParameterInfo& info = add(name, {size});
  info.mean = value;
  return info;
}

ParameterInfo& LayoutBuilder::add(const std::string& name, std::vector<int64_t> shape) {
  ParameterInfo info;
  info.name = local_ + name;
  info.global_name = global_ + name;
  info.offset = next_;
  info.size = 1;
  for (int64_t extent : shape) info.size *= static_cast<uint64_t>(extent);
  info.shape = std::move(shape);
  next_ += info.size;
  layout_.push_back(std::move(info));
  return layout_.back();
}

}  // namespace swarm::tensor
