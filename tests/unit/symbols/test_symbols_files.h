/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tests of test_symbols about files. */
#ifndef TESTS_UNIT_SYMBOLS_TEST_SYMBOLS_FILES_H
#define TESTS_UNIT_SYMBOLS_TEST_SYMBOLS_FILES_H

void files_replaced(void **state);
void files_missing(void **state);
void files_modified(void **state);
void files_deleted(void **state);
void no_files(void **state);
void over_time(void **state);
void loaded_libraries(void **state);
void processes(void **state);
void code_symbols(void **state);
void code_frames(void **state);
void code_stubs(void **state);
void code_lines(void **state);
void code_bytes(void **state);
void code_parts(void **state);
void code_asm(void **state);
void code_no_headers(void **state);
void code_link(void **state);
void code_hostile(void **state);
void code_damaged(void **state);
void odd_dwarf(void **state);
void damaged_files(void **state);

#endif
