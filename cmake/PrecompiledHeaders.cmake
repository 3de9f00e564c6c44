# Only where it pays. LibTorch's headers cost 15 to 20 s in every file that sees them, precompiled under
# 2 s. Those of tests: tests/CMakeLists.txt. Included when all targets exist.
if(TARGET swarm_tensor)
  target_precompile_headers(swarm_tensor PRIVATE <torch/torch.h>)
endif()
