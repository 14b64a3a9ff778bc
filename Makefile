# SPDX-License-Identifier: GPL-2.0-or-later
#
# make			everything, into build/
# make check		the tests; make check-long: with larger inputs
# make bench		what recording costs, beside native runs
# make install		DESTDIR= PREFIX=
# V=1 shows the commands; SAN=1 builds the host side with ASan and UBSan, in
# build-san/.

ifeq ($(SAN),1)
B := build-san
SANFLAGS := -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
else
B := build
SANFLAGS :=
endif

PREFIX ?= /usr/local
DESTDIR ?=
VERSION := 0.1.0

CC ?= gcc
HOSTLIBS := -lZydis
LIBS := -lzstd -lxxhash -lsqlite3 -lcjson -lelf -ldw -lpthread

WARN := -Wall -Wextra -Werror
CFLAGS ?= -O2 -g
HOSTFLAGS := -std=gnu11 -D_GNU_SOURCE $(WARN) -fPIC -fvisibility=hidden -I$(B) -Iinclude -Ilibdep \
	     -DADEPT_VERSION='"$(VERSION)"' $(SANFLAGS)
# The blob: no libc, general registers only, no relocations.
BLOBFLAGS := -std=gnu11 -O2 -g $(WARN) -ffreestanding -mgeneral-regs-only -mfsgsbase -fPIE \
	     -fvisibility=hidden -fno-stack-protector -mno-red-zone -fcf-protection=none \
	     -fno-asynchronous-unwind-tables -fno-tree-loop-distribute-patterns \
	     -fno-strict-aliasing -include libdep/blob/hidden.h -I$(B) -Ilibdep

ifeq ($(V),1)
Q :=
msg =
else
Q := @
msg = @printf '  %-8s %s\n' "$(1)" "$(2)";
endif

BLOB_SRC := $(wildcard libdep/blob/*.c libdep/blob/*.S libdep/translate/*.c libdep/record/*.c \
	      libdep/os/*.c) libdep/x86/decode.c libdep/x86/operand.c libdep/x86/derive.c
BLOB_OBJ := $(patsubst libdep/%,$(B)/blob/%.o,$(BLOB_SRC))

X86_HOST := libdep/x86/decode.c libdep/x86/operand.c libdep/x86/derive.c libdep/x86/derive_run.c
LIB_SRC := $(wildcard libdep/inject/*.c libdep/format/*.c libdep/recover/*.c libdep/collect/*.c) \
	   $(X86_HOST)
LIB_OBJ := $(patsubst %.c,$(B)/host/%.o,$(LIB_SRC))
DEPCTL_OBJ := $(patsubst %.c,$(B)/host/%.o,$(wildcard tools/depctl/*.c))

all: $(B)/libdep.so $(B)/depctl

# ---- decoder tables ----

$(B)/gen_tab: libdep/x86/gen_tab.c libdep/x86/gen_row.c libdep/x86/gen_cons.c \
	      $(wildcard libdep/x86/*.h)
	@mkdir -p $(@D)
	$(call msg,HOSTCC,$@)
	$(Q)$(CC) -std=gnu11 -O2 $(WARN) $(filter %.c,$^) -o $@ $(HOSTLIBS)

$(B)/x86tab.h: $(B)/gen_tab
	$(call msg,GEN,$@)
	$(Q)$(B)/gen_tab > $@.tmp && mv $@.tmp $@

# ---- the blob ----

$(B)/blob/%.o: libdep/% $(B)/x86tab.h Makefile
	@mkdir -p $(@D)
	$(call msg,CC blob,$<)
	$(Q)$(CC) $(BLOBFLAGS) -MMD -MP -c $< -o $@

$(B)/blob.elf: $(BLOB_OBJ) libdep/blob/blob.lds
	$(call msg,LD,$@)
	$(Q)ld -static -nostdlib --no-warn-rwx-segments -T libdep/blob/blob.lds -o $@ $(BLOB_OBJ)
	$(Q)sh libdep/blob/check-blob.sh $@ $(BLOB_OBJ)

$(B)/blob.bin: $(B)/blob.elf
	$(call msg,OBJCOPY,$@)
	$(Q)objcopy -O binary $< $@

$(B)/blob_image.S: $(B)/blob.bin
	$(call msg,GEN,$@)
	$(Q)sh libdep/blob/image.sh $(B)/blob.elf $(B)/blob.bin > $@

$(B)/blob_image.o: $(B)/blob_image.S
	$(Q)$(CC) -c $< -o $@

# ---- the host side ----

$(B)/host/%.o: %.c $(B)/x86tab.h Makefile
	@mkdir -p $(@D)
	$(call msg,CC,$<)
	$(Q)$(CC) $(CFLAGS) $(HOSTFLAGS) -MMD -MP -c $< -o $@

$(B)/libdep.a: $(LIB_OBJ) $(B)/blob_image.o
	$(call msg,AR,$@)
	$(Q)rm -f $@ && ar rcs $@ $^

$(B)/libdep.so: $(LIB_OBJ) $(B)/blob_image.o libdep/libdep.map
	$(call msg,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(SANFLAGS) -shared -Wl,-soname,libdep.so.0 \
		-Wl,--version-script=libdep/libdep.map -o $@ $(LIB_OBJ) $(B)/blob_image.o $(LIBS)

$(B)/depctl: $(DEPCTL_OBJ) $(B)/libdep.a
	$(call msg,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(SANFLAGS) -o $@ $^ $(LIBS)

clean:
	rm -rf build build-san

.PHONY: all clean
-include $(BLOB_OBJ:.o=.d) $(LIB_OBJ:.o=.d) $(DEPCTL_OBJ:.o=.d)
