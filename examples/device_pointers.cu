/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* The minimum spanning forest of a graph that a program has in GPU memory: its device pointers go
 * in, the forest's arcs come out in device memory, and nothing is copied to the host on the way.
 *
 *   nvcc device_pointers.cu $(pkg-config --cflags --libs dzo) -o device_pointers
 */
#include <cuda_runtime.h>
#include <inttypes.h>
#include <stdio.h>

#include <dzo/dzo.h>

/*   0 ---4--- 1        5
 *   | \       |        |
 *   8   7     2       0.5
 *   |     \   |        |
 *   3 ---1--- 2        4
 * Each edge is an arc in the rows of both its ends; rows ascend by neighbour. */
enum { VERTICES = 6, ARCS = 12 };
static const uint64_t offsets[VERTICES + 1] = {0, 3, 5, 8, 10, 11, 12};
static const uint32_t neighbours[ARCS] = {1, 2, 3, 0, 2, 0, 1, 3, 0, 2, 5, 4};
static const float weights[ARCS] = {4, 7, 8, 4, 2, 7, 2, 1, 8, 1, 0.5f, 0.5f};

static void *to_device(const void *from, size_t bytes) {
  void *to = NULL;
  if (cudaMalloc(&to, bytes) != cudaSuccess)
    return NULL;
  if (from != NULL && cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice) != cudaSuccess)
    return NULL;
  return to;
}

static void print_forest(const uint64_t *device_arcs, uint64_t count) {
  uint64_t arcs[VERTICES];
  if (cudaMemcpy(arcs, device_arcs, count * sizeof *arcs, cudaMemcpyDeviceToHost) != cudaSuccess)
    return;
  uint32_t u = 0;
  for (uint64_t i = 0; i < count; i++) { /* arcs ascend, and so do their rows */
    while (offsets[u + 1] <= arcs[i])
      u++;
    printf("arc %" PRIu64 ": %" PRIu32 " - %" PRIu32 ", weight %g\n", arcs[i], u,
           neighbours[arcs[i]], (double)weights[arcs[i]]);
  }
}

int main(void) {
  dzo_context_options options;
  dzo_context_options_init(&options);
  options.device = DZO_DEVICE_CUDA;
  dzo_context *context = NULL;
  dzo_status status = dzo_context_create(&options, &context);
  if (status != DZO_OK) {
    int count;
    const char *reason;
    dzo_devices(NULL, 0, &count, &reason);
    fprintf(stderr, "%s: %s\n", dzo_status_text(status), reason);
    return 4;
  }
  dzo_device_csr csr;
  dzo_device_csr_init(&csr);
  csr.vertices = VERTICES;
  csr.arcs = ARCS;
  csr.offsets = (const uint64_t *)to_device(offsets, sizeof offsets);
  csr.neighbours = (const uint32_t *)to_device(neighbours, sizeof neighbours);
  csr.weight_type = DZO_WEIGHT_F32;
  csr.weights = to_device(weights, sizeof weights);
  uint64_t *arcs = (uint64_t *)to_device(NULL, VERTICES * sizeof *arcs), count = 0;
  status = dzo_msf_run_device(context, &csr, NULL, arcs, &count);
  if (status == DZO_OK)
    print_forest(arcs, count);
  else
    fprintf(stderr, "%s: %s\n", dzo_status_text(status), dzo_context_message(context));
  cudaFree((void *)csr.offsets);
  cudaFree((void *)csr.neighbours);
  cudaFree((void *)csr.weights);
  cudaFree(arcs);
  dzo_context_destroy(context);
  return status == DZO_OK ? 0 : 1;
}
