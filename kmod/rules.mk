# SPDX-License-Identifier: GPL-2.0-or-later
#
# make modules		build adept.ko in build/modules; KVER= or KDIR= select another kernel than
#			the running one
# make modules_install	install adept.ko and its udev rule (group adept may open /dev/adept);
#			DESTDIR= is put before the paths
# make check-vm		run the module's tests in QEMU
# make check-vm-debug	build a kernel that checks locks, memory and leaks, and run the tests on it
# make check-vm-coverage	make random calls on that kernel for an hour (COVERAGE_SECONDS), and
#			report which functions and lines of the module were executed
# make bench-vm		measure in QEMU what the exchange of chunks costs

KVER ?= $(shell uname -r)
KDIR ?= /lib/modules/$(KVER)/build
M := $(B)/modules
KMOD_SRC := Kbuild $(wildcard kmod/*.c kmod/*.h) include/uapi/linux/adept.h
UDEVDIR ?= $(PREFIX)/lib/udev/rules.d

modules:
	$(Q)test -e $(KDIR)/Makefile || { echo "There are no headers of the kernel $(KVER) at" \
		"$(KDIR): install linux-headers-$(KVER), or set KVER or KDIR." >&2; exit 1; }
	@mkdir -p $(addprefix $(M)/,$(sort $(dir $(KMOD_SRC))))
	$(Q)for f in $(KMOD_SRC); do ln -sf "$$(pwd)/$$f" $(M)/$$f; done
	$(call msg,KBUILD,$(M)/adept.ko)
	$(Q)MAKE="$(MAKE)" sh kmod/kbuild.sh $(KDIR) $(M) $(if $(V),,-s) $(KFLAGS) modules

modules_install:
	$(Q)test -e $(M)/adept.ko || { echo "Run make modules first." >&2; exit 1; }
	$(Q)MAKE="$(MAKE)" sh kmod/kbuild.sh $(KDIR) $(M) \
		$(if $(DESTDIR),INSTALL_MOD_PATH=$(DESTDIR)) modules_install
	$(Q)install -d $(DESTDIR)$(UDEVDIR)
	$(Q)install -m 644 kmod/60-adept.rules $(DESTDIR)$(UDEVDIR)

check-vm:
	$(Q)BUILD=$(B) LONG=$(or $(LONG),0) bash tests/vm/run.sh $(SUITES)

check-vm-debug:
	$(Q)BUILD=$(B) bash tests/vm/debug.sh $(SUITES)

check-vm-coverage:
	$(Q)BUILD=$(B) bash tests/vm/coverage.sh

bench-vm:
	$(Q)BUILD=$(B) bash tests/vm/bench.sh

.PHONY: modules modules_install check-vm check-vm-debug check-vm-coverage bench-vm
