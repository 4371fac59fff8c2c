// The one definition of an image: nothing is left to compile.
#include "engine/images/image.h"
