// What a plugin's file says of itself, read before anything of it is loaded. Plain C: texts of fixed room, ended by a zero,
// alone in a section of the file. Its layout never changes; another one has another magic.
#pragma once

#define LOCUS_PLUGIN_SECTION ".locus.plugin"
#define LOCUS_PLUGIN_MAGIC "LOCUS-PLUGIN-1"

extern "C" {

struct LocusPluginNote {
  char magic[16];
  char name[64];       // of the extension: "own-prior"
  char version[32];    // of Locus that it was compiled against
  char interface[32];  // digest of the public headers there
  char torch[32];      // version of torch's headers
  char toolchain[64];  // what else decides the layout of classes
};

// Registers the plugin's items, with where they come from as JSON. Throws what registries throw.
typedef void (*locus_plugin_enter_fn)(const char* origin_json);
}
