// The file whose compilation makes the precompiled header.
#include "engine/base/torch.h"
