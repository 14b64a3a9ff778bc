# SPDX-License-Identifier: GPL-2.0-or-later
#
# Programs that test_symbols looks at: one source in all forms that a program and its
# debug information can have.  SAN=1 does not touch them.

SYM_CC := $(CC) -std=gnu11 -O2 -g -D_GNU_SOURCE
SYM_CXX := g++ -std=gnu++17 -O2 -g
SYM_C := pie nopie static static_pie dwarf4 split split4 gz types lto noid ibt clang clang4
SYM := $(addprefix $(B)/tests/sym_,$(SYM_C) link stripped nosyms noheaders odd asm \
	 parts cpp cpp_types cpp_clang liba.so libb.so)
sym_hdr := tests/programs/sym_print.h tests/sym.mk

# sym_FORM: how it is compiled, and linked
sym_pie := -fPIE -pie -rdynamic
sym_nopie := -fno-PIC -no-pie
sym_static := -fno-PIC -static -DNO_LIBRARIES
sym_static_pie := -fPIE -static-pie -DNO_LIBRARIES
sym_ibt := -fPIE -pie -fcf-protection -Wl,-z,ibtplt
sym_dwarf4 := -gdwarf-4
sym_split := -gsplit-dwarf
sym_split4 := -gdwarf-4 -gsplit-dwarf
sym_gz := -gz
sym_types := -fdebug-types-section
sym_lto := -flto
sym_noid := -Wl,--build-id=none
sym_clang :=
sym_clang4 := -gdwarf-4
sym_cpp_types := -fdebug-types-section

# The compiler that a form is named after need not be installed.
$(patsubst %,$(B)/tests/sym_%,$(SYM_C)): $(B)/tests/sym_%: tests/programs/sym_c.c $(sym_hdr)
	@mkdir -p $(@D)
	$(call msg,CC,$@)
	$(Q)cc="$(if $(findstring clang,$*),clang $(wordlist 2,9,$(SYM_CC)),$(SYM_CC))"; \
	! command -v $${cc%% *} >/dev/null || \
		{ $$cc $(sym_$*) -c -o $@.o $< && $$cc $(sym_$*) -o $@ $@.o; }

$(B)/tests/sym_cpp $(B)/tests/sym_cpp_types $(B)/tests/sym_cpp_clang: \
		$(B)/tests/sym_%: tests/programs/sym_cpp.cpp $(sym_hdr)
	@mkdir -p $(@D)
	$(call msg,CXX,$@)
	$(Q)cc="$(if $(findstring clang,$*),clang++ $(wordlist 2,9,$(SYM_CXX)),$(SYM_CXX))"; \
	! command -v $${cc%% *} >/dev/null || $$cc $(sym_$*) -o $@ $<

$(B)/tests/sym_odd: tests/programs/sym_odd.S tests/sym.mk
	@mkdir -p $(@D)
	$(call msg,AS,$@)
	$(Q)$(CC) -nostdlib -static -Wl,-Ttext=0x401000,-Tdata=0x403000,-z,max-page-size=4096 \
		-Wl,--build-id=sha1 -o $@ $<

$(B)/tests/sym_stripped: $(B)/tests/sym_pie
	$(Q)objcopy --strip-all $< $@

# As a file can be without its section headers.
$(B)/tests/sym_noheaders: $(B)/tests/sym_stripped
	$(Q)cp $< $@
	$(Q)printf '\0\0\0\0\0\0\0\0' | dd of=$@ bs=1 seek=40 conv=notrunc status=none
	$(Q)printf '\0\0\0\0' | dd of=$@ bs=1 seek=60 conv=notrunc status=none

$(B)/tests/sym_asm: tests/programs/sym_asm.S tests/sym.mk
	@mkdir -p $(@D)
	$(call msg,AS,$@)
	$(Q)$(CC) -nostdlib -static -Wl,-Ttext=0x401000 -Wl,--section-start=.more=0x405000 \
		-Wl,--build-id=sha1 -o $@ $<

# Two static functions with one name.
$(B)/tests/sym_parts: tests/programs/sym_parts.c tests/sym.mk
	@mkdir -p $(@D)
	$(call msg,CC,$@)
	$(Q)for n in 1 2; do $(SYM_CC) -DUNIT=$$n -c -o $@.$$n.o $< || exit 1; done; \
		$(CC) -o $@ $@.1.o $@.2.o

# Only its debug information has names.
$(B)/tests/sym_nosyms: $(B)/tests/sym_gz
	$(Q)objcopy --strip-all --keep-section='.debug_*' $< $@

# Its debug information is in a file that it names.
$(B)/tests/sym_link: $(B)/tests/sym_pie
	@mkdir -p $(@D)/.debug
	$(Q)objcopy --only-keep-debug $< $(@D)/.debug/sym_link.debug
	$(Q)objcopy --strip-all --add-gnu-debuglink=$(@D)/.debug/sym_link.debug $< $@

$(B)/tests/sym_liba.so $(B)/tests/sym_libb.so: $(B)/tests/sym_lib%.so: tests/programs/sym_lib.c \
		$(sym_hdr)
	@mkdir -p $(@D)
	$(call msg,CC,$@)
	$(Q)$(SYM_CC) -fPIC -shared -DNAME=$* -o $@ $<
