// The file whose compilation makes the precompiled header.
#include "cmake/precompiled/http.h"
