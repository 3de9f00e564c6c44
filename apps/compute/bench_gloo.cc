#include "apps/compute/bench_gloo.h"

#ifdef SWARM_GLOO
#include <gloo/allreduce.h>
#include <gloo/allreduce_halving_doubling.h>
#include <gloo/allreduce_ring_chunked.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>

#include <exception>
#include <functional>
#endif

namespace swarm::apps {

#ifdef SWARM_GLOO
namespace {

constexpr std::chrono::seconds kTimeout{120};

/// Runs `work`; an exception becomes an error.
Status guarded(const std::function<void()>& work) {
  try {
    work();
    return {};
  } catch (const std::exception& e) {
    return Error{ErrorCode::kInternal, std::string("gloo: ") + e.what()};
  }
}

class RealGlooPeer : public GlooPeer {
 public:
  explicit RealGlooPeer(std::shared_ptr<gloo::rendezvous::Context> context)
      : context_(std::move(context)) {}

  Status prepare(size_t algorithm, float* data, size_t n) override {
    run_ = nullptr;
    return guarded([&] {
      if (algorithm == 0) return prepare_ring(data, n);
      std::shared_ptr<gloo::Algorithm> made;
      const std::vector<float*> pointers{data};
      if (algorithm == 1)
        made = std::make_shared<gloo::AllreduceHalvingDoubling<float>>(context_, pointers,
                                                                       static_cast<int>(n));
      else
        made = std::make_shared<gloo::AllreduceRingChunked<float>>(context_, pointers,
                                                                   static_cast<int>(n));
      run_ = [made] { made->run(); };
    });
  }

  Status run() override { return guarded(run_); }

 private:
  /// The current interface (gloo::allreduce); its default is the ring in segments of 1 MiB.
  void prepare_ring(float* data, size_t n) {
    auto options = std::make_shared<gloo::AllreduceOptions>(context_);
    options->setOutput(data, n);
    options->setReduceFunction(
        static_cast<void (*)(void*, const void*, const void*, size_t)>(&gloo::sum<float>));
    options->setAlgorithm(gloo::AllreduceOptions::Algorithm::RING);
    options->setTimeout(kTimeout);
    run_ = [options] { gloo::allreduce(*options); };
  }

  std::shared_ptr<gloo::rendezvous::Context> context_;  // shared with the algorithms
  std::function<void()> run_;
};

}  // namespace

bool GlooPeer::available() { return true; }

const std::vector<std::string>& GlooPeer::algorithms() {
  static const std::vector<std::string> names{"ring", "halving-doubling", "ring-chunked"};
  return names;
}

Result<std::unique_ptr<GlooPeer>> GlooPeer::connect(const std::string& folder, int rank, int size) {
  std::unique_ptr<GlooPeer> peer;
  auto done = guarded([&] {
    auto context = std::make_shared<gloo::rendezvous::Context>(rank, size);
    context->setTimeout(kTimeout);
    gloo::rendezvous::FileStore store(folder);
    std::shared_ptr<gloo::transport::Device> device =
        gloo::transport::tcp::CreateDevice(gloo::transport::tcp::attr("127.0.0.1"));
    context->connectFullMesh(store, device);
    peer = std::make_unique<RealGlooPeer>(std::move(context));
  });
  if (!done) return done.error();
  return peer;
}

#else

bool GlooPeer::available() { return false; }

const std::vector<std::string>& GlooPeer::algorithms() {
  static const std::vector<std::string> none;
  return none;
}

Result<std::unique_ptr<GlooPeer>> GlooPeer::connect(const std::string&, int, int) {
  return Error{ErrorCode::kNotFound, "built without Gloo"};
}

#endif

}  // namespace swarm::apps
