/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ADEPT_FORMAT_WRITE_FORGET_H
#define ADEPT_FORMAT_WRITE_FORGET_H

struct dep_writer;

/** dep_writer_work_off() - in an admission: take out of the index what is to be forgotten */
void dep_writer_work_off(struct dep_writer *w);

#endif
