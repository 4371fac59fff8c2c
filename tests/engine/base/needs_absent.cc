// Half of a pair of libraries: this one needs the other, which is not where the linker looks for it.
extern "C" int locus_absent();
extern "C" int locus_needs_absent() { return locus_absent(); }
