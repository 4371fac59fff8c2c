// How deep JSON nests, before anything is made of it: who walks or prints a document calls itself once a level.
#pragma once

#include <string_view>

namespace locus {

// Whether more than `most` arrays and objects of `text` are open at once. Of what is no JSON it may say either. Pure; linear in the text.
bool nests_deeper(std::string_view text, int most);

}  // namespace locus
