# SPDX-License-Identifier: GPL-2.0-or-later
#
# depd, the daemon: $(B)/depd
# make install		also units, the group adept, the rule for /dev/adept; UNITDIR,
#			USERUNITDIR, SYSUSERSDIR, TMPFILESDIR, UDEVDIR, SBINDIR

DEPD_LIBS := -lbpf -lsystemd
DEPD_SRC := $(filter-out %.bpf.c,$(call in,daemon))
DEPD_OBJ := $(patsubst %.c,$(B)/host/%.o,$(DEPD_SRC))
DEPD := $(B)/depd

SBINDIR ?= $(PREFIX)/sbin
UNITDIR ?= $(PREFIX)/lib/systemd/system
USERUNITDIR ?= $(PREFIX)/lib/systemd/user
SYSUSERSDIR ?= $(PREFIX)/lib/sysusers.d
TMPFILESDIR ?= $(PREFIX)/lib/tmpfiles.d

all: $(DEPD)

$(B)/depd: $(DEPD_OBJ) $(B)/libdep.a
	$(call msg,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) $(SANFLAGS) -o $@ $^ $(DEPD_LIBS) $(LIBS)

# ---- BPF programs: exec_watch.c includes the generated $(B)/bpf/exec.skel.h ----

CLANG ?= clang
BPFTOOL ?= $(firstword $(wildcard /usr/sbin/bpftool /sbin/bpftool) bpftool)
# BPF_PROG() declares a context parameter that not every program uses.
BPFFLAGS := -target bpf -D__TARGET_ARCH_x86 -O2 -g $(WARN) -Wno-unused-parameter \
	    $(addprefix -I/usr/include/,$(shell $(CC) -print-multiarch))

$(B)/bpf/%.o: daemon/pending/%.bpf.c daemon/rules.mk
	@mkdir -p $(@D)
	$(call msg,CLANG,$<)
	$(Q)$(CLANG) $(BPFFLAGS) -MMD -MP -c $< -o $@

$(B)/bpf/%.skel.h: $(B)/bpf/%.o
	$(call msg,GEN,$@)
	$(Q)$(BPFTOOL) gen skeleton $< name $*_bpf > $@.tmp && mv $@.tmp $@

$(B)/host/daemon/pending/exec_watch.o: $(B)/bpf/exec.skel.h
.SECONDARY: $(B)/bpf/exec.o

-include $(DEPD_OBJ:.o=.d) $(B)/bpf/exec.d

# ---- tests ----

# Tests the code of the policy that needs no BPF.
$(B)/tests/test_policy: $(call unit_obj,test_policy) $(POLICY_OBJ) \
			$(B)/host/daemon/pending/kernel_rules.o

# Test program of tests/vm/t_policy, which runs it in a virtual machine.
WATCH_OBJ := $(patsubst %,$(B)/host/daemon/%.o,pending/exec_watch pending/pending pending/watchdog \
	      pending/kernel_rules)
$(B)/tests/policy_vm: $(B)/host/tests/vm/policy.o $(B)/host/tests/vm/policy_record.o \
		      $(POLICY_OBJ) $(WATCH_OBJ) $(B)/libdep.a
	@mkdir -p $(@D)
	$(call msg,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) $(SANFLAGS) -o $@ $^ $(DEPD_LIBS) $(LIBS)

# ---- installation ----

DEPD_UNITS := $(notdir $(wildcard daemon/systemd/*.socket))
DEPD_USER_UNITS := $(notdir $(wildcard daemon/systemd/user/*.socket))

install: install-depd
install-depd: all
	$(Q)install -d $(addprefix $(DESTDIR),$(SBINDIR) $(UNITDIR) $(USERUNITDIR) \
		$(SYSUSERSDIR) $(TMPFILESDIR) $(UDEVDIR))
	$(Q)install -m 755 $(DEPD) $(DESTDIR)$(SBINDIR)/depd
	$(Q)for u in depd user/depd; do sed 's,@SBINDIR@,$(SBINDIR),' \
		daemon/systemd/$$u.service.in >$(B)/unit && \
		case $$u in user/*) d=$(USERUNITDIR) ;; *) d=$(UNITDIR) ;; esac && \
		install -m 644 $(B)/unit $(DESTDIR)$$d/depd.service || exit 1; done
	$(Q)install -m 644 $(addprefix daemon/systemd/,$(DEPD_UNITS)) $(DESTDIR)$(UNITDIR)
	$(Q)install -m 644 $(addprefix daemon/systemd/user/,$(DEPD_USER_UNITS)) \
		$(DESTDIR)$(USERUNITDIR)
	$(Q)install -m 644 daemon/systemd/adept.sysusers $(DESTDIR)$(SYSUSERSDIR)/adept.conf
	$(Q)install -m 644 daemon/systemd/adept.tmpfiles $(DESTDIR)$(TMPFILESDIR)/adept.conf
	$(Q)install -m 644 kmod/60-adept.rules $(DESTDIR)$(UDEVDIR)

uninstall: uninstall-depd
uninstall-depd:
	$(Q)rm -f $(addprefix $(DESTDIR),$(SBINDIR)/depd $(SYSUSERSDIR)/adept.conf \
		$(TMPFILESDIR)/adept.conf $(UDEVDIR)/60-adept.rules \
		$(addprefix $(UNITDIR)/,depd.service $(DEPD_UNITS)) \
		$(addprefix $(USERUNITDIR)/,depd.service $(DEPD_USER_UNITS)))

.PHONY: install-depd uninstall-depd

# ---- tests ----

depd_obj = $(patsubst %,$(B)/host/daemon/%.o,$(1))
RUNDIR_OBJ := $(call depd_obj,base/rundir base/rundir_socket)
NOTIFY_OBJ := $(call depd_obj,base/sd_notify base/log)
KEEP_OBJ := $(patsubst %.c,$(B)/host/%.o,$(call in,daemon/fdstore)) \
	    $(call depd_obj,base/sd_notify) $(RUNDIR_OBJ) $(B)/host/libdep/inject/owner.o

$(B)/tests/test_fdstore: $(call unit_obj,test_fdstore test_fdstore_clients fdstore_helpers) \
			 $(KEEP_OBJ)
$(B)/tests/test_rundir: $(call unit_obj,test_rundir) $(RUNDIR_OBJ)
$(B)/tests/test_sd_notify: $(call unit_obj,test_sd_notify) $(NOTIFY_OBJ)
$(B)/tests/test_account: $(call unit_obj,test_account) $(call depd_obj,base/account base/subuid)
$(B)/tests/test_link: $(call unit_obj,test_link) $(call depd_obj,link/link link/shared_page) \
		      $(B)/libdep.a
$(B)/tests/test_tracer: $(call unit_obj,test_tracer) $(call depd_obj,injector/tracer_msg injector/tracer_serve) \
			$(B)/libdep.a
$(addprefix $(B)/tests/test_,fdstore sd_notify): private HOSTLIBS := -lsystemd

# Test driver: runs depd's fd store under systemd without the rest of depd.
$(B)/tests/keep_driver: tests/vm/keep_driver.c $(KEEP_OBJ) $(B)/host/daemon/base/log.o
	@mkdir -p $(@D)
	$(call msg,CC,$@)
	$(Q)$(CC) $(TESTFLAGS) -o $@ $^ -lsystemd

