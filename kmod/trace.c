// SPDX-License-Identifier: GPL-2.0-only
#include "adept.h"

#define CREATE_TRACE_POINTS
#include "trace.h"
