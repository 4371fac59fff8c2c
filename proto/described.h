// The messages and calls of proto/locus/v1 with the comments beside them, as protoc describes them.
#pragma once

#include <string_view>

// A google.protobuf.FileDescriptorSet with source information, serialized. Thread-safe; lives as long as the process.
std::string_view described_protos();
