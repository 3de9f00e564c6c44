/// Lets a Buffer be an element of a message between actors of one node.
#pragma once

#include <caf/allowed_unsafe_message_type.hpp>

#include "common/buffer.h"

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(swarm::Buffer)
