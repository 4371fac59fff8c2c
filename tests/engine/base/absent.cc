// The other half.
extern "C" int locus_absent() { return 1; }
