// `swarm bench checkpoint`: what a snapshot of a large stage costs a node, beside the disk's own speed, and
// what it does to the steps meanwhile. As a node makes it: the stage's thread copies its state, another one
// hands the copy to the store.
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <future>
#include <memory>

#include "apps/bench/bench.h"
#include "apps/bench/figures/checkpoint_figures.h"
#include "apps/compute/compute.h"
#include "storage/posix_file.h"
#include "storage/stores.h"
#include "tensor/torch/model_stage.h"
#include "tensor/torch/threads.h"

namespace swarm::apps {
namespace {

constexpr uint32_t kSamples = 4;    // of a step
constexpr int kStepsAsnapshot = 3;  // one with, the others without

double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Of all threads.
double cpu_s() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) { return double(t.tv_sec) + double(t.tv_usec) * 1e-6; };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

/// About so many parameters, all of them in one stage.
tensor::StageOptions stage_of(uint64_t parameters) {
  tensor::StageOptions stage;
  auto& model = stage.model;
  model.sequence = 128;
  model.width = parameters < 20'000'000 ? 256 : 1024;
  model.ffn = 4 * model.width;
  const uint64_t block = 12 * uint64_t(model.width) * uint64_t(model.width);
  model.layers = static_cast<int32_t>(std::max<uint64_t>(1, (parameters + block / 2) / block));
  return stage;
}

tensor::StageInput some_text(const tensor::ModelOptions& model) {
  tensor::StageInput input;
  input.samples = kSamples;
  input.sequence = static_cast<uint32_t>(model.sequence);
  const size_t tokens = size_t{kSamples} * (input.sequence + 1);
  MutableBuffer text = MutableBuffer::allocate(tokens * sizeof(int32_t));
  for (size_t i = 0; i < tokens; ++i) {
    const auto token = static_cast<int32_t>(i * i % 251);
    std::memcpy(text.data() + i * sizeof token, &token, sizeof token);
  }
  input.tokens = text.freeze();
  return input;
}

bool write_plainly(const std::string& path, const Buffer& bytes) {
  storage::PosixFile file(path, O_WRONLY | O_CREAT | O_TRUNC);
  const auto* first = reinterpret_cast<const char*>(bytes.data());
  return file.is_open() && file.write({first, bytes.size()}) && file.sync();
}

class CheckpointBench {
 public:
  CheckpointBench(std::unique_ptr<tensor::Stage> stage,
                  std::shared_ptr<storage::CheckpointStore> store, std::string folder,
                  const tensor::ModelOptions& model)
      : stage_(std::move(stage)),
        store_(std::move(store)),
        folder_(std::move(folder)),
        text_(some_text(model)) {
    figures.parameters = stage_->num_parameters();
  }

  /// Nothing else is done meanwhile.
  Status snapshot() {
    const double begin = now_s(), cpu = cpu_s();
    const Buffer state = stage_->save_state();
    const double frozen = now_s();
    if (auto stored = store(state); !stored) return stored;
    figures.write_s.push_back(now_s() - frozen);
    figures.cpu_s.push_back(cpu_s() - cpu);
    figures.freeze_s.push_back(frozen - begin);
    figures.bytes = state.size();
    const std::string plain = folder_ + "/plain";
    const double raw = now_s();
    if (!write_plainly(plain, state))
      return Error{ErrorCode::kIo, plain + " cannot be written: " + std::strerror(errno)};
    figures.raw_s.push_back(now_s() - raw);
    std::filesystem::remove(plain);
    return {};
  }

  /// Steps of training; a snapshot is made of the first of every few.
  Status train(int snapshots) {
    for (int i = 0; i < snapshots * kStepsAsnapshot; ++i) {
      const bool saves = i % kStepsAsnapshot == 0;
      std::future<Status> stored;
      const double begin = now_s();
      if (saves)
        stored = std::async(std::launch::async,
                            [this, state = stage_->save_state()] { return store(state); });
      if (auto trained = step(); !trained) return trained;
      const double took = now_s() - begin;
      (saves ? figures.busy_steps_s : figures.quiet_steps_s).push_back(took);
      if (!saves) continue;
      if (auto done = stored.get(); !done) return done;
    }
    return {};
  }

  /// Fills the moments, so that a state has no zeros in it, and memory with pages.
  Status step() {
    const tensor::MicrobatchKey key{Step(stage_->step()), Slot(0), Attempt(0)};
    auto loss = stage_->forward_backward(key, text_, /*accumulate=*/true, /*forward_only=*/false);
    if (!loss) return loss.error();
    auto applied = stage_->apply(stage_->gradient_sum(), 1);
    return applied ? Status() : Status(applied.error());
  }

  CheckpointFigures figures;

 private:
  Status store(const Buffer& state) {
    return store_->put({"stage/0", ++steps_}, state, /*keep=*/1);
  }

  std::unique_ptr<tensor::Stage> stage_;
  std::shared_ptr<storage::CheckpointStore> store_;
  const std::string folder_;
  const tensor::StageInput text_;
  uint64_t steps_ = 0;  ///< Stored so far; read and written while the other thread waits, or by it.
};

Result<CheckpointFigures> measure(const CheckpointBenchOptions& options,
                                  const std::string& folder) {
  const auto of = stage_of(options.parameters);
  auto stage = tensor::make_stage(of);
  if (!stage) return stage.error();
  auto store = storage::open_store(storage::StoreKind::kRocksdb, folder);
  if (!store) return store.error();
  CheckpointBench bench(std::move(*stage), std::move(*store), folder, of.model);
  if (auto done = bench.step(); !done) return done.error();
  for (int round = 0; round < options.rounds; ++round)
    if (auto done = bench.snapshot(); !done) return done.error();
  if (auto done = bench.train(options.rounds); !done) return done.error();
  return bench.figures;
}

}  // namespace

int bench_checkpoint(const CheckpointBenchOptions& options) {
  tensor::set_threads(1);
  const std::string folder = options.folder + "/bench-checkpoint";
  std::error_code failed;
  if (!std::filesystem::create_directories(folder, failed)) {
    std::fprintf(stderr, "swarm bench: %s %s; name another place with --folder\n", folder.c_str(),
                 failed ? failed.message().c_str() : "is there already");
    return 2;
  }
  const auto figures = measure(options, folder);
  std::filesystem::remove_all(folder, failed);
  if (!figures) {
    std::fprintf(stderr, "swarm bench: %s\n", to_string(figures.error()).c_str());
    return 1;
  }
  std::fputs((options.json ? checkpoint_json(*figures) : checkpoint_table(*figures)).c_str(),
             stdout);
  return 0;
}

}  // namespace swarm::apps
