// Of Gloo, what c10d's header names of transports: devices and buffers behind pointers.
#pragma once

namespace gloo::transport {
class Device;
class UnboundBuffer;
}  // namespace gloo::transport
