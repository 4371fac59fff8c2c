// What the address sanitizer leaves out of programs that load libtorch, which is built without it: libtorch holds what it
// never gives back, and does not annotate the containers of ours that it fills. ASAN_OPTIONS comes after this, and a trainer
// has none of it.
extern "C" const char* __asan_default_options();

extern "C" __attribute__((visibility("default"))) const char* __asan_default_options() {
  return "detect_leaks=0:detect_container_overflow=0";
}
