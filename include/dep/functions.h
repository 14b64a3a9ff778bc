/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Hooked functions: functions that allocate memory or synchronise threads.  Their calls are
 * recorded with arguments and result.
 *
 * For a function that returns void, the recorded result has no meaning: it is the value of rax.
 */
#ifndef DEP_FUNCTIONS_H
#define DEP_FUNCTIONS_H

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/*
 * X(identifier, symbol, number of arguments).  Stores contain an entry's number in this list, so
 * add new entries at the end only.  If several of these symbols have the same address, calls are
 * recorded under the first one.  For example, in glibc pthread_spin_unlock and pthread_spin_init
 * are one function.
 */
#define DEP_FUNCTIONS(X)						\
	X(MALLOC, "malloc", 1)						\
	X(CALLOC, "calloc", 2)						\
	X(REALLOC, "realloc", 2)					\
	X(REALLOCARRAY, "reallocarray", 3)				\
	X(MEMALIGN, "memalign", 2)					\
	X(ALIGNED_ALLOC, "aligned_alloc", 2)				\
	X(POSIX_MEMALIGN, "posix_memalign", 3)				\
	X(VALLOC, "valloc", 1)						\
	X(PVALLOC, "pvalloc", 1)					\
	X(FREE, "free", 1)						\
	X(CFREE, "cfree", 1)						\
	X(MALLOCX, "mallocx", 2)					\
	X(RALLOCX, "rallocx", 3)					\
	X(DALLOCX, "dallocx", 2)					\
	X(SDALLOCX, "sdallocx", 3)					\
	X(XALLOCX, "xallocx", 4)					\
	X(SALLOCX, "sallocx", 2)					\
	X(NALLOCX, "nallocx", 2)					\
	X(MALLCTL, "mallctl", 4)					\
	X(MALLOC_USABLE_SIZE, "malloc_usable_size", 1)			\
	X(MALLOC_TRIM, "malloc_trim", 1)				\
	X(MALLOPT, "mallopt", 2)					\
	X(MALLINFO, "mallinfo", 0)					\
	X(MALLINFO2, "mallinfo2", 0)					\
	X(NEW, "_Znwm", 1)						\
	X(NEW_NOTHROW, "_ZnwmRKSt9nothrow_t", 1)			\
	X(NEW_ALIGNED, "_ZnwmSt11align_val_t", 2)			\
	X(NEW_ALIGNED_NOTHROW, "_ZnwmSt11align_val_tRKSt9nothrow_t", 2)	\
	X(NEW_ARRAY, "_Znam", 1)					\
	X(NEW_ARRAY_NOTHROW, "_ZnamRKSt9nothrow_t", 1)			\
	X(NEW_ARRAY_ALIGNED, "_ZnamSt11align_val_t", 2)			\
	X(NEW_ARRAY_ALIGNED_NOTHROW, "_ZnamSt11align_val_tRKSt9nothrow_t", 2)	\
	X(DELETE, "_ZdlPv", 1)						\
	X(DELETE_NOTHROW, "_ZdlPvRKSt9nothrow_t", 1)			\
	X(DELETE_SIZED, "_ZdlPvm", 2)					\
	X(DELETE_ALIGNED, "_ZdlPvSt11align_val_t", 2)			\
	X(DELETE_ALIGNED_NOTHROW, "_ZdlPvSt11align_val_tRKSt9nothrow_t", 2)	\
	X(DELETE_SIZED_ALIGNED, "_ZdlPvmSt11align_val_t", 3)		\
	X(DELETE_ARRAY, "_ZdaPv", 1)					\
	X(DELETE_ARRAY_NOTHROW, "_ZdaPvRKSt9nothrow_t", 1)		\
	X(DELETE_ARRAY_SIZED, "_ZdaPvm", 2)				\
	X(DELETE_ARRAY_ALIGNED, "_ZdaPvSt11align_val_t", 2)		\
	X(DELETE_ARRAY_ALIGNED_NOTHROW, "_ZdaPvSt11align_val_tRKSt9nothrow_t", 2)	\
	X(DELETE_ARRAY_SIZED_ALIGNED, "_ZdaPvmSt11align_val_t", 3)	\
	X(MUTEX_INIT, "pthread_mutex_init", 2)				\
	X(MUTEX_DESTROY, "pthread_mutex_destroy", 1)			\
	X(MUTEX_LOCK, "pthread_mutex_lock", 1)				\
	X(MUTEX_TRYLOCK, "pthread_mutex_trylock", 1)			\
	X(MUTEX_TIMEDLOCK, "pthread_mutex_timedlock", 2)		\
	X(MUTEX_CLOCKLOCK, "pthread_mutex_clocklock", 3)		\
	X(MUTEX_UNLOCK, "pthread_mutex_unlock", 1)			\
	X(MUTEX_CONSISTENT, "pthread_mutex_consistent", 1)		\
	X(RWLOCK_INIT, "pthread_rwlock_init", 2)			\
	X(RWLOCK_DESTROY, "pthread_rwlock_destroy", 1)			\
	X(RWLOCK_RDLOCK, "pthread_rwlock_rdlock", 1)			\
	X(RWLOCK_TRYRDLOCK, "pthread_rwlock_tryrdlock", 1)		\
	X(RWLOCK_TIMEDRDLOCK, "pthread_rwlock_timedrdlock", 2)		\
	X(RWLOCK_CLOCKRDLOCK, "pthread_rwlock_clockrdlock", 3)		\
	X(RWLOCK_WRLOCK, "pthread_rwlock_wrlock", 1)			\
	X(RWLOCK_TRYWRLOCK, "pthread_rwlock_trywrlock", 1)		\
	X(RWLOCK_TIMEDWRLOCK, "pthread_rwlock_timedwrlock", 2)		\
	X(RWLOCK_CLOCKWRLOCK, "pthread_rwlock_clockwrlock", 3)		\
	X(RWLOCK_UNLOCK, "pthread_rwlock_unlock", 1)			\
	X(COND_INIT, "pthread_cond_init", 2)				\
	X(COND_DESTROY, "pthread_cond_destroy", 1)			\
	X(COND_WAIT, "pthread_cond_wait", 2)				\
	X(COND_TIMEDWAIT, "pthread_cond_timedwait", 3)			\
	X(COND_CLOCKWAIT, "pthread_cond_clockwait", 4)			\
	X(COND_SIGNAL, "pthread_cond_signal", 1)			\
	X(COND_BROADCAST, "pthread_cond_broadcast", 1)			\
	X(BARRIER_INIT, "pthread_barrier_init", 3)			\
	X(BARRIER_DESTROY, "pthread_barrier_destroy", 1)		\
	X(BARRIER_WAIT, "pthread_barrier_wait", 1)			\
	X(SPIN_UNLOCK, "pthread_spin_unlock", 1)			\
	X(SPIN_INIT, "pthread_spin_init", 2)				\
	X(SPIN_DESTROY, "pthread_spin_destroy", 1)			\
	X(SPIN_LOCK, "pthread_spin_lock", 1)				\
	X(SPIN_TRYLOCK, "pthread_spin_trylock", 1)			\
	X(SEM_INIT, "sem_init", 3)					\
	X(SEM_DESTROY, "sem_destroy", 1)				\
	X(SEM_WAIT, "sem_wait", 1)					\
	X(SEM_TRYWAIT, "sem_trywait", 1)				\
	X(SEM_TIMEDWAIT, "sem_timedwait", 2)				\
	X(SEM_CLOCKWAIT, "sem_clockwait", 3)				\
	X(SEM_POST, "sem_post", 1)					\
	X(THREAD_CREATE, "pthread_create", 4)				\
	X(THREAD_JOIN, "pthread_join", 2)				\
	X(THREAD_DETACH, "pthread_detach", 1)

#define DEP_FUNCTION_ID(id, symbol, args)	DEP_F_##id,

enum dep_function {
	DEP_F_NONE,
	DEP_FUNCTIONS(DEP_FUNCTION_ID)
	DEP_NFUNCTIONS
};

#undef DEP_FUNCTION_ID

#define DEP_FUNCTION_ARGS	4	/* maximum recorded per call: rdi, rsi, rdx, rcx */

/** dep_function_name() - symbol of @function; "?" if this library has no such number */
const char *dep_function_name(unsigned int function);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif
#endif
