# SPDX-License-Identifier: GPL-2.0-or-later
#
# make			everything, into build/
# make check		the tests (SUITES="cli crash" for some, TEST=NAME for a part of a suite, see
#			Documentation/testing.rst); make check-long: all of them with larger inputs
# make bench		what recording costs, compared with native runs (BENCH="gzip xz",
#			ROUNDS=, QUICK=1), and then what bench-attach measures
# make bench-attach	how long attach and detach stop a process (BENCH="sleep100 busy8"), and what
#			its threads and clients notice (BENCH="stamp100 redis")
# make bench-races	the cost of race detection, compared with other detectors; takes the same
# make bench-pgo	how much faster gcc, clang and BOLT make a program by an exported profile
# make bench-depd	how fast depd is, compared with `depctl record --alone`; takes the same
# make bench-profiles	what profiles of a recording cost, compared with native runs; takes the same
# make lint		licence lines, line lengths, cppcheck where it is installed
# make compile_commands	compile_commands.json, for clangd and other tools
# make docs		Documentation as HTML, in build/docs; warnings are errors (Sphinx)
# make modules, check-vm, check-vm-debug, check-vm-coverage, bench-vm: the kernel module, see
#			kmod/rules.mk
# make install		DESTDIR= PREFIX= LIBDIR=; make uninstall takes the same
# V=1 shows the commands; SAN=1 builds the host side with ASan and UBSan, in
# build-san/, SAN=thread with ThreadSanitizer, in build-tsan/.

ifeq ($(SAN),1)
B := build-san
# gcc takes UBSan's checks of pointers for a hint that they are null.
SANFLAGS := -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer \
	    -Wno-format-truncation
else ifeq ($(SAN),thread)
B := build-tsan
# ThreadSanitizer does not support fences; -Wno-tsan silences the warning about that.
SANFLAGS := -fsanitize=thread -fno-omit-frame-pointer -Wno-tsan
else
B := build
SANFLAGS :=
endif

PREFIX ?= /usr/local
DESTDIR ?=
VERSION := 0.1.0
# Number in the soname and in the symbol versions, see "Change the library" in contributing.rst.
SOVERSION := 0

CC ?= gcc
HOSTLIBS := -lZydis
LIBS := -lzstd -llz4 -lxxhash -lsqlite3 -lcjson -lelf -ldw -luring -lpthread

WARN := -Wall -Wextra -Werror
CFLAGS ?= -O2 -g
# Every symbol is bound at the start, and its place read-only from then on: a process that is forked
# binds none again.
LDFLAGS ?= -Wl,-z,relro,-z,now
HOSTFLAGS := -std=gnu11 -D_GNU_SOURCE $(WARN) -fPIC -fvisibility=hidden -I$(B) -Iinclude \
	     -Iinclude/uapi -I. -DADEPT_VERSION='"$(VERSION)"' $(SANFLAGS)
# The engine: no libc, general registers only, no relocations.
ENGINEFLAGS := -std=gnu11 -O2 -g $(WARN) -ffreestanding -mgeneral-regs-only -mfsgsbase -fPIE \
	     -fvisibility=hidden -fno-stack-protector -mno-red-zone -fcf-protection=none \
	     -fno-asynchronous-unwind-tables -fno-tree-loop-distribute-patterns \
	     -fno-strict-aliasing -include libdep/engine/base/hidden.h -I$(B) -I. -Iinclude

ifeq ($(V),1)
Q :=
msg =
else
Q := @
msg = @printf '  %-8s %s\n' "$(1)" "$(2)";
endif

# Files of these folders and of those below them.
in = $(foreach d,$(1),$(wildcard $(d)/*.c $(d)/*/*.c))

X86_SRC := $(patsubst %,libdep/x86/%.c,decode operands derive)
ENGINE_SRC := $(call in,libdep/engine) $(wildcard libdep/engine/*.S libdep/engine/*/*.S) $(X86_SRC)
ENGINE_OBJ := $(patsubst libdep/%,$(B)/freestanding/%.o,$(ENGINE_SRC))

X86_HOST := $(X86_SRC) libdep/x86/derive_run.c
LIB_SRC := $(call in,$(addprefix libdep/,inject attach format recover fold profile contexts \
			context context_check paths path_profile streams symbols collect \
			analyze)) \
	   $(X86_HOST)
LIB_OBJ := $(patsubst %.c,$(B)/host/%.o,$(LIB_SRC))
# depd's rules, without BPF.
POLICY_OBJ := $(patsubst %,$(B)/host/daemon/policy/%.o,conf config config_keys match describe)
DEPCTL_OBJ := $(patsubst %.c,$(B)/host/%.o,$(call in,tools/depctl)) $(POLICY_OBJ)

