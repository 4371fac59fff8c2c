// The file whose compilation makes the precompiled header.
#include "cmake/precompiled/messages.h"
