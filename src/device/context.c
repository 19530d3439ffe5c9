/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Contexts, which know their devices. */
#include "base/context.h"

#include <string.h>

#include "device/device.h"

/* Open the context's GPU, once. A GPU that does not work is noted; that there is none is no
 * surprise. */
static void open_gpu(dzo_context *context) {
  context->gpu_tried = true;
  const char *reason;
  int count = dzo_backend_cuda.count(&reason);
  if (count == 0)
    return;
  if (context->device_index < 0 || context->device_index >= count) {
    dzo_notice(context, "there is no GPU number %d: the last is %d", context->device_index,
               count - 1);
    return;
  }
  if (dzo_unit_open(&dzo_backend_cuda, context, context->device_index, &context->gpu) != DZO_OK)
    dzo_notice(context, "GPU %d cannot be used: %s", context->device_index, context->message);
}

dzo_status dzo_context_create(const dzo_context_options *options, dzo_context **out) {
  if (out == NULL)
    return DZO_E_ARGUMENT;
  *out = NULL;
  dzo_context *context = NULL;
  DZO_TRY(dzo_context_make(options, &context));
  if (context->device == DZO_DEVICE_CUDA || context->device == DZO_DEVICE_HYBRID) {
    open_gpu(context);
    if (context->gpu == NULL) {
      dzo_context_destroy(context);
      return DZO_E_DEVICE;
    }
  }
  *out = context;
  return DZO_OK;
}

void dzo_context_destroy(dzo_context *context) {
  if (context == NULL)
    return;
  dzo_unit_close(context->gpu);
  dzo_context_free(context);
}

dzo_unit *dzo_context_gpu(dzo_context *context) {
  if (context->device == DZO_DEVICE_CPU)
    return NULL;
  if (!context->gpu_tried) {
    /* A failure to open is no failure of the running call. */
    open_gpu(context);
    context->message[0] = '\0';
  }
  if (context->gpu == NULL)
    return NULL;
  if (!context->gpu->lost)
    return context->gpu;
  dzo_notice(context, "GPU %d is no longer used: %s", context->gpu->index, context->gpu->reason);
  return NULL;
}

dzo_status dzo_context_need_gpu(dzo_context *context, dzo_unit **out) {
  *out = dzo_context_gpu(context);
  if (*out != NULL)
    return DZO_OK;
  char notice[sizeof context->notice];
  memcpy(notice, context->notice, sizeof notice);
  dzo_begin(context);
  const char *reason = notice;
  if (context->device == DZO_DEVICE_CPU)
    reason = "the context is one for the CPU";
  else if (notice[0] == '\0' && dzo_backend_cuda.count(&reason) > 0)
    reason = "the context's GPU could not be opened";
  return dzo_fail(context, context->gpu != NULL ? DZO_E_DEVICE_FAILED : DZO_E_DEVICE, "%s", reason);
}