all: $(B)/libdep.so $(B)/depctl

# ---- decoder tables ----

$(B)/gen_tab: $(wildcard libdep/x86/gen/*.c libdep/x86/gen/*.h libdep/x86/*.h)
	@mkdir -p $(@D)
	$(call msg,HOSTCC,$@)
	$(Q)$(CC) -std=gnu11 -O2 $(WARN) -I. $(filter %.c,$^) -o $@ $(HOSTLIBS)

$(B)/x86tab.h: $(B)/gen_tab
	$(call msg,GEN,$@)
	$(Q)$(B)/gen_tab > $@.tmp && mv $@.tmp $@

# ---- names of system calls, for depctl dump ----

$(B)/syscall_names.h: Makefile
	@mkdir -p $(@D)
	$(call msg,GEN,$@)
	$(Q)echo '#include <asm/unistd_64.h>' | $(CC) -E -dM - | awk ' \
		BEGIN { printf "#define SYSCALL_NAMES" } \
		$$2 ~ /^__NR_/ && $$3 ~ /^[0-9]+$$/ { \
			printf " [%d] = \"%s\",", $$3, substr($$2, 6) \
		}' > $@.tmp && mv $@.tmp $@

$(B)/host/tools/depctl/common/syscall_name.o: $(B)/syscall_names.h

# ---- the engine: what runs inside the profiled process ----

$(B)/freestanding/%.o: libdep/% $(B)/x86tab.h Makefile
	@mkdir -p $(@D)
	$(call msg,CC engine,$<)
	$(Q)$(CC) $(ENGINEFLAGS) -MMD -MP -c $< -o $@

$(B)/engine.elf: $(ENGINE_OBJ) libdep/engine/image/engine.lds
	$(call msg,LD,$@)
	$(Q)ld -static -nostdlib --no-warn-rwx-segments -T libdep/engine/image/engine.lds -o $@ \
		$(ENGINE_OBJ)
	$(Q)sh libdep/engine/image/check.sh $@ $(ENGINE_OBJ)

$(B)/engine.bin: $(B)/engine.elf
	$(call msg,OBJCOPY,$@)
	$(Q)objcopy -O binary $< $@

$(B)/engine_image.S: $(B)/engine.bin
	$(call msg,GEN,$@)
	$(Q)sh libdep/engine/image/embed.sh $(B)/engine.elf $(B)/engine.bin > $@

$(B)/engine_image.o: $(B)/engine_image.S
	$(Q)$(CC) -c $< -o $@

# ---- the host side ----

# Where analysis spends its time, unless somebody asked for less: 7 % fewer instructions on redis.
HOT := libdep/recover/% libdep/analyze/% libdep/format/% libdep/fold/% libdep/profile/% \
       libdep/contexts/% libdep/context/% libdep/context_check/% libdep/paths/% \
       libdep/path_profile/% libdep/streams/%
HOTOPT := $(if $(filter -O2,$(CFLAGS)),-O3)

$(B)/host/%.o: %.c $(B)/x86tab.h Makefile
	@mkdir -p $(@D)
	$(call msg,CC,$<)
	$(Q)$(CC) $(CFLAGS) $(if $(filter $(HOT),$<),$(HOTOPT)) $(HOSTFLAGS) -MMD -MP -c $< -o $@

$(B)/libdep.a: $(LIB_OBJ) $(B)/engine_image.o
	$(call msg,AR,$@)
	$(Q)rm -f $@ && ar rcs $@ $^

$(B)/libdep.so: $(LIB_OBJ) $(B)/engine_image.o libdep/libdep.map
	$(call msg,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) $(SANFLAGS) -shared \
		-Wl,-soname,libdep.so.$(SOVERSION) \
		-Wl,--version-script=libdep/libdep.map -o $@ $(LIB_OBJ) $(B)/engine_image.o $(LIBS)

# ---- the page of depctl report --html ----

PAGE := tools/depctl/page
# model.js defines what the others use; main.js starts the page.
PAGE_JS := $(PAGE)/model.js $(filter-out %/model.js %/main.js,$(wildcard $(PAGE)/*.js)) \
	   $(PAGE)/main.js

$(B)/page_tail.html: $(PAGE)/build.sh $(PAGE)/page.html $(PAGE)/page.css $(PAGE_JS)
	@mkdir -p $(@D)
	$(call msg,GEN,$@)
	$(Q)sh $< $(B)/page_head.html $@ $(PAGE)/page.css $(PAGE_JS)

$(B)/page_embed.o: $(PAGE)/embed.S $(B)/page_tail.html
	$(Q)$(CC) -Wa,-I$(B) -c $< -o $@

DEPCTL_OBJ += $(B)/page_embed.o

$(B)/depctl: $(DEPCTL_OBJ) $(B)/libdep.a
	$(call msg,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) $(SANFLAGS) -o $@ $^ $(HOSTLIBS) $(LIBS) -lz -lbz2 -llzma

# ---- tests ----

UNIT := decode derive elf_symbols inject store writer resume retention write_queue recover \
	collect collect_hostile window window_disk window_end window_forged trim owner chunk_end \
	module_chunks symbols merge tail sync sync_functions sync_processes detector races shadow \
	vector_clock predict ring_core loop request control metrics client fdstore rundir \
	sd_notify policy tracer word_set filter filter_functions filter_executions \
	filtered_program jit branch_table delta verdict durable access account link budget \
	descriptor attach_facts fold fold_random follow intervals sequences entries contexts \
	context_intervals context_graph context_state context_stacks context_forged \
	context_random context_check context_code context_loop callers page kept kept_contexts \
	kept_contexts_forged trigger_queue export_samples index paths paths_chords paths_predict \
	paths_random paths_large path_profile path_walks path_sequences path_flow sequitur hot \
	hot_forged overlap
TESTS := $(patsubst %,$(B)/tests/test_%,$(UNIT))
SHOW := $(patsubst %,$(B)/tests/inject_%,show_pie show_nopie show_static show_staticpie exec)
TESTFLAGS := $(CFLAGS) $(HOSTFLAGS)

vpath %.c $(wildcard tests/unit/*)

$(B)/tests/%.o: %.c $(B)/x86tab.h Makefile
	@mkdir -p $(@D)
	$(call msg,CC,$<)
	$(Q)$(CC) $(TESTFLAGS) -MMD -MP -c $< -o $@

# test_NAME: its own objects, then what it tests
x86_obj := $(patsubst %.c,$(B)/host/%.o,$(X86_HOST))
part_obj = $(patsubst %.c,$(B)/host/%.o,$(call in,libdep/$(1)))
unit_obj = $(patsubst %,$(B)/tests/%.o,$(1))
$(B)/tests/test_decode: $(call unit_obj,test_decode zydis_expect) $(x86_obj)
$(B)/tests/test_derive: $(call unit_obj,test_derive run_native) $(x86_obj) \
		      $(B)/host/libdep/x86/liveness.o
$(B)/tests/test_elf_symbols: $(call unit_obj,test_elf_symbols) \
			   $(B)/host/libdep/engine/hooks/elf_symbols.o
$(B)/tests/test_branch_table: $(call unit_obj,test_branch_table) \
			    $(B)/host/libdep/engine/translate/branch_table.o \
			    $(B)/host/libdep/engine/translate/branch_lookup.o
$(B)/tests/test_inject: $(call unit_obj,test_inject test_inject_follow test_inject_attach) \
			$(B)/tests/dummy_embed.o $(call part_obj,inject)
$(B)/tests/test_attach_facts: $(call unit_obj,test_attach_facts) $(B)/libdep.a
$(B)/tests/test_store: $(call unit_obj,test_store old_store forge stream stream_frag) $(B)/libdep.a
$(B)/tests/test_writer: $(call unit_obj,test_writer stream stream_frag) $(B)/libdep.a
$(B)/tests/test_durable: $(call unit_obj,test_durable test_durable_cut test_durable_names durable \
				fake_disk stream stream_frag fixed_random) $(B)/libdep.a
$(B)/tests/test_access: $(call unit_obj,test_access stream stream_frag) $(B)/libdep.a
$(B)/tests/test_resume: $(call unit_obj,test_resume test_resume_bad session stream stream_frag \
			fixed_random) $(B)/libdep.a
$(B)/tests/test_verdict: $(call unit_obj,test_verdict test_verdict_damage test_verdict_manifest \
				parts stream stream_frag) $(B)/libdep.a
$(B)/tests/test_index: $(call unit_obj,test_index stream stream_frag) $(B)/libdep.a
$(B)/tests/test_budget: $(call unit_obj,test_budget test_budget_time forge) $(B)/libdep.a
$(B)/tests/test_retention: $(call unit_obj,test_retention) \
			 $(B)/host/daemon/retention/retention.o $(B)/libdep.a
$(B)/tests/test_recover: $(call unit_obj,test_recover stream stream_frag) $(B)/libdep.a
$(B)/tests/test_word_set: $(call unit_obj,test_word_set) $(B)/libdep.a
$(B)/tests/test_filter: $(call unit_obj,test_filter) $(B)/libdep.a
$(B)/tests/test_filter_functions: $(call unit_obj,test_filter_functions) $(B)/libdep.a
$(B)/tests/test_filter_executions: $(call unit_obj,test_filter_executions) $(B)/libdep.a
$(B)/tests/test_filtered_program: $(call unit_obj,test_filtered_program stream stream_frag) \
				$(B)/libdep.a
$(B)/tests/test_jit: $(call unit_obj,test_jit) $(B)/libdep.a
$(B)/tests/test_descriptor: $(call unit_obj,test_descriptor) $(B)/libdep.a
$(B)/tests/test_delta: $(call unit_obj,test_delta) $(B)/libdep.a
$(B)/tests/test_fold: $(call unit_obj,test_fold fold_store stream stream_frag) $(B)/libdep.a
$(B)/tests/test_fold_random: $(call unit_obj,test_fold_random fold_store stream stream_frag) \
			   $(B)/libdep.a
$(B)/tests/test_intervals: $(call unit_obj,test_intervals fold_store stream stream_frag) \
			 $(B)/libdep.a
$(B)/tests/test_kept: $(call unit_obj,test_kept kept_bytes fold_store stream stream_frag) \
		    $(B)/libdep.a
$(B)/tests/test_kept_contexts: $(call unit_obj,test_kept_contexts contexts_store kept_bytes \
				fold_store stream stream_frag) $(B)/libdep.a
$(B)/tests/test_kept_contexts_forged: $(call unit_obj,test_kept_contexts_forged contexts_store \
				       kept_bytes fold_store stream stream_frag) $(B)/libdep.a
$(B)/tests/test_follow: $(call unit_obj,test_follow fold_store stream stream_frag) $(B)/libdep.a
$(B)/tests/test_sequences: $(call unit_obj,test_sequences fold_store stream stream_frag) \
			 $(B)/libdep.a
$(B)/tests/test_entries: $(call unit_obj,test_entries fold_store stream stream_frag) $(B)/libdep.a
$(B)/tests/test_contexts: $(call unit_obj,test_contexts fold_store stream stream_frag) $(B)/libdep.a
$(B)/tests/test_context_intervals: $(call unit_obj,test_context_intervals fold_store stream \
				    stream_frag) $(B)/libdep.a
$(B)/tests/test_callers: $(call unit_obj,test_callers fold_store stream stream_frag) $(B)/libdep.a
$(B)/tests/test_path_profile: $(call unit_obj,test_path_profile fold_store stream stream_frag) \
			    $(B)/libdep.a
$(B)/tests/test_path_walks: $(call unit_obj,test_path_walks path_model fold_store stream \
			  stream_frag) $(B)/libdep.a
$(B)/tests/test_path_sequences: $(call unit_obj,test_path_sequences fold_store stream \
			      stream_frag) $(B)/libdep.a
$(B)/tests/test_path_flow: $(call unit_obj,test_path_flow) $(B)/libdep.a
# The test counts the memory that the library has.
$(B)/tests/test_path_profile: private LIBS += -Wl,--wrap=malloc -Wl,--wrap=calloc \
	-Wl,--wrap=realloc -Wl,--wrap=aligned_alloc -Wl,--wrap=free
paths_test = $(call unit_obj,test_$(1) graph_util) $(call part_obj,paths)
$(B)/tests/test_paths: $(call paths_test,paths) | $(B)/paths_freestanding.o
$(B)/tests/test_paths_chords: $(call paths_test,paths_chords)
$(B)/tests/test_paths_predict: $(call paths_test,paths_predict)
$(B)/tests/test_paths_random: $(call paths_test,paths_random)
$(B)/tests/test_paths_large: $(call paths_test,paths_large)
context_test = $(call unit_obj,test_context_$(1) context_model) $(call part_obj,context)
$(B)/tests/test_context_graph: $(call context_test,graph)
$(B)/tests/test_context_state: $(call context_test,state)
$(B)/tests/test_context_stacks: $(call context_test,stacks)
$(B)/tests/test_context_forged: $(call context_test,forged)
$(B)/tests/test_context_random: $(call context_test,random)
$(B)/tests/test_context_check: $(call unit_obj,test_context_check) $(B)/libdep.a
$(B)/tests/test_context_code: $(call unit_obj,test_context_code) $(B)/libdep.a
$(B)/tests/test_context_loop: $(call unit_obj,test_context_loop fold_store stream stream_frag) \
			    $(B)/libdep.a
# The test lets each allocation fail.
$(B)/tests/test_context_loop: private LIBS += -Wl,--wrap=malloc -Wl,--wrap=calloc \
	-Wl,--wrap=realloc -Wl,--wrap=reallocarray -Wl,--wrap=aligned_alloc -Wl,--wrap=free \
	-Wl,--wrap=check_enter
$(B)/tests/test_sequitur: $(call unit_obj,test_sequitur grammar_check grammar_read) $(B)/libdep.a
$(B)/tests/test_hot: $(call unit_obj,test_hot grammar_check) $(B)/libdep.a
$(B)/tests/test_hot_forged: $(call unit_obj,test_hot_forged grammar_check) $(B)/libdep.a
$(B)/tests/test_overlap: $(call unit_obj,test_overlap) \
		$(B)/host/tools/depctl/diff/overlap_sums.o $(B)/host/tools/depctl/common/numbering.o
$(B)/tests/test_symbols: $(call unit_obj,test_symbols test_symbols_files test_symbols_code \
				test_symbols_starts test_symbols_odd sym_run sym_code) $(B)/libdep.a
$(B)/tests/test_write_queue: $(call unit_obj,test_write_queue stream stream_frag fixed_random) \
			   $(B)/libdep.a
window_obj := $(patsubst %,$(B)/host/libdep/collect/%.o,window window_entries window_trim \
			 window_end window_save window_disk window_log window_files kept_chunk \
			 kept_descriptors trim trim_batches) $(B)/libdep.a
$(B)/tests/test_window: $(call unit_obj,test_window) $(window_obj)
$(B)/tests/test_trim: $(call unit_obj,test_trim) $(window_obj)
$(B)/tests/test_trigger_queue: $(call unit_obj,test_trigger_queue) \
			     $(B)/host/libdep/collect/trigger_queue.o \
			     $(B)/host/libdep/collect/kept_now.o
window_fixture := $(call unit_obj,window_fixture stream stream_frag)
$(B)/tests/test_window_disk: $(call unit_obj,test_window_disk) $(window_fixture) $(B)/libdep.a
$(B)/tests/test_window_end: $(call unit_obj,test_window_end) $(window_fixture) $(B)/libdep.a
$(B)/tests/test_window_forged: $(call unit_obj,test_window_forged) $(window_fixture) $(B)/libdep.a
# The files that store the window of a dead collector read manifests and need the real writer.
collect_obj := $(call unit_obj,collect_fixture fake_engine fake_writer) \
	       $(filter-out %/window_recover.o %/window_found.o %/window_found_chunks.o, \
			    $(call part_obj,collect)) $(call part_obj,inject) $(x86_obj) \
	       $(B)/host/libdep/format/file/log.o $(B)/host/libdep/format/write/frames.o \
	       $(B)/host/libdep/format/codec/descriptor.o \
	       $(B)/host/libdep/format/file/build_id.o $(B)/host/libdep/format/file/append_file.o \
	       $(B)/engine_image.o
$(B)/tests/test_collect: $(call unit_obj,test_collect) $(collect_obj)
$(B)/tests/test_collect_hostile: $(call unit_obj,test_collect_hostile) $(collect_obj)
$(B)/tests/test_owner: $(call unit_obj,test_owner) $(B)/host/libdep/inject/owner.o
$(B)/tests/test_chunk_end: $(call unit_obj,test_chunk_end stream stream_frag) \
		       $(B)/host/libdep/collect/chunk_end.o $(B)/libdep.a
$(B)/tests/test_module_chunks: $(call unit_obj,test_module_chunks stream stream_frag) \
			     $(B)/host/libdep/collect/module_chunks.o \
			     $(B)/host/libdep/collect/chunk_end.o $(B)/libdep.a
$(B)/tests/test_ring_core: $(call unit_obj,test_ring_core) $(B)/host/kmod/ring_core.o
$(B)/tests/test_merge: $(call unit_obj,test_merge stream stream_frag) $(B)/libdep.a
$(B)/tests/test_tail: $(call unit_obj,test_tail stream stream_frag) $(B)/libdep.a
$(B)/tests/test_sync: $(call unit_obj,test_sync) $(B)/libdep.a
$(B)/tests/test_sync_functions: $(call unit_obj,test_sync_functions) $(B)/libdep.a
$(B)/tests/test_sync_processes: $(call unit_obj,test_sync_processes) $(B)/libdep.a
$(B)/tests/test_detector: $(call unit_obj,test_detector) $(call part_obj,analyze/races)
$(B)/tests/test_predict: $(call unit_obj,test_predict) $(call part_obj,analyze/predict)
$(B)/tests/test_vector_clock: $(call unit_obj,test_vector_clock) $(call part_obj,analyze/races)
$(B)/tests/test_shadow: $(call unit_obj,test_shadow) $(call part_obj,analyze/races)
$(B)/tests/test_races: $(call unit_obj,test_races race_oracle) $(call part_obj,analyze/races)

page_obj := $(call unit_obj,fake_profile fake_named) $(B)/page_embed.o \
	    $(patsubst %.c,$(B)/host/%.o,$(call in,$(PAGE)) $(addprefix tools/depctl/common/,\
	    output.c fold.c terminal.c quote.c disassembler.c save.c source_file.c))
$(B)/tests/test_page: $(call unit_obj,test_page) $(page_obj)
$(B)/tests/write_page: $(call unit_obj,write_page) $(page_obj)
	$(call msg,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(SANFLAGS) -o $@ $^ $(HOSTLIBS) $(LIBS)

$(B)/tests/test_export_samples: $(call unit_obj,test_export_samples) \
				$(B)/host/tools/depctl/export/samples.o

# The parts of depd that need no program to record.
daemon_obj = $(patsubst %,$(B)/host/daemon/%.o,$(1))
control_obj := $(call daemon_obj,$(addprefix base/,loop strbuf status) \
	       $(addprefix control/,json_scan request request_triggers client dispatch response \
	       control) \
	       metrics/metrics_socket metrics/metrics_text) \
	       $(addprefix $(B)/host/libdep/format/file/,close_cause.o keep_reason.o)
$(B)/tests/test_loop: $(call unit_obj,test_loop) $(call daemon_obj,base/loop)
$(B)/tests/test_request: $(call unit_obj,test_request) \
		       $(call daemon_obj,control/request control/request_triggers \
		       control/json_scan)
$(B)/tests/test_control: $(call unit_obj,test_control test_control_sessions fake_core \
			fake_client) $(control_obj)
$(B)/tests/test_metrics: $(call unit_obj,test_metrics fake_core fake_client) $(control_obj)
$(B)/tests/test_client: $(call unit_obj,test_client fake_core fake_client) $(control_obj) \
			$(patsubst %,$(B)/host/tools/depctl/%.o,daemon/client \
			daemon/client_socket common/util common/terminal) $(B)/libdep.a

# The engine is to link libdep/paths: it must do without the C library.
PATHS_OBJ := $(patsubst libdep/%,$(B)/freestanding/%.o,$(call in,libdep/paths))
$(B)/paths_freestanding.o: $(PATHS_OBJ)
	$(call msg,LD,$@)
	$(Q)ld -r -o $@.tmp $^
	$(Q)if nm -u $@.tmp | grep -vwE 'memcpy|memmove|memset|memcmp'; then \
		echo "libdep/paths uses symbols that the engine does not have" >&2; exit 1; fi
	$(Q)mv $@.tmp $@

$(TESTS): $(call unit_obj,select_tests)
	$(call msg,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(SANFLAGS) -o $@ $^ -lcmocka $(HOSTLIBS) $(LIBS)

# The engine that test_inject launches programs under.
$(B)/tests/dummy_image.bin: tests/programs/dummy_image.S tests/programs/dummy_image.h
	@mkdir -p $(@D)
	$(call msg,AS,$@)
	$(Q)$(CC) -nostdlib -static -Wl,-Ttext=0,--build-id=none,--no-warn-rwx-segments \
		-o $(B)/tests/dummy_image.elf $<
	$(Q)objcopy -O binary -j .text $(B)/tests/dummy_image.elf $@

$(B)/tests/dummy_embed.o: tests/programs/dummy_embed.S $(B)/tests/dummy_image.bin
	$(Q)$(CC) -Wa,-I$(B)/tests -c $< -o $@

# Programs that it launches: the sanitizers would change what they show.
SHOWFLAGS := $(filter-out $(SANFLAGS),$(HOSTFLAGS)) -O2 -g -pthread
$(B)/tests/inject_show_pie: FORM := -fPIE -pie
$(B)/tests/inject_show_nopie: FORM := -fno-PIC -no-pie
$(B)/tests/inject_show_static: FORM := -fno-PIC -static
$(B)/tests/inject_show_staticpie: FORM := -fPIE -static-pie
$(B)/tests/inject_show_%: tests/programs/inject_show.c Makefile
	@mkdir -p $(@D)
	$(call msg,CC,$@)
	$(Q)$(CC) $(SHOWFLAGS) $(FORM) -o $@ $<

$(B)/tests/inject_exec: tests/programs/inject_exec.c Makefile
	@mkdir -p $(@D)
	$(call msg,CC,$@)
	$(Q)$(CC) $(SHOWFLAGS) -MMD -MP -o $@ $<

$(B)/tests/make_store: tests/programs/make_store.c $(call unit_obj,old_store) $(B)/libdep.a
	@mkdir -p $(@D)
	$(call msg,CC,$@)
	$(Q)$(CC) $(TESTFLAGS) -o $@ $^ $(LIBS)

$(B)/tests/set_manifest $(B)/tests/store_lock $(B)/tests/steps_seen $(B)/tests/stacks_check \
		$(B)/tests/backtraces_check $(B)/tests/streams_check $(B)/tests/formats_check \
		$(B)/tests/paths_check: \
		$(B)/tests/%: tests/programs/%.c $(B)/libdep.a
	@mkdir -p $(@D)
	$(call msg,CC,$@)
	$(Q)$(CC) $(TESTFLAGS) -o $@ $^ $(LIBS)

$(B)/tests/touched: tests/programs/touched.c $(B)/libdep.a
	@mkdir -p $(@D)
	$(call msg,CC,$@)
	$(Q)$(CC) $(TESTFLAGS) -o $@ $^ $(LIBS)

$(B)/tests/fake_depd: $(call unit_obj,fake_core) $(control_obj) tests/programs/fake_depd.c
	$(call msg,CC,$@)
	$(Q)$(CC) $(TESTFLAGS) -o $@ $^ $(LIBS)

include tests/sym.mk

$(B)/tests/profile_pass: tests/bench/profile_pass.c $(B)/libdep.a
	@mkdir -p $(@D)
	$(call msg,CC,$@)
	$(Q)$(CC) $(TESTFLAGS) -o $@ $^ $(HOSTLIBS) $(LIBS)

# By hand.
$(B)/tests/bench_races: tests/bench/races.c $(call part_obj,analyze/races)
	$(call msg,CC,$@)
	$(Q)$(CC) $(TESTFLAGS) -o $@ $^

tests: all $(TESTS) $(SHOW) $(SYM) $(addprefix $(B)/tests/,make_store touched fake_depd \
	store_lock set_manifest steps_seen stacks_check backtraces_check streams_check \
	formats_check paths_check write_page)

check: tests
	$(Q)BUILD="$$(pwd)/$(B)" LONG=$(or $(LONG),0) UNIT="$(UNIT)" bash tests/run.sh $(SUITES)

check-long:
	$(Q)$(MAKE) check LONG=1

bench: all
	$(Q)BUILD="$$(pwd)/$(B)" bash tests/bench/bench.sh $(BENCH)
	$(if $(BENCH),,$(Q)BUILD="$$(pwd)/$(B)" sh tests/bench/attach.sh)

bench-attach: all
	$(Q)BUILD="$$(pwd)/$(B)" sh tests/bench/attach.sh $(BENCH)

bench-races: all
	$(Q)BUILD="$$(pwd)/$(B)" sh tests/bench/races.sh $(BENCH)

bench-pgo: all
	$(Q)BUILD="$$(pwd)/$(B)" sh tests/bench/pgo.sh

bench-depd: all
	$(Q)BUILD="$$(pwd)/$(B)" sh tests/bench/daemon.sh $(BENCH)

bench-profiles: all $(B)/tests/profile_pass
	$(Q)BUILD="$$(pwd)/$(B)" sh tests/bench/profiles.sh $(BENCH)

lint:
	$(Q)sh scripts/lint.sh

docs:
	$(Q)sh scripts/docs.sh $(B)/docs

compile_commands:
	$(Q)mkdir -p $(B)
	$(Q)$(MAKE) -nB V=1 tests > $(B)/commands
	$(Q)python3 scripts/compile_commands.py < $(B)/commands > compile_commands.json.tmp
	$(Q)mv compile_commands.json.tmp compile_commands.json

# ---- the kernel module ----

include kmod/rules.mk

# ---- the daemon ----

include daemon/rules.mk

# ---- installation ----

BINDIR := $(PREFIX)/bin
# In /usr, where the distribution has its libraries; Debian's folders have the architecture's name.
ifeq ($(PREFIX),/usr)
LIBDIR ?= $(PREFIX)/$(patsubst %/,%,lib/$(shell $(CC) -print-multiarch 2>/dev/null))
else
LIBDIR ?= $(PREFIX)/lib
endif
INCDIR := $(PREFIX)/include/dep
MANDIR := $(PREFIX)/share/man
COMPDIR := $(PREFIX)/share/bash-completion/completions
SCHEMADIR := $(PREFIX)/share/adept/schema
PCDIR := $(LIBDIR)/pkgconfig
MAN1 := $(notdir $(wildcard Documentation/man/*.1))
MAN3 := $(notdir $(wildcard Documentation/man/*.3))
MAN4 := $(notdir $(wildcard Documentation/man/*.4))
SCHEMAS := $(notdir $(wildcard Documentation/schema/*.json))
MAN5 := $(notdir $(wildcard Documentation/man/*.5))
MAN8 := $(notdir $(wildcard Documentation/man/*.8))
HEADERS := $(notdir $(wildcard include/dep/*.h))

$(B)/libdep.pc: libdep/libdep.pc.in Makefile
	$(call msg,GEN,$@)
	$(Q)sed -e 's,@PREFIX@,$(PREFIX),' -e 's,@VERSION@,$(VERSION),' \
		-e 's,@LIBDIR@,$(patsubst $(PREFIX)/%,$${prefix}/%,$(LIBDIR)),' $< > $@

install: all
	$(Q)rm -f $(B)/libdep.pc && $(MAKE) --no-print-directory -s $(B)/libdep.pc
	$(call msg,INSTALL,$(DESTDIR)$(PREFIX))
	$(Q)install -d $(addprefix $(DESTDIR),$(BINDIR) $(LIBDIR) $(INCDIR) $(MANDIR)/man1 \
		$(MANDIR)/man3 $(MANDIR)/man4 $(MANDIR)/man5 $(MANDIR)/man8 $(COMPDIR) $(PCDIR) \
		$(SCHEMADIR))
	$(Q)install -m 755 $(B)/depctl $(DESTDIR)$(BINDIR)/depctl
	$(Q)install -m 755 $(B)/libdep.so $(DESTDIR)$(LIBDIR)/libdep.so.$(VERSION)
	$(Q)ln -sf libdep.so.$(VERSION) $(DESTDIR)$(LIBDIR)/libdep.so.$(SOVERSION)
	$(Q)ln -sf libdep.so.$(SOVERSION) $(DESTDIR)$(LIBDIR)/libdep.so
	$(Q)install -m 644 $(addprefix include/dep/,$(HEADERS)) $(DESTDIR)$(INCDIR)
	$(Q)install -m 644 $(addprefix Documentation/man/,$(MAN1)) $(DESTDIR)$(MANDIR)/man1
	$(Q)install -m 644 $(addprefix Documentation/man/,$(MAN3)) $(DESTDIR)$(MANDIR)/man3
	$(Q)install -m 644 $(addprefix Documentation/man/,$(MAN4)) $(DESTDIR)$(MANDIR)/man4
	$(Q)install -m 644 $(addprefix Documentation/man/,$(MAN5)) $(DESTDIR)$(MANDIR)/man5
	$(Q)install -m 644 $(addprefix Documentation/man/,$(MAN8)) $(DESTDIR)$(MANDIR)/man8
	$(Q)install -m 644 $(addprefix Documentation/schema/,$(SCHEMAS)) $(DESTDIR)$(SCHEMADIR)
	$(Q)install -m 644 tools/depctl/completion.bash $(DESTDIR)$(COMPDIR)/depctl
	$(Q)install -m 644 $(B)/libdep.pc $(DESTDIR)$(PCDIR)/libdep.pc

uninstall:
	$(call msg,REMOVE,$(DESTDIR)$(PREFIX))
	$(Q)rm -f $(addprefix $(DESTDIR),$(BINDIR)/depctl $(LIBDIR)/libdep.so \
		$(LIBDIR)/libdep.so.$(SOVERSION) $(LIBDIR)/libdep.so.$(VERSION) $(COMPDIR)/depctl \
		$(PCDIR)/libdep.pc $(addprefix $(INCDIR)/,$(HEADERS)) \
		$(addprefix $(MANDIR)/man1/,$(MAN1)) $(addprefix $(MANDIR)/man3/,$(MAN3)) \
		$(addprefix $(MANDIR)/man4/,$(MAN4)) \
		$(addprefix $(MANDIR)/man5/,$(MAN5)) $(addprefix $(MANDIR)/man8/,$(MAN8)) \
		$(addprefix $(SCHEMADIR)/,$(SCHEMAS)))
	$(Q)! test -d $(DESTDIR)$(INCDIR) || rmdir --ignore-fail-on-non-empty $(DESTDIR)$(INCDIR)
	$(Q)! test -d $(DESTDIR)$(SCHEMADIR) || rmdir --ignore-fail-on-non-empty \
		$(DESTDIR)$(SCHEMADIR) $(DESTDIR)$(patsubst %/,%,$(dir $(SCHEMADIR)))

clean:
	rm -rf build build-san build-tsan

.PHONY: all tests check check-long bench bench-attach bench-races bench-depd bench-pgo \
	bench-profiles lint docs \
	compile_commands install uninstall clean
-include $(ENGINE_OBJ:.o=.d) $(PATHS_OBJ:.o=.d) $(LIB_OBJ:.o=.d) $(DEPCTL_OBJ:.o=.d) \
	$(wildcard $(B)/tests/*.d)
