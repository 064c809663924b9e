/* Stands before the C library and TVM's run time (LD_PRELOAD), and notes what is asked of them while it is told to.

   posix_memalign, free              TVM's memory on a CPU; noted when TVM's run time is the one that asks
   TVMBackendAllocWorkspace, Free..  what kernels ask for; noted with the address of the caller

   It changes nothing: the real functions do the work. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 0, WORKSPACE = 1, BLOCK_FREED = 2, WORKSPACE_FREED = 3, MARK = 4 };
enum { MOST = 1 << 18, LIVE = 1 << 12 };

struct event {
  int32_t kind;
  int32_t inside; /* a block that was taken for a kernel's workspace */
  uint64_t size;
  uint64_t address;
  uint64_t caller; /* bytes from the start of the caller's library */
};

static struct event events[MOST];
static uint64_t count, lost;
static struct {
  void *pointer;
  uint64_t size;
} live[LIVE];
static int live_count;
static atomic_flag lock = ATOMIC_FLAG_INIT;
static int on;
static _Thread_local int inside;

static int (*real_memalign)(void **, size_t, size_t);
static void (*real_free)(void *);
static void *(*real_workspace)(int, int, uint64_t, int, int);
static int (*real_workspace_free)(int, int, void *);

static void hold(void)
{
  while (atomic_flag_test_and_set(&lock)) {
  }
}

static void note(int kind, uint64_t size, const void *address, uint64_t caller)
{
  if (count == MOST) {
    ++lost;
    return;
  }
  events[count++] = (struct event){kind, inside, size, (uint64_t)(uintptr_t)address, caller};
}

static int from_tvm(const void *caller, uint64_t *offset)
{
  Dl_info info;
  if (!dladdr(caller, &info) || !info.dli_fname) {
    return 0;
  }
  const char *name = strrchr(info.dli_fname, '/');
  *offset = (uint64_t)((uintptr_t)caller - (uintptr_t)info.dli_fbase);
  return strncmp(name ? name + 1 : info.dli_fname, "libtvm", 6) == 0;
}

int posix_memalign(void **pointer, size_t alignment, size_t size)
{
  if (!real_memalign) {
    real_memalign = (int (*)(void **, size_t, size_t))dlsym(RTLD_NEXT, "posix_memalign");
  }
  int error = real_memalign(pointer, alignment, size);
  uint64_t offset;
  if (on && !error && from_tvm(__builtin_return_address(0), &offset)) {
    hold();
    if (live_count < LIVE) {
      live[live_count].pointer = *pointer;
      live[live_count++].size = size;
    } else {
      ++lost;
    }
    note(BLOCK, size, *pointer, offset);
    atomic_flag_clear(&lock);
  }
  return error;
}

void free(void *pointer)
{
  if (!real_free) {
    real_free = (void (*)(void *))dlsym(RTLD_NEXT, "free");
  }
  if (pointer && live_count) {
    hold();
    for (int i = live_count - 1; i >= 0; --i) {
      if (live[i].pointer == pointer) {
        note(BLOCK_FREED, live[i].size, pointer, 0);
        live[i] = live[--live_count];
        break;
      }
    }
    atomic_flag_clear(&lock);
  }
  real_free(pointer);
}

void *TVMBackendAllocWorkspace(int device, int id, uint64_t size, int code, int bits)
{
  if (!real_workspace) {
    real_workspace = (void *(*)(int, int, uint64_t, int, int))dlsym(RTLD_NEXT, "TVMBackendAllocWorkspace");
  }
  ++inside;
  void *pointer = real_workspace(device, id, size, code, bits);
  --inside;
  if (on) {
    uint64_t offset = 0;
    from_tvm(__builtin_return_address(0), &offset);
    hold();
    note(WORKSPACE, size, pointer, offset);
    atomic_flag_clear(&lock);
  }
  return pointer;
}

int TVMBackendFreeWorkspace(int device, int id, void *pointer)
{
  if (on) {
    hold();
    note(WORKSPACE_FREED, 0, pointer, 0);
    atomic_flag_clear(&lock);
  }
  if (!real_workspace_free) {
    real_workspace_free = (int (*)(int, int, void *))dlsym(RTLD_NEXT, "TVMBackendFreeWorkspace");
  }
  return real_workspace_free(device, id, pointer);
}

/* What Python calls. */
void memplan_real(void *workspace, void *workspace_free)
{
  real_workspace = (void *(*)(int, int, uint64_t, int, int))workspace;
  real_workspace_free = (int (*)(int, int, void *))workspace_free;
}

void memplan_watch(int now) { on = now; }

void memplan_mark(uint64_t number)
{
  hold();
  note(MARK, number, 0, 0);
  atomic_flag_clear(&lock);
}

const struct event *memplan_events(void) { return events; }
uint64_t memplan_count(void) { return count; }
uint64_t memplan_lost(void) { return lost; }
