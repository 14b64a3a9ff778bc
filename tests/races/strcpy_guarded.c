// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A name that is too long for its field overwrites the next field, which another thread protects by
 * a mutex; strcpy does not lock it.
 */
#include <string.h>

#include "races.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
struct {
	char name[8];
	long balance;
} account;
char *input = "Adam" RACY_ONLY(" Smith");

static void *cashier(void *arg)
{
	pthread_mutex_lock(&lock);
	account.balance++; /* RACE: balance variable=account */
	pthread_mutex_unlock(&lock);
	return arg;
}

static void *clerk(void *arg)
{
	nap();
	strcpy(account.name, input); /* RACE: balance */
	return arg;
}

int main(void)
{
	return both(cashier, clerk);
}
