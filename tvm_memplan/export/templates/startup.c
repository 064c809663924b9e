/* Start-up of the example on a Cortex-M: vectors, variables, main. A project of your own has one already. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

extern uint8_t example_data_load[], example_data_start[], example_data_end[];
extern uint8_t example_bss_start[], example_bss_end[], example_stack_top[];

int main(void);

__attribute__((noreturn)) static void stop(void)
{
  for (;;) {
  }
}

__attribute__((noreturn)) void example_reset(void);

void example_reset(void)
{
#ifdef __ARM_FP
  *(volatile uint32_t *)0xE000ED88u |= 0xFu << 20; /* switch the floating-point unit on */
  __asm volatile("dsb\n isb" ::: "memory");
#endif
  memcpy(example_data_start, example_data_load, (size_t)(example_data_end - example_data_start));
  memset(example_bss_start, 0, (size_t)(example_bss_end - example_bss_start));
  main();
  stop();
}

__attribute__((section(".vectors"), used)) static void (*const vectors[16])(void) = {
  (void (*)(void))example_stack_top, example_reset, stop, stop, stop, stop, stop, 0, 0, 0, 0, stop, stop, 0, stop, stop,
};
