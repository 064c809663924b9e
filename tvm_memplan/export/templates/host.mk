# Builds the model as a library, and the example as a program for the machine of the compiler.
CROSS ?= @CROSS@
CPU_FLAGS ?= @CPU_FLAGS@
CFLAGS ?= -O2 -g
MAIN ?= main.c
# For `make measure`: bytes that are watched behind each arena, and what runs a program that is not for this machine.
GUARD_BYTES ?= 32
RUN ?=

CC := $(CROSS)gcc
AR := $(CROSS)ar
# Buffers of different types share bytes; and one result on every processor needs one rounding per operation.
MODEL_FLAGS := -std=gnu11 -fno-strict-aliasing -ffp-contract=off -ffunction-sections -fdata-sections
MEASURE_FLAGS := $(MODEL_FLAGS) -D@UPPER@_GUARD_BYTES=$(GUARD_BYTES)
# What the stack needs, for `tvm_memplan.export.memory_use`.
MODEL_FLAGS += -fstack-usage -fcallgraph-info=su
SOURCES := @SOURCES@
OBJECTS := $(SOURCES:%.c=build/%.o)

all: build/lib@NAME@.a build/@PROGRAM@

build/lib@NAME@.a: $(OBJECTS)
	rm -f $@
	$(AR) rcs $@ $^

build/@PROGRAM@: build/main.o build/lib@NAME@.a
	$(CC) $(CPU_FLAGS) $(CFLAGS) $(LDFLAGS) -Wl,-Map=build/example.map -o $@ build/main.o build/lib@NAME@.a -lm

build/main.o: $(MAIN) @NAME@.h | build
	$(CC) $(CPU_FLAGS) $(CFLAGS) $(MODEL_FLAGS) -I. -c -o $@ $<

build/%.o: %.c $(wildcard *.h) | build
	$(CC) $(CPU_FLAGS) $(CFLAGS) $(MODEL_FLAGS) -c -o $@ $<

# The plan against reality.
measure: build/measure

run-measure: build/measure
	$(RUN) ./$<

build/measure: measure.c $(SOURCES) $(wildcard *.h) | build
	$(CC) $(CPU_FLAGS) $(CFLAGS) $(MEASURE_FLAGS) -I. $(LDFLAGS) -o $@ $(filter %.c,$^) -lm

build:
	mkdir -p build

clean:
	rm -rf build

.PHONY: all clean measure run-measure
