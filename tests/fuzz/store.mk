# SPDX-License-Identifier: GPL-2.0-or-later
# Objects of the fuzzers of stores: make -f tests/fuzz/store.mk OUT=FOLDER COMPILE=COMMAND
# SOURCES="FILE...".  The command is that of fuzz.sh and store_corpus.sh.
objects := $(SOURCES:%.c=$(OUT)/%.o)

all: $(objects)

$(objects): $(OUT)/%.o: %.c tests/fuzz/store.mk tests/fuzz/fuzz.sh tests/fuzz/store_corpus.sh
	mkdir -p $(@D)
	$(subst ",\",$(COMPILE)) -MMD -MP -c -o $@ $<

-include $(objects:.o=.d)
.PHONY: all
