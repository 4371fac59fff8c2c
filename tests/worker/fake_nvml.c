// A management library of two GPUs, for tests: the second cannot be read.
typedef struct {
  unsigned int gpu, memory;
} Utilization;
typedef struct {
  unsigned long long total, free, used;
} Memory;

int nvmlInit_v2(void) { return 0; }
int nvmlShutdown(void) { return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned int index, void** device) {
  static int gpus[2];
  if (index > 1) return 2;
  *device = &gpus[index];
  gpus[index] = (int)index;
  return 0;
}
int nvmlDeviceGetUtilizationRates(void* device, Utilization* out) {
  if (*(int*)device == 1) return 3;
  out->gpu = 87;
  out->memory = 12;
  return 0;
}
int nvmlDeviceGetMemoryInfo(void* device, Memory* out) {
  (void)device;
  out->total = 80ull << 30;
  out->used = 5ull << 30;
  out->free = out->total - out->used;
  return 0;
}
