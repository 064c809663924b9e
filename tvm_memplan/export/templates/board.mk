# Builds the model as a library, and the example as a program for the board.
CROSS ?= @CROSS@
CPU_FLAGS ?= @CPU_FLAGS@
CFLAGS ?= -O2 -g
STACK_BYTES ?= @STACK_BYTES@
MAIN ?= main.c
# For `make measure`: bytes that are watched behind each arena, a file that says where lines go, and what runs a program.
GUARD_BYTES ?= 32
EXTRA ?=
RUN ?= @RUN_ON@

CC := $(CROSS)gcc
AR := $(CROSS)ar
# Buffers of different types share bytes; and one result on every processor needs one rounding per operation.
MODEL_FLAGS := -std=gnu11 -fno-strict-aliasing -ffp-contract=off -ffunction-sections -fdata-sections
MEASURE_FLAGS := $(MODEL_FLAGS) -D@UPPER@_GUARD_BYTES=$(GUARD_BYTES)
# What the stack needs, for `tvm_memplan.export.memory_use`.
MODEL_FLAGS += -fstack-usage -fcallgraph-info=su
SOURCES := @SOURCES@
OBJECTS := $(SOURCES:%.c=build/%.o)
LINK_FLAGS := -nostartfiles -specs=nano.specs -specs=nosys.specs -L. -Texample.ld -Wl,--gc-sections
LINK_FLAGS += -Wl,--defsym=example_stack_bytes=$(STACK_BYTES) -Wl,-Map=build/example.map

all: build/lib@NAME@.a build/@PROGRAM@

build/lib@NAME@.a: $(OBJECTS)
	rm -f $@
	$(AR) rcs $@ $^

build/@PROGRAM@: build/startup.o build/main.o build/lib@NAME@.a example.ld memory.ld arenas.ld
	$(CC) $(CPU_FLAGS) $(CFLAGS) $(LINK_FLAGS) -o $@ build/startup.o build/main.o build/lib@NAME@.a -lm

build/main.o: $(MAIN) @NAME@.h | build
	$(CC) $(CPU_FLAGS) $(CFLAGS) $(MODEL_FLAGS) -I. -c -o $@ $<

build/%.o: %.c $(wildcard *.h) | build
	$(CC) $(CPU_FLAGS) $(CFLAGS) $(MODEL_FLAGS) -c -o $@ $<

# The plan against reality. On the board, run build/measure.elf and keep what it prints.
measure: build/measure.elf

run-measure: build/measure.elf
	$(if $(strip $(RUN)),$(RUN) $<,$(error set RUN to the command that runs a program on the board and prints its lines))

build/measure.elf: build/startup.o measure.c $(EXTRA) $(SOURCES) $(wildcard *.h) example.ld memory.ld arenas.ld
	$(CC) $(CPU_FLAGS) $(CFLAGS) $(MEASURE_FLAGS) -I. $(LINK_FLAGS) -o $@ $(filter %.c %.o,$^) -lm

build:
	mkdir -p build

clean:
	rm -rf build

.PHONY: all clean measure run-measure
