// Of Gloo, what c10d's header includes and does not use.
#pragma once
